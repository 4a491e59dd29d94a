import { describe, expect, it } from 'vitest'
import { compareRanks, type Rank } from './rank.ts'

const rank = (low: number, priority: number, incumbent = false): Rank => ({ low, priority, incumbent })

describe('the better rank', () => {
  it.each<[string, Rank, string, Rank, string]>([
    ['prefers to lead', rank(0, 0), 'z', rank(1, 99, true), 'a'],
    ['has the higher priority', rank(0, 2), 'z', rank(0, 1, true), 'a'],
    ['leads already', rank(0, 1, true), 'z', rank(0, 1), 'a'],
    ['has the lower id', rank(0, 1), 'a', rank(0, 1), 'b'],
  ])('%s', (_why, better, one, worse, other) => {
    expect(compareRanks(better, one, worse, other)).toBeLessThan(0)
    expect(compareRanks(worse, other, better, one)).toBeGreaterThan(0)
  })

  it('orders any set of nodes in one way', () => {
    const ranks = [rank(1, 5), rank(0, 5), rank(0, 5, true), rank(0, 9), rank(2, 9)]
    const nodes = ranks.map((each, at) => [each, `n${at}`] as const)
    const order = (list: typeof nodes): readonly string[] =>
      list.toSorted(([a, i], [b, j]) => compareRanks(a, i, b, j)).map(([, id]) => id)
    expect(order(nodes)).toEqual(['n3', 'n2', 'n1', 'n0', 'n4'])
    expect(order(nodes.toReversed())).toEqual(order(nodes))
  })
})
