import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addDistributions,
  type Distribution,
  EMPTY_DISTRIBUTION,
  quantile,
  withCensored,
  withSample,
} from './distribution.ts'

const of = (...samples: readonly number[]): Distribution => samples.reduce(withSample, EMPTY_DISTRIBUTION)
const someSamples = fc.array(fc.nat(10_000_000), { maxLength: 50 })

describe('a distribution', () => {
  it('counts, sums and keeps the maximum', () => {
    expect(of(10, 30, 20)).toMatchObject({ count: 3, sum: 60, max: 30, censored: 0 })
  })

  it('counts intervals that were cut short beside the samples', () => {
    expect(withCensored(withCensored(of(5)))).toMatchObject({ count: 1, sum: 5, censored: 2 })
  })

  it('rounds up to three digits, and exact values stay exact', () => {
    expect(of(0, 7, 999, 1000, 1001, 123_456).buckets).toEqual({
      0: 1,
      7: 1,
      999: 1,
      1000: 1,
      1010: 1,
      124_000: 1,
    })
  })

  it('does not depend on the order in which parts are merged', () => {
    fc.assert(
      fc.property(someSamples, someSamples, (a, b) => {
        const merged = addDistributions(of(...a), of(...b))
        expect(merged).toEqual(addDistributions(of(...b), of(...a)))
        expect(merged).toEqual(of(...a, ...b))
      }),
    )
  })
})

describe('a quantile', () => {
  it('is null without samples, even if some were cut short', () => {
    expect(quantile(withCensored(EMPTY_DISTRIBUTION), 0.5)).toBeNull()
  })

  it('is the least value that this share does not exceed', () => {
    const ten = of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    expect([0.1, 0.5, 0.51, 0.99, 1].map((share) => quantile(ten, share))).toEqual([1, 5, 6, 10, 10])
  })

  it('never exceeds the maximum by rounding', () => {
    expect(quantile(of(1001), 0.5)).toBe(1001)
  })

  it('is within one per cent above the exact quantile', () => {
    fc.assert(
      fc.property(someSamples, fc.integer({ min: 1, max: 100 }), (samples, percent) => {
        fc.pre(samples.length > 0)
        const sorted = samples.toSorted((a, b) => a - b)
        const exact = sorted[Math.ceil((percent / 100) * sorted.length) - 1] as number
        const found = quantile(of(...samples), percent / 100) as number
        expect(found).toBeGreaterThanOrEqual(exact)
        expect(found).toBeLessThanOrEqual(exact * 1.01)
      }),
    )
  })
})
