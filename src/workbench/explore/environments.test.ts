import { describe, expect, it } from 'vitest'
import { DEFAULT_LINK_HISTORY, initialEnds } from '../untimed/index.ts'
import { type Environment, Environments } from './environments.ts'

const NOTHING: Environment = { crashes: 0, recoveries: 0, flips: 0, ticks: 0, cut: [], ends: [] }

function outlookOf(environment: Environment, environments = new Environments(3, DEFAULT_LINK_HISTORY)) {
  return environments.outlook(environments.idOf(environment))
}

describe('an environment without budget', () => {
  it('allows no fault and no tick', () => {
    const { crashed, recovered, ticked, flips, moves, busy } = outlookOf(NOTHING)
    expect(crashed).toEqual([-1, -1, -1])
    expect([recovered, ticked]).toEqual([-1, -1])
    expect([flips, moves, busy]).toEqual([[], [], false])
  })

  it('carries all messages', () => {
    expect(outlookOf(NOTHING)).toMatchObject({ ahead: null, closed: null, cut: [] })
  })
})

describe('the budget', () => {
  it('decreases with each crash, recovery and tick', () => {
    const environments = new Environments(3, DEFAULT_LINK_HISTORY)
    const id = environments.idOf({ ...NOTHING, crashes: 1, recoveries: 1, ticks: 1 })
    const { crashed, recovered, ticked } = environments.outlook(id)
    expect(new Set(crashed)).toEqual(
      new Set([environments.idOf({ ...NOTHING, crashes: 0, recoveries: 1, ticks: 1 })]),
    )
    expect(recovered).toBe(environments.idOf({ ...NOTHING, crashes: 1, recoveries: 0, ticks: 1 }))
    expect(ticked).toBe(environments.idOf({ ...NOTHING, crashes: 1, recoveries: 1, ticks: 0 }))
  })

  it('is not spent by a tick of an unlimited budget', () => {
    const environments = new Environments(1, DEFAULT_LINK_HISTORY)
    const id = environments.idOf({ ...NOTHING, ticks: Number.POSITIVE_INFINITY })
    expect(environments.outlook(id).ticked).toBe(id)
  })
})

describe('silent links', () => {
  it('can be cut and healed, one pair at a time', () => {
    const environments = new Environments(3, DEFAULT_LINK_HISTORY)
    const { flips } = outlookOf({ ...NOTHING, flips: 2, cut: [[0, 1]] }, environments)
    expect(flips.map(({ a, b, cutting }) => [a, b, cutting])).toEqual([
      [0, 1, false],
      [0, 2, true],
      [1, 2, true],
    ])
    expect(flips[0]?.next).toBe(environments.idOf({ ...NOTHING, flips: 1 }))
  })

  it('lose messages while they are cut', () => {
    const { ahead } = outlookOf({ ...NOTHING, cut: [[0, 1]] })
    expect(ahead === null ? [] : [...ahead]).toEqual([0, -1, 0, -1, 0, 0, 0, 0, 0])
  })
})

describe('reported links', () => {
  const ends = initialEnds(3, () => true)

  it('have ends that move one at a time, and must then be followed', () => {
    const environments = new Environments(3, DEFAULT_LINK_HISTORY)
    const { moves, flips } = outlookOf({ ...NOTHING, flips: 1, ends }, environments)
    expect(flips).toEqual([])
    expect(moves).toHaveLength(6)
    expect(moves.every(({ up, owed }) => !up && !owed)).toBe(true)
    const after = environments.outlook(moves[0]?.next ?? -1)
    expect(after.busy).toBe(true)
    expect(after.moves.map(({ at, peer, owed }) => [at, peer, owed])).toEqual([[1, 0, true]])
    expect(after.closed === null ? [] : Array.from(after.closed.subarray(0, 3))).toEqual([0, 1, 0])
    expect(after.cut).toEqual([[0, 1]])
  })

  it('go down at a crashed node', () => {
    const environments = new Environments(3, DEFAULT_LINK_HISTORY)
    const { crashed } = outlookOf({ ...NOTHING, crashes: 1, ends }, environments)
    expect(new Set(crashed).size).toBe(3)
    expect(environments.outlook(crashed[1] ?? -1).cut).toEqual([
      [0, 1],
      [1, 2],
    ])
  })
})
