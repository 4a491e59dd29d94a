import { describe, expect, it } from 'vitest'
import { byWeight } from './settings.ts'
import type { Members, OmegaView, ViewId } from './state.ts'
import {
  compareViewIds,
  hasAttempt,
  idsOf,
  isMajority,
  isNewer,
  lifeIn,
  membersOf,
  newest,
  sameMembers,
  sameViewId,
  withAttempt,
  withoutAttempt,
} from './views.ts'

const view = (id: ViewId, ...members: Members): OmegaView => ({ id, members })

describe('the ids of views', () => {
  it.each<[ViewId, ViewId, number]>([
    [[1, 'a'], [1, 'a'], 0],
    [[2, 'a'], [1, 'b'], 1],
    [[1, 'a'], [1, 'b'], -1],
    [[0, null], [1, 'a'], -1],
    [[1, null], [1, 'a'], -1],
    [[1, 'a'], [1, null], 1],
  ])('compare %j with %j by number, then leader: %j', (a, b, sign) => {
    expect(Math.sign(compareViewIds(a, b))).toBe(sign)
    expect([isNewer(a, b), sameViewId(a, b)]).toEqual([sign > 0, sign === 0])
  })

  it('select the newest of two views, and the first of equal ones', () => {
    const [old, late] = [view([1, 'a']), view([2, 'a'])]
    expect([newest(old, late), newest(late, old)]).toEqual([late, late])
    expect(newest(old, view([1, 'a']))).toBe(old)
  })
})

describe('members', () => {
  const members: Members = [
    ['a', 1],
    ['b', 3],
  ]
  it('have a life, or 0 outside the view', () => {
    expect([lifeIn(members, 'b'), lifeIn(members, 'c')]).toEqual([3, 0])
  })
  it('are sorted by id', () => {
    expect(membersOf([members[1], members[0]] as Members)).toEqual(members)
    expect(idsOf(members)).toEqual(['a', 'b'])
  })
  it.each<[Members, boolean]>([
    [
      [
        ['a', 1],
        ['b', 3],
      ],
      true,
    ],
    [
      [
        ['a', 1],
        ['b', 4],
      ],
      false,
    ],
    [
      [
        ['a', 1],
        ['c', 3],
      ],
      false,
    ],
    [[['a', 1]], false],
  ])('are the same as %j: %j', (other, isSame) => {
    expect(sameMembers(members, other)).toBe(isSame)
  })
})

describe('attempts', () => {
  const [one, two, three] = [view([1, 'a']), view([2, 'a']), view([2, 'b'])]
  it('are kept sorted, each once', () => {
    const all = [three, one, two].reduce(withAttempt, [])
    expect(all).toEqual([one, two, three])
    expect(withAttempt(all, two)).toBe(all)
    expect([hasAttempt(all, [2, 'b']), hasAttempt(all, [3, 'b'])]).toEqual([true, false])
  })
  it('are the same list if there is nothing to remove', () => {
    const all = [one, two]
    expect(withoutAttempt(all, [1, 'a'])).toEqual([two])
    expect(withoutAttempt(all, [9, 'a'])).toBe(all)
  })
})

describe('a majority', () => {
  it.each([
    [['a', 'b'], ['a', 'b', 'c'], false, true],
    [['a'], ['a', 'b', 'c'], true, false],
    [['a', 'b'], ['a', 'b', 'c', 'd'], false, false],
    [['a', 'b'], ['a', 'b', 'c', 'd'], true, true],
    [['c', 'd'], ['a', 'b', 'c', 'd'], true, false],
    [['x', 'y', 'a'], ['a', 'b', 'c'], true, false],
    [[], [], true, false],
  ] as const)('of %j in %j, with the tie-breaker %j: %j', (part, whole, tie, expected) => {
    expect(isMajority(part, whole, tie)).toBe(expected)
  })
})

describe('weights', () => {
  it('come before ids, and are 0 by default', () => {
    const nodes = ['a', 'b', 'c', 'd']
    expect(nodes.toSorted(byWeight({ a: 2, c: -1 }))).toEqual(['c', 'b', 'd', 'a'])
    expect([3, 1, 2].toSorted(byWeight({ 1: 5 }))).toEqual([2, 3, 1])
  })
})
