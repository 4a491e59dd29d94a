import { expect, it } from 'vitest'
import { RollingHistogram } from './rolling-histogram.ts'

const SECOND = 1_000_000

it('reports nothing before the first value', () => {
  const histogram = new RollingHistogram()
  expect(histogram.spread(0)).toBeNull()
  expect(histogram.low(5 * SECOND)).toBeNull()
})

it('reports percentiles that are at most a sixteenth too large, and the exact maximum', () => {
  const histogram = new RollingHistogram()
  for (let value = 1; value <= 10_000; value++) histogram.add(value * 10, SECOND)
  const { p50, p99, max } = histogram.spread(SECOND) ?? { p50: 0, p99: 0, max: 0 }
  expect(p50).toBeGreaterThanOrEqual(50)
  expect(p50).toBeLessThanOrEqual(50 * (1 + 1 / 16) + 0.01)
  expect(p99).toBeGreaterThanOrEqual(99)
  expect(p99).toBeLessThanOrEqual(100)
  expect(max).toBe(100)
  expect(histogram.low(SECOND)?.min).toBe(0.01)
})

it('forgets values that are older than the window, and keeps the younger ones', () => {
  const histogram = new RollingHistogram(60_000, 6)
  histogram.add(90_000, 5 * SECOND)
  histogram.add(3_000, 25 * SECOND)
  expect(histogram.spread(59 * SECOND)?.max).toBe(90)
  expect(histogram.spread(61 * SECOND)?.max).toBe(3)
  expect(histogram.spread(200 * SECOND)).toBeNull()
})

it('survives a long silence, huge and negative values', () => {
  const histogram = new RollingHistogram(60_000, 6)
  histogram.add(1_000, SECOND)
  histogram.add(-5, 1_000_000 * SECOND)
  histogram.add(3_600 * SECOND, 1_000_000 * SECOND)
  expect(histogram.spread(1_000_000 * SECOND)?.max).toBe(3_600_000)
})
