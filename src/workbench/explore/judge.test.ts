import { describe, expect, it } from 'vitest'
import { type Goal, monitor, type Spec } from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import { Interner } from './intern.ts'
import { Judge, NO_EVENTS } from './judge.ts'

const up = (node: number): Observation => ({ type: 'up', at: 0, node })
const down = (node: number): Observation => ({ type: 'down', at: 0, node })

/** Number of nodes that are up. */
const fold = {
  begin: () => 0,
  next: (memory: number, seen: Observation) =>
    seen.type === 'up' ? memory + 1 : seen.type === 'down' ? memory - 1 : memory,
}
let judged = 0
const atMostTwo: Spec<number> = {
  name: 'at-most-two',
  title: 'at most two nodes are up',
  source: 'a test',
  when: 'always',
  fold,
  judge(memory, seen) {
    judged += 1
    if (seen.type !== 'up') return 'not concerned'
    return memory <= 2 ? 'held' : { violated: `${memory} are up` }
  },
}
const never: Spec<number> = { ...atMostTwo, name: 'never', judge: () => 'not concerned' }
const emptied: Goal<number> = {
  name: 'emptied',
  title: 'all nodes are down again',
  fold,
  reached: (memory, seen) => memory === 1 && seen.type === 'down',
}

function judge(specs: readonly Spec[] = [atMostTwo, never]) {
  const events = new Interner<Observation>()
  const run = { nodes: [1, 2, 3], prefers: 'lowest', constants: {} } as const
  return { events, made: new Judge(monitor(specs, [emptied], run), events) }
}

describe('the judge', () => {
  it('follows the fold of a specification by integers', () => {
    const { events, made } = judge()
    const start = made.begin()
    const one = made.next(start, events.idOf(up(1)))
    expect(one).not.toBe(start)
    expect(made.next(one, events.idOf(down(1)))).toBe(start)
    expect(made.next(one, events.idOf({ type: 'ended', at: 0 }))).toBe(one)
  })

  it('runs a judgement once per memory and observation', () => {
    const { events, made } = judge()
    const before = judged
    const id = events.idOf(up(1))
    for (let each = 0; each < 5; each++) made.next(made.begin(), id)
    expect(judged - before).toBe(1)
  })

  it('encodes a violation as a negative memory, with all violated specifications', () => {
    const { made } = judge([atMostTwo, { ...(atMostTwo as Spec), name: 'again' }])
    const result = made.nextAll(made.begin(), made.listId([up(1), up(2), up(3), down(1)]))
    expect(result).toBeLessThan(-1)
    expect(made.violation(result)).toEqual({
      spec: 'at-most-two',
      why: '3 are up',
      all: [
        { spec: 'at-most-two', why: '3 are up' },
        { spec: 'again', why: '3 are up' },
      ],
    })
  })

  it('judges lists of observations in order, and two lists in sequence', () => {
    const { made } = judge()
    const start = made.begin()
    expect(made.nextAll(start, NO_EVENTS)).toBe(start)
    const [first, second] = [made.listId([up(1)]), made.listId([up(2)])]
    expect(made.nextBoth(start, first, second)).toBe(made.nextAll(start, made.listId([up(1), up(2)])))
    const bad = made.listId([up(1), up(2), up(3)])
    expect(made.nextBoth(start, bad, second)).toBe(made.nextAll(start, bad))
  })

  it('reports verdicts, vacuous ones too, and goals', () => {
    const { made } = judge()
    made.nextAll(made.begin(), made.listId([up(1), down(1)]))
    expect(made.verdicts()).toMatchObject([
      { name: 'at-most-two', verdict: 'held', judged: 1 },
      { name: 'never', verdict: 'vacuous' },
    ])
    expect(made.goals()).toEqual([{ name: 'emptied', reached: true, count: 1 }])
  })

  it('knows whether settled moments or whole states are judged', () => {
    const { made } = judge()
    expect([made.judgesSettled, made.judgesStates]).toEqual([false, false])
    const other = judge([
      { ...(atMostTwo as Spec), when: 'settled' },
      { ...(never as Spec), when: 'state' },
    ]).made
    expect([other.judgesSettled, other.judgesStates]).toEqual([true, true])
  })

  it('judges a whole state by itself', () => {
    const state: Observation = { type: 'state', at: 0, nodes: [1], variables: [null], registers: [] }
    const rejects: Spec<number> = { ...never, when: 'state', judge: () => ({ violated: 'always' }) }
    expect(judge([rejects as Spec]).made.state(state)).toMatchObject({ spec: 'never', why: 'always' })
    expect(judge().made.state(state)).toBeNull()
  })
})
