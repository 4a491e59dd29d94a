/**
 * Breadth-first search over all interleavings of a small world, within bounds.
 *
 * States are expanded level by level, in the order of discovery. The first violation at the least depth is
 * therefore a shortest counterexample.
 */
import { present } from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/index.ts'
import { type Action, Batch } from './batch.ts'
import { hashRow } from './hash.ts'
import type { Violation } from './judge.ts'
import type { Model } from './model.ts'
import { NO_SLEEP_SET } from './sleep-sets.ts'
import { Visited } from './visited.ts'

export type SearchBounds = {
  /** States at this depth are judged but not expanded. */
  readonly depth: number
  readonly maxStates: number
  readonly memoryBytes: number
}

export type SearchProgress = {
  readonly states: number
  readonly transitions: number
  readonly depth: number
  /** States that are found but not yet expanded. */
  readonly waiting: number
}

export type Counterexample = {
  readonly violation: Violation
  readonly steps: readonly ScheduleStep[]
  /** Whether only faults can happen after the last step. */
  readonly isDeadEnd: boolean
}

/** Why a search ended early. */
export type CutShort = 'violation' | 'depth' | 'max-states' | 'memory' | 'stopped'

export type SearchResult = {
  readonly visited: Visited
  readonly transitions: number
  readonly depth: number
  readonly cutShort: CutShort | null
  readonly counterexample: Counterexample | null
}

const BATCH = 512
const PROGRESS_INTERVAL = 1 << 13

/** A violation in a state, or by an action from it. */
type Found = { readonly violation: Violation; readonly state: number; readonly action: Action | null }

export function search(
  model: Model,
  bounds: SearchBounds,
  shouldContinue: (progress: SearchProgress) => boolean,
): SearchResult {
  const visited = new Visited(model.columns, model.usesSleepSets)
  const batch = new Batch(model.columns)
  const row = new Int32Array(model.columns)
  // Small bounds are kept exactly, at the cost of small batches.
  const batchSize = Math.min(BATCH, bounds.maxStates)
  let depth = 0

  const end = (cutShort: CutShort | null, counterexample: Counterexample | null = null): SearchResult => ({
    visited,
    transitions: batch.transitions,
    depth,
    cutShort,
    counterexample,
  })

  function flush(): void {
    visited.makeRoomFor(model.largest)
    batch.flush(visited)
  }

  /** Judges the states that were found but not expanded when the search ends early. */
  function unjudged(from: number): Found | null {
    for (let state = from; state < visited.size; state++) {
      visited.read(state, row)
      const violation = model.stateViolation(row)
      if (violation !== null) return { violation, state, action: null }
    }
    return null
  }

  /** Expands the states of one level. Returns the nearest violation, or why the search ends. */
  function level(start: number, stop: number): Found | CutShort | null {
    let settledBadly: Found | null = null
    let steppedBadly: Found | null = null
    for (let state = start; state < stop; state++) {
      visited.read(state, row)
      if (settledBadly === null) {
        const violation = model.stateViolation(row)
        if (violation !== null) settledBadly = { violation, state, action: null }
      }
      if (depth < bounds.depth) {
        batch.parent = state
        const sleepSet = visited.sleepSetOf(state)
        const earlier =
          sleepSet === NO_SLEEP_SET ? 0 : visited.column(visited.parentOf(state), model.memoryAt)
        model.expand(row, batch, sleepSet, earlier)
        if (batch.found !== null) steppedBadly ??= { ...batch.found, state }
        batch.found = null
        if (batch.count >= batchSize) flush()
      }
      if (visited.size >= bounds.maxStates)
        return settledBadly ?? steppedBadly ?? unjudged(state + 1) ?? 'max-states'
      if (state % PROGRESS_INTERVAL === 0) {
        if (visited.bytes + model.bytes >= bounds.memoryBytes) return settledBadly ?? steppedBadly ?? 'memory'
        const waiting = visited.size - state
        if (!shouldContinue({ states: visited.size, transitions: batch.transitions, depth, waiting }))
          return 'stopped'
      }
    }
    flush()
    // A violation in a state is one step nearer than a violation by a step from it.
    return settledBadly ?? steppedBadly
  }

  const begin = model.begin()
  visited.makeRoomFor(model.largest)
  visited.add(begin.row, 0, hashRow(begin.row, 0, model.columns), -1)
  if (begin.violation !== null) {
    return end('violation', { violation: begin.violation, steps: [], isDeadEnd: false })
  }

  let start = 0
  for (;;) {
    const stop = visited.size
    const outcome = level(start, stop)
    if (typeof outcome === 'string') return end(outcome)
    if (outcome !== null) {
      const path = pathTo(model, visited, outcome.state)
      const { violation, action } = outcome
      visited.read(outcome.state, row)
      if (action === null) return end('violation', { violation, steps: path, isDeadEnd: !model.isBusy(row) })
      return end('violation', { violation, steps: [...path, model.describe(row, action)], isDeadEnd: false })
    }
    if (visited.size === stop) return end(depth === bounds.depth && stop > start ? 'depth' : null)
    start = stop
    depth += 1
  }
}

/** The steps from the initial state, found by expanding each state on the path again. */
export function pathTo(model: Model, visited: Visited, state: number): readonly ScheduleStep[] {
  const steps: ScheduleStep[] = []
  for (let at = state; visited.parentOf(at) >= 0; at = visited.parentOf(at)) {
    steps.push(stepBetween(model, visited, visited.parentOf(at), at))
  }
  return steps.reverse()
}

export function stepBetween(model: Model, visited: Visited, from: number, to: number): ScheduleStep {
  const { columns } = model
  const before = new Int32Array(columns)
  const after = new Int32Array(columns)
  visited.read(from, before)
  visited.read(to, after)
  const batch = new Batch(columns)
  model.expand(before, batch)
  const rows = Array.from({ length: batch.count }, (_, index) => index)
  const index = rows.find((each) =>
    after.every((value, column) => value === batch.rows[each * columns + column]),
  )
  return model.describe(before, batch.action(present(index, 'the step between two states')))
}
