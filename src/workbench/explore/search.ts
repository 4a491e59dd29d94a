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
  return new Search(model, bounds, shouldContinue).run()
}

class Search {
  readonly #model: Model
  readonly #bounds: SearchBounds
  readonly #shouldContinue: (progress: SearchProgress) => boolean
  readonly #visited: Visited
  readonly #batch: Batch
  readonly #row: Int32Array
  /** Small bounds are kept exactly, at the cost of small batches. */
  readonly #batchSize: number
  #depth = 0

  constructor(model: Model, bounds: SearchBounds, shouldContinue: (progress: SearchProgress) => boolean) {
    this.#model = model
    this.#bounds = bounds
    this.#shouldContinue = shouldContinue
    this.#visited = new Visited(model.columns, model.usesSleepSets)
    this.#batch = new Batch(model.columns)
    this.#row = new Int32Array(model.columns)
    this.#batchSize = Math.min(BATCH, bounds.maxStates)
  }

  run(): SearchResult {
    const visited = this.#visited
    const { row, violation } = this.#model.begin()
    visited.makeRoomFor(this.#model.largest)
    visited.add(row, 0, hashRow(row, 0, this.#model.columns), -1)
    if (violation !== null) return this.#end('violation', { violation, steps: [], isDeadEnd: false })
    let start = 0
    for (;;) {
      const stop = visited.size
      const outcome = this.#expandLevel(start, stop)
      if (typeof outcome === 'string') return this.#end(outcome)
      if (outcome !== null) return this.#end('violation', this.#counterexample(outcome))
      if (visited.size === stop)
        return this.#end(this.#depth === this.#bounds.depth && stop > start ? 'depth' : null)
      start = stop
      this.#depth += 1
    }
  }

  /** Expands the states of one level. Returns the nearest violation, or why the search ends. */
  #expandLevel(start: number, stop: number): Found | CutShort | null {
    const model = this.#model
    const bounds = this.#bounds
    const visited = this.#visited
    const batch = this.#batch
    const row = this.#row
    const batchSize = this.#batchSize
    const isExpanded = this.#depth < bounds.depth
    let settledBadly: Found | null = null
    let steppedBadly: Found | null = null
    for (let state = start; state < stop; state++) {
      visited.read(state, row)
      if (settledBadly === null) {
        const violation = model.stateViolation(row)
        if (violation !== null) settledBadly = { violation, state, action: null }
      }
      if (isExpanded) {
        batch.parent = state
        const sleepSet = visited.sleepSetOf(state)
        const earlier =
          sleepSet === NO_SLEEP_SET ? 0 : visited.column(visited.parentOf(state), model.memoryAt)
        model.expand(row, batch, sleepSet, earlier)
        if (batch.found !== null) steppedBadly ??= { ...batch.found, state }
        batch.found = null
        if (batch.count >= batchSize) this.#flush()
      }
      if (visited.size >= bounds.maxStates)
        return settledBadly ?? steppedBadly ?? this.#unjudged(state + 1) ?? 'max-states'
      if (state % PROGRESS_INTERVAL === 0) {
        if (visited.bytes + model.bytes >= bounds.memoryBytes) return settledBadly ?? steppedBadly ?? 'memory'
        if (!this.#reportProgress(state)) return 'stopped'
      }
    }
    this.#flush()
    // A violation in a state is one step nearer than a violation by a step from it.
    return settledBadly ?? steppedBadly
  }

  #flush(): void {
    this.#visited.makeRoomFor(this.#model.largest)
    this.#batch.flush(this.#visited)
  }

  #reportProgress(state: number): boolean {
    const states = this.#visited.size
    const { transitions } = this.#batch
    return this.#shouldContinue({ states, transitions, depth: this.#depth, waiting: states - state })
  }

  /** Judges the states that were found but not expanded when the search ends early. */
  #unjudged(from: number): Found | null {
    for (let state = from; state < this.#visited.size; state++) {
      this.#visited.read(state, this.#row)
      const violation = this.#model.stateViolation(this.#row)
      if (violation !== null) return { violation, state, action: null }
    }
    return null
  }

  #counterexample({ violation, state, action }: Found): Counterexample {
    const row = this.#row
    const path = pathTo(this.#model, this.#visited, state)
    this.#visited.read(state, row)
    if (action === null) return { violation, steps: path, isDeadEnd: !this.#model.isBusy(row) }
    return { violation, steps: [...path, this.#model.describe(row, action)], isDeadEnd: false }
  }

  #end(cutShort: CutShort | null, counterexample: Counterexample | null = null): SearchResult {
    const { transitions } = this.#batch
    return { visited: this.#visited, transitions, depth: this.#depth, cutShort, counterexample }
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
