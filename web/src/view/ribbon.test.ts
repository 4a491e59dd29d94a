import { describe, expect, it } from 'vitest'
import type { Term } from '../data/types.ts'
import { gapText, lastGap, rangeOf, ribbonOf, ticksOf } from './ribbon.ts'

const NOW = Date.parse('2030-01-02T03:10:00.000Z')
const at = (secondsAgo: number): string => new Date(NOW - 1000 * secondsAgo).toISOString()
const term = (number: number, leader: string | null, from: number, until: number | null): Term => ({
  number,
  leader,
  token: leader === null ? null : number,
  from: at(from),
  until: until === null ? null : at(until),
  cause: leader === null ? { kind: 'crashed', node: 'a', text: 'a crashed' } : null,
  ended: null,
})
const TERMS = [term(1, 'a', 100, 50), term(2, null, 50, 49.8), term(3, 'b', 49.8, null)]

describe('the leadership ribbon', () => {
  it('shows terms in proportion, and gaps wide enough to be seen', () => {
    const pieces = ribbonOf(TERMS, { fromMs: NOW - 100_000, toMs: NOW }, 1000)
    expect(pieces.map(({ leader, x, width }) => [leader, x, width])).toEqual([
      ['a', 0, 500],
      [null, 500, 4],
      ['b', 502, 498],
    ])
  })

  it('says why there was no leader, and for how long', () => {
    const gap = lastGap(ribbonOf(TERMS, { fromMs: NOW - 100_000, toMs: NOW }, 1000))
    expect(gap === null ? null : gapText(gap)).toBe('No leader for 200 ms: a crashed')
    const lasting = lastGap(ribbonOf([term(1, null, 3, null)], { fromMs: NOW - 60_000, toMs: NOW }, 1000))
    expect(lasting === null ? null : gapText(lasting)).toBe('No leader for 3.0 s so far: a crashed')
    expect(lasting?.title).toContain('so far 3.0 s: a crashed')
  })

  it('keeps a gap that has just begun inside the picture', () => {
    const [gap] = ribbonOf([term(1, null, 0, null)], { fromMs: NOW - 60_000, toMs: NOW }, 1000)
    expect([gap?.x, gap?.width]).toEqual([996, 4])
  })

  it('leaves out gaps of no length', () => {
    const terms = [term(1, 'a', 30, 20), term(2, null, 20, 20), term(3, 'a', 20, null)]
    expect(ribbonOf(terms, { fromMs: NOW - 40_000, toMs: NOW }, 1000).map(({ leader }) => leader)).toEqual([
      'a',
      'a',
    ])
  })

  it('leaves out what is older than the range', () => {
    const pieces = ribbonOf(TERMS, { fromMs: NOW - 40_000, toMs: NOW }, 1000)
    expect(pieces.map(({ leader, x, width }) => [leader, x, width])).toEqual([['b', 0, 1000]])
  })

  it('begins with the first entry, but covers at least a minute', () => {
    expect(NOW - rangeOf(TERMS, NOW, 600_000).fromMs).toBe(100_000)
    expect(NOW - rangeOf(TERMS, NOW, 30_000).fromMs).toBe(30_000)
    expect(NOW - rangeOf([], NOW, 600_000).fromMs).toBe(60_000)
  })

  it('marks round times, as many as fit', () => {
    const ticks = ticksOf({ fromMs: NOW - 600_000, toMs: NOW }, 600)
    expect(ticks.map(({ x }) => Math.round(x))).toEqual([0, 120, 240, 360, 480, 600])
    expect(ticksOf({ fromMs: NOW - 60_000, toMs: NOW }, 300).map(({ label }) => label.slice(3))).toEqual([
      '09:00',
      '09:30',
      '10:00',
    ])
  })
})
