import { describe, expect, it } from 'vitest'
import { Random } from '../../scenario/random.ts'
import { timeScale } from './timescale.ts'

describe('the time axis', () => {
  it('is proportional to time between evenly spaced moments', () => {
    const { y, bottom, breaks } = timeScale([0, 1000, 2000], 100, 1)
    expect([y(0), y(1000), y(2000), bottom]).toEqual([100, 152, 204, 204])
    expect(y(500)).toBe(126)
    expect(breaks).toEqual([])
  })

  it('ends at its first and last moment', () => {
    const { y } = timeScale([1000, 2000], 100, 1)
    expect([y(0), y(9999)]).toEqual([100, y(2000)])
  })

  it('keeps close moments apart, so that their order is visible', () => {
    const { y } = timeScale([0, 1, 1000, 2000], 100, 1)
    expect(y(1) - y(0)).toBe(13)
  })

  it('omits a gap that is much longer than most', () => {
    const { y, breaks } = timeScale([0, 100, 200, 300, 90_000, 90_100], 100, 1)
    expect(breaks).toEqual([{ from: 300, until: 90_000, top: 256, bottom: 302 }])
    expect(y(90_100)).toBeGreaterThan(y(90_000))
  })

  it('has exact ticks at the ends of each stretch', () => {
    const { ticks } = timeScale([0, 100, 200, 300, 90_000, 90_150], 100, 1)
    expect(ticks.map(({ at }) => at)).toEqual(expect.arrayContaining([0, 300, 90_000, 90_150]))
  })

  it('has round ticks in between, far enough apart to be read', () => {
    const moments = Array.from({ length: 41 }, (_, at) => at * 70)
    const { ticks } = timeScale(moments, 100, 1)
    const inner = ticks.slice(1, -1).map(({ at }) => at)
    expect(new Set(inner.map((at) => at % 100))).toEqual(new Set([0]))
    for (const [at, tick] of ticks.slice(1).entries())
      expect(tick.y - (ticks[at]?.y ?? 0)).toBeGreaterThanOrEqual(15)
  })

  it('has no tick finer than the least', () => {
    const { ticks } = timeScale([0, 1000, 2000, 3000], 100, 1000)
    expect(ticks.map(({ at }) => at % 1000)).toEqual(ticks.map(() => 0))
  })

  it('is a single line for a single moment', () => {
    const { ticks, bottom } = timeScale([500], 100, 1)
    expect([ticks, bottom]).toEqual([[{ at: 500, y: 100 }], 100])
  })

  it('never goes backwards, for any moments', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = new Random(seed)
      const drawn = Array.from({ length: 30 }, () => random.integer(0, 1000 * seed))
      const moments = [...new Set(drawn)].sort((a, b) => a - b)
      const { y } = timeScale(moments, 100, 1)
      for (const [at, moment] of moments.slice(1).entries())
        expect(y(moment)).toBeGreaterThan(y(moments[at] as number))
    }
  })
})
