import { describe, expect, it } from 'vitest'
import { ids } from '../../../test/support/run.ts'
import type { PlainObject } from '../../core/index.ts'
import { epochsDefinition } from '../../protocols/epochs/index.ts'
import {
  checkedOptions,
  factsOf,
  promisedGoals,
  promisedSpecs,
  type ScheduleStep,
} from '../scenario/index.ts'
import { monitor, type Spec } from '../specs/index.ts'
import { type Budget, DEFAULT_LINK_HISTORY } from '../untimed/index.ts'
import { Batch } from './batch.ts'
import { hashRow } from './hash.ts'
import { Model } from './model.ts'
import { pathTo, search } from './search.ts'
import { Visited } from './visited.ts'

const FOR_EVER = { crashes: Infinity, recoveries: Infinity, flips: 0, ticks: 0 }
const MOST = 100_000
const BOUNDS = { depth: Number.MAX_SAFE_INTEGER, maxStates: Number.MAX_SAFE_INTEGER, memoryBytes: 1e9 }

function modelOf(count: number, given: PlainObject, budget: Budget, specs?: readonly Spec[]): Model {
  const definition = epochsDefinition
  const nodes = ids(count)
  const options = checkedOptions(definition, nodes, { clock: 'none', ...given })
  const watched = monitor(
    specs ?? promisedSpecs(definition, options),
    promisedGoals(definition, options),
    factsOf(definition, nodes, options),
  )
  const how = {
    order: 'any',
    timers: 'any',
    initial: null,
    after: [],
    history: DEFAULT_LINK_HISTORY,
  } as const
  return new Model({ definition, nodes, options, budget, monitor: watched, ...how })
}

type Plain = { visited: Visited; transitions: number; steps: readonly ScheduleStep[] | null }

/** The same search, with every step out of every state. */
function plainly(model: Model): Plain {
  const visited = new Visited(model.columns)
  const batch = new Batch(model.columns)
  const row = new Int32Array(model.columns)
  const begin = model.begin().row
  visited.add(begin, 0, hashRow(begin, 0, model.columns), -1)
  let steps: readonly ScheduleStep[] | null = null
  let levelEnd = 1
  for (let state = 0; state < visited.size; state++) {
    if (state === levelEnd) {
      if (steps !== null) break
      levelEnd = visited.size
    }
    visited.read(state, row)
    batch.parent = state
    model.expand(row, batch)
    visited.makeRoomFor(model.largest)
    batch.flush(visited)
    if (batch.found !== null) {
      steps ??= [...pathTo(model, visited, state), model.describe(row, batch.found.action)]
    }
    batch.found = null
  }
  return { visited, transitions: batch.transitions, steps }
}

/** The number of successors of all states: of all steps, and of the steps that the search takes. */
function rowsMade(model: Model, visited: Visited): { all: number; taken: number } {
  const batch = new Batch(model.columns)
  const row = new Int32Array(model.columns)
  let all = 0
  let taken = 0
  for (let state = 0; state < visited.size; state++) {
    visited.read(state, row)
    const before = visited.parentOf(state)
    batch.clear()
    model.expand(row, batch)
    all += batch.count
    batch.clear()
    model.expand(
      row,
      batch,
      visited.sleepSetOf(state),
      before < 0 ? 0 : visited.column(before, model.memoryAt),
    )
    taken += batch.count
  }
  return { all, taken }
}

/** The first state that is another, or has another parent; -1 if there is none. */
function firstDifference(columns: number, one: Visited, other: Visited): number {
  const a = new Int32Array(columns)
  const b = new Int32Array(columns)
  for (let state = 0; state < Math.max(one.size, other.size); state++) {
    if (state >= one.size || state >= other.size || one.parentOf(state) !== other.parentOf(state))
      return state
    one.read(state, a)
    other.read(state, b)
    for (let column = 0; column < columns; column++) if (a[column] !== b[column]) return state
  }
  return -1
}

/** Remembers in which order the last two things happened, of any kind: no two visible steps commute. */
const inTurn: Spec<readonly string[]> = {
  name: 'in-turn',
  title: 'never violated',
  source: 'this test',
  when: 'always',
  fold: {
    begin: () => [],
    next: (memory, seen) => ('node' in seen ? [...memory.slice(-1), `${seen.node} ${seen.type}`] : memory),
  },
  judge: () => 'held',
}

describe('sleep sets omit transitions to known states, and leave states, their order and their parents unchanged', () => {
  it.each<[string, number, PlainObject, Budget?, Spec?]>([
    ['atomic', 2, { epochs: 2, ballots: 2 }],
    ['three nodes', 3, { epochs: 1, ballots: 1 }, { ...FOR_EVER, crashes: 1, recoveries: 1 }],
    ['three nodes that never crash', 3, { epochs: 1, ballots: 1 }, { ...FOR_EVER, crashes: 0 }],
    ['three nodes, the counter at once', 3, { epochs: 1, ballots: 1, tick: 'atomic' }],
    ['a few crashes', 2, { epochs: 2, ballots: 2 }, { ...FOR_EVER, crashes: 3, recoveries: 2 }],
    ['a few crashes, any number of recoveries', 2, { epochs: 2, ballots: 2 }, { ...FOR_EVER, crashes: 3 }],
    ['regular', 2, { epochs: 2, ballots: 2, registers: 'regular' }],
    ['late, compared', 2, { epochs: 1, ballots: 3, registers: 'late' }],
    ['invariants', 2, { epochs: 1, ballots: 2, keepsRead: true }],
    ['deleted', 2, { epochs: 2, ballots: 2, removals: true }],
    ['buried', 2, { epochs: 2, ballots: 1, burials: true, tick: 'atomic' }, { ...FOR_EVER, crashes: 0 }],
    ['a monitor that remembers the order', 2, { epochs: 1, ballots: 2 }, FOR_EVER, inTurn],
  ])('%s', { timeout: 120_000 }, (_name, count, given, budget = FOR_EVER, spec?: Spec) => {
    const model = modelOf(count, given, budget, spec === undefined ? undefined : [spec])
    const plain = plainly(model)
    const { visited, transitions, counterexample } = search(model, BOUNDS, () => true)
    expect(counterexample).toBeNull()
    expect([plain.visited.size > 500, plain.visited.size < MOST]).toEqual([true, true])
    expect(firstDifference(model.columns, visited, plain.visited)).toBe(-1)
    expect(transitions).toBe(plain.transitions)
    const { all, taken } = rowsMade(model, visited)
    expect(taken).toBeLessThan(all * 0.95)
  })

  it.each([
    ['tie-lowest-id', { epochs: 1, ballots: 2, tick: 'atomic' }],
    ['negation-scope', { epochs: 1, ballots: 2 }],
    ['forgotten-counter', { epochs: 1, ballots: 2, tick: 'atomic' }],
    ['lost-block', { epochs: 1, ballots: 2, tick: 'atomic' }],
    ['stale-reads', { epochs: 1, ballots: 2, tick: 'atomic' }],
    ['late-writes', { epochs: 1, ballots: 2, tick: 'atomic' }],
  ])('and with %s the first violation is the same', { timeout: 120_000 }, (misreading, given) => {
    const model = modelOf(2, { ...given, misreading }, FOR_EVER)
    const plain = plainly(model)
    const { visited, counterexample } = search(model, BOUNDS, () => true)
    expect(plain.steps).not.toBeNull()
    expect(counterexample?.steps).toEqual(plain.steps)
    expect(firstDifference(model.columns, visited, plain.visited)).toBe(-1)
  })
})
