import { describe, expect, it } from 'vitest'
import { type Hold, initialHold, LEAST_WAIT, nextLevel } from './policy.ts'

const SECOND = 1_000_000
const LEAST = 4

/** The levels of a leader that asks for its need every tenth of a second: one change per entry. */
function changesOf(
  seconds: number,
  needAt: (second: number) => number,
  lossPerDay = 1,
): readonly (readonly [second: number, level: number])[] {
  const changes: [number, number][] = []
  let level = LEAST
  let hold: Hold = initialHold(0)
  for (let tenth = 1; tenth <= 10 * seconds; tenth++) {
    const next = nextLevel(
      level,
      needAt(tenth / 10),
      hold,
      { least: LEAST, lossPerDay },
      (tenth * SECOND) / 10,
    )
    if (next.level !== level) changes.push([tenth / 10, next.level])
    level = next.level
    hold = next.hold
  }
  return changes
}

describe('the level', () => {
  it('is raised at once to what the evidence asks for', () => {
    expect(changesOf(3, (second) => (second < 1 ? 4 : 11))).toEqual([[1, 11]])
  })

  it('is lowered one level at a time, after a wait', () => {
    const changes = changesOf(60, (second) => (second <= 10 ? 9 : 4))
    expect(changes.map(([, level]) => level)).toEqual([9, 8, 7, 6, 5, 4])
    const [raised, first, , , , last] = changes.map(([second]) => second)
    expect([raised, first]).toEqual([0.1, 10 + LEAST_WAIT / SECOND])
    expect(last).toBeLessThan(20)
  })

  it('stays while the evidence asks for it now and then', () => {
    expect(changesOf(600, (second) => (second % 4 < 0.2 ? 9 : 4))).toHaveLength(1)
  })

  it.each([10, 30, 60, 300])('stops changing under a load that comes every %d s', (period) => {
    const changes = changesOf(4 * 3600, (second) => (second % period < 2 ? 10 : 4))
    const late = changes.filter(([second]) => second > 3600)
    expect(changes.length).toBeLessThan(60)
    expect(late.length).toBeLessThanOrEqual(8)
  })

  it('changes rarely under a load without a pattern', () => {
    let random = 1
    const changes = changesOf(6 * 3600, () => {
      random = (random * 48_271) % 2_147_483_647
      return random % 3000 === 0 ? 8 : 4
    })
    expect(changes.filter(([second]) => second > 3 * 3600).length).toBeLessThan(30)
  })

  it.each([
    [4, 9],
    [4, 24],
    [7, 12],
  ])('returns to %d within a minute after a long, uneven load that needed up to %d', (calm, most) => {
    let random = 1
    const load = (): number => {
      random = (random * 48_271) % 2_147_483_647
      return most - (random % 4)
    }
    let need = most
    const changes = changesOf(600, (second) => {
      if (second % 20 === 0) need = load()
      return second < 480 ? need : calm
    })
    expect(changes.filter(([second]) => second < 480).length).toBeGreaterThan(2)
    const [second, level] = changes.at(-1) ?? [0, 0]
    expect(level).toBe(calm)
    expect(second).toBeLessThan(540)
  })

  it('returns within a minute after a load that needed little more now and then', () => {
    const changes = changesOf(600, (second) => (second < 480 && second % 30 < 6 ? 6 : 4))
    const [second, level] = changes.at(-1) ?? [0, 0]
    expect(level).toBe(4)
    expect(second).toBeLessThan(540)
  })

  it('is lowered soon again once a load has ended that came and went before', () => {
    const changes = changesOf(8 * 3600, (second) => (second < 3600 && second % 60 < 2 ? 10 : 4))
    const [second, level] = changes.at(-1) ?? [0, 0]
    expect(level).toBe(4)
    expect(second - 3600).toBeLessThan(300)
  })

  it('waits longer where fewer lost leases are allowed', () => {
    const needAt = (second: number): number => (second % 1000 < 1 ? 8 : 4)
    const [few, many] = [1, 2000].map((lossPerDay) => changesOf(24 * 3600, needAt, lossPerDay).length)
    expect(few).toBeLessThan((many ?? 0) / 3)
  })
})
