import { describe, expect, it } from 'vitest'
import { exceedsBound, formatMeasure, type Measure, summarize } from './report.ts'

const measure = (boundMs: number | null, ...samplesMs: readonly number[]): Measure => ({
  what: 'failover',
  boundMs,
  samplesMs,
})

describe('summarize', () => {
  it('computes quantiles regardless of the order of the samples', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect(summarize(samples)).toEqual({ count: 100, medianMs: 50, p99Ms: 99, maxMs: 100 })
  })

  it('uses the only sample for every quantile', () => {
    expect(summarize([7])).toEqual({ count: 1, medianMs: 7, p99Ms: 7, maxMs: 7 })
  })
})

describe('exceedsBound', () => {
  it('compares the median, so that one outlier is not enough', () => {
    expect(exceedsBound(measure(10, 1, 2, 500))).toBe(false)
    expect(exceedsBound(measure(10, 1, 11, 500))).toBe(true)
  })

  it('is false without a bound and without samples', () => {
    expect(exceedsBound(measure(null, 1000))).toBe(false)
    expect(exceedsBound(measure(10))).toBe(false)
  })
})

describe('formatMeasure', () => {
  it.each<[Measure, string]>([
    [measure(10), 'failover: not measured'],
    [measure(null, 12.34), 'failover: median 12.3  p99 12.3  max 12.3 ms  (1 samples)'],
    [measure(200, 120, 130), 'failover: median 120  p99 130  max 130 ms  (2 samples)  bound 200 ms: met'],
    [
      measure(10, 1, 2, 500),
      'failover: median 2.0  p99 500  max 500 ms  (3 samples)  bound 10.0 ms: 1 above',
    ],
    [
      measure(10, 20, 30),
      'failover: median 20.0  p99 30.0  max 30.0 ms  (2 samples)  bound 10.0 ms: EXCEEDED',
    ],
  ])('formats %j', (given, text) => {
    expect(formatMeasure(given)).toBe(text)
  })
})
