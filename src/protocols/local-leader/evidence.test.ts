import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import {
  commonLevels,
  grantedLevels,
  lossNeed,
  lowestLevel,
  nearestGranted,
  quorumNeed,
  type VoterEvidence,
} from './evidence.ts'
import { lockAt } from './levels.ts'
import { NO_LOSS } from './messages.ts'
import { localLeaderOptions } from './options.ts'

const NODES = [1, 2, 3, 4, 5]
const config = (...sets: readonly (readonly NodeId[])[]) => ({ id: [0, 0] as const, sets })
const FIVE = config(NODES)

/** The evidence of the other voters; null: it is down. */
const voters = (...late: readonly (number | null)[]): readonly VoterEvidence[] =>
  late.map((level, index) => ({
    node: index + 2,
    evidence: level === null ? null : { late: level, delay: 0, loss: NO_LOSS },
  }))

describe('the level that a majority of five needs', () => {
  it.each<[string, readonly (number | null)[], number]>([
    ['no slow voter', [4, 4, 4, 4], 4],
    ['one slow voter', [4, 30, 4, 4], 4],
    ['two slow voters', [30, 30, 4, 4], 4],
    ['three slow voters', [30, 20, 25, 4], 20],
    ['one slow voter while two are down', [null, null, 9, 4], 9],
    ['absurd evidence of a voter', [40, 4, 4, 4], 4],
    ['all others down', [null, null, null, null], 4],
  ])('with %s', (_what, late, level) => {
    expect(quorumNeed(FIVE, 1, voters(...late), 4).level).toBe(level)
  })

  it('names the voter and the evidence that decide', () => {
    const evidence = { late: 5, delay: 8, loss: NO_LOSS }
    expect(quorumNeed(config([1, 2]), 1, [{ node: 2, evidence }], 4)).toEqual({
      level: 8,
      cause: 'delay',
      by: 2,
    })
  })

  it('counts every set of a change of voters, and a leader outside a set needs one voter more', () => {
    const joint = config([1, 2, 3], [3, 4, 5])
    expect(quorumNeed(joint, 1, voters(20, 5, 9, 30), 4).level).toBe(9)
  })
})

describe('lost messages', () => {
  const options = localLeaderOptions(NODES).parse({ timing: 'adaptive' })
  const adaptive = adaptiveTimingOf(options, 5)
  const needOf = (sets: readonly NodeId[], loss: number, down: readonly NodeId[] = [], lossPerDay = 1) => {
    if (adaptive === null) throw new Error('adaptive timing')
    const known = sets.map((node) => ({
      node,
      evidence: down.includes(node) ? null : { late: 0, delay: 0, loss },
    }))
    const { timingAt, bounds } = adaptive
    return lossNeed(config(sets), 1, known, bounds, { lossPerDay, timingAt }).level - bounds.least
  }

  it('do not matter where spare voters answer', () => {
    expect(needOf(NODES, NO_LOSS)).toBe(0)
    expect(needOf(NODES, 7)).toBe(0)
  })

  it('ask for fewer renewals where no voter is spare', () => {
    const rare = needOf([1, 2, 3], 10, [3])
    const frequent = needOf([1, 2, 3], 8, [3])
    expect(rare).toBeGreaterThan(0)
    expect(frequent).toBeGreaterThan(rare)
    expect(needOf([1, 2, 3], 10, [3], 1000)).toBe(0)
  })

  it('of a voter that reports nonsense count as if it were down', () => {
    const others = NODES.map((node) => ({ node, evidence: { late: 0, delay: 0, loss: node === 5 ? 0 : 12 } }))
    if (adaptive === null) throw new Error('adaptive timing')
    const { timingAt, bounds } = adaptive
    expect(lossNeed(FIVE, 1, others, bounds, { lossPerDay: 1, timingAt }).level - bounds.least).toBe(
      needOf(NODES, 12, [5]),
    )
  })
})

describe('the level that a majority grants', () => {
  const BOUNDS = { least: 5, most: 20, shortest: lockAt(5), longest: lockAt(20) }
  type Answers = { readonly [node: number]: readonly [least: number, most: number, when?: 'long ago'] | null }
  const votersWith = (answers: Answers) =>
    [1, 2, 3].map((node) => {
      const answer = answers[node]
      if (answer === null) return { node, grants: null }
      const [least, most, when] = answer ?? [0, 40]
      return { node, grants: { least, most, isRecent: when === undefined } }
    })
  const granted = (wanted: number, answers: Answers, suits?: (level: number) => boolean) => {
    return nearestGranted(
      wanted,
      BOUNDS,
      grantedLevels(BOUNDS, config([1, 2, 3]), votersWith(answers)),
      suits,
    )
  }

  it.each<[string, number, Answers, number]>([
    ['all bounds are the same', 8, {}, 8],
    ['one voter refuses', 8, { 3: [12, 40] }, 8],
    ['two voters refuse short locks', 8, { 2: [11, 40], 3: [12, 40] }, 11],
    ['two voters refuse long locks', 18, { 2: [0, 9], 3: [0, 7] }, 9],
    ['no level has a majority', 8, { 2: [30, 40], 3: [30, 40] }, 8],
    [
      'one voter refuses, and another does not answer any more',
      8,
      { 2: [12, 40], 3: [0, 40, 'long ago'] },
      12,
    ],
    ['one voter refuses, and another has never answered', 18, { 2: [0, 9], 3: null }, 9],
    ['no other voter has ever answered', 8, { 2: null, 3: null }, 8],
    ['the other voters answered long ago', 8, { 2: [11, 40, 'long ago'], 3: [12, 40, 'long ago'] }, 11],
  ])('where %s', (_what, wanted, answers, level) => {
    expect(granted(wanted, answers)).toBe(level)
  })

  it.each<[string, number, Answers, number]>([
    ['all voters that answer grant', 18, { 2: [0, 9], 3: [0, 40] }, 9],
    [
      'all grant, except a voter that does not answer any more',
      18,
      { 2: [0, 9, 'long ago'], 3: [0, 40] },
      18,
    ],
    ['a majority grants, if the candidate needs more time than all grant', 18, { 2: [0, 6], 3: [0, 40] }, 18],
  ])('is preferably a level that %s', (_what, wanted, answers, level) => {
    const suits = commonLevels(votersWith(answers), 8)
    expect(granted(wanted, answers, suits)).toBe(level)
  })
})

it('finds the lowest level that fits', () => {
  expect(lowestLevel((level) => level >= 17)).toBe(17)
  expect(lowestLevel(() => true)).toBe(0)
  expect(lowestLevel(() => false)).toBe(40)
})
