/**
 * Breadth-first search over every interleaving of a small world, within bounds.
 *
 * States are expanded level by level in the order in which they were found, so the first violation of the least
 * depth is a shortest counterexample. Successors are looked up in batches: the table is far larger than any
 * cache, and touching the lines of a whole batch first lets the memory answer many lookups at once.
 */
import type { ScheduleStep } from '../sim/index.ts'
import type { Deed, Model, Sink, Violation } from './model.ts'
import { Visited } from './visited.ts'

export type SearchBounds = {
  /** Levels to search; states at this depth are found but not expanded. */
  readonly depth: number
  readonly maxStates: number
  readonly memoryBytes: number
}

export type SearchProgress = {
  readonly states: number
  readonly transitions: number
  readonly depth: number
  /** States found and not yet expanded. */
  readonly waiting: number
}

export type Counterexample = { readonly violation: Violation; readonly steps: readonly ScheduleStep[] }

export type SearchResult = {
  readonly visited: Visited
  readonly transitions: number
  readonly depth: number
  /** Why the search ended before everything was seen, or null when it saw everything. */
  readonly cutShort: 'depth' | 'states' | 'memory' | 'stopped' | 'violation' | null
  readonly counterexample: Counterexample | null
}

const BATCH = 512
/** Room for the successors of one more state beyond a full batch. */
const BATCH_ROOM = BATCH * 8
const PROGRESS_EVERY = 1 << 15

/** Where a violation was found: at a state, or by a step out of it. */
type Found = { readonly violation: Violation; readonly state: number; readonly step: ScheduleStep | null }

class Batch implements Sink {
  readonly rows: Int32Array
  readonly parents = new Int32Array(BATCH_ROOM)
  readonly hashes = new Float64Array(BATCH_ROOM)
  readonly #columns: number
  count = 0
  parent = -1
  found: { violation: Violation; deed: Deed; node: number; choice: number; crashAfter: number } | null = null

  constructor(columns: number) {
    this.#columns = columns
    this.rows = new Int32Array(BATCH_ROOM * columns)
  }

  take(row: Int32Array): void {
    const columns = this.#columns
    let at = this.count * columns
    for (let column = 0; column < columns; column++) this.rows[at++] = row[column] as number
    this.parents[this.count++] = this.parent
  }

  violation(violation: Violation, deed: Deed, node: number, choice: number, crashAfter: number): void {
    this.found ??= { violation, deed, node, choice, crashAfter }
  }

  /** Adds what is new to the visited states. */
  flush(visited: Visited): void {
    const columns = this.#columns
    const { rows, hashes, parents, count } = this
    let touched = 0
    for (let at = 0; at < count; at++) {
      const hash = visited.hash(rows, at * columns)
      hashes[at] = hash
      touched ^= visited.touch(hash)
    }
    this.touched = touched
    for (let at = 0; at < count; at++) {
      visited.add(rows, at * columns, hashes[at] as number, parents[at] as number)
    }
    this.count = 0
  }

  /** Kept so that the touching is not optimised away. */
  touched = 0
}

export function search(
  model: Model,
  bounds: SearchBounds,
  onProgress: (progress: SearchProgress) => boolean,
): SearchResult {
  const visited = new Visited(model.columns)
  const batch = new Batch(model.columns)
  const row = new Int32Array(model.columns)
  const begin = model.begin()
  visited.fit(model.largest)
  visited.add(begin.row, 0, visited.hash(begin.row, 0), -1)
  if (begin.violation !== null) {
    const counterexample = { violation: begin.violation, steps: [] }
    return { visited, transitions: 0, depth: 0, cutShort: 'violation', counterexample }
  }
  let transitions = 0
  let depth = 0
  let levelStart = 0
  for (;;) {
    const levelEnd = visited.size
    if (levelStart === levelEnd) return { visited, transitions, depth: depth - 1, cutShort: null, counterexample: null }
    let settledBadly: Found | null = null
    let steppedBadly: Found | null = null
    for (let index = levelStart; index < levelEnd; index++) {
      visited.read(index, row)
      batch.parent = index
      const before = batch.count
      const canGoOn = depth < bounds.depth
      const busy = canGoOn ? model.expand(row, batch) : model.expand(row, NOWHERE)
      transitions += batch.count - before
      if (batch.found !== null) {
        const { violation, deed, node, choice, crashAfter } = batch.found
        batch.found = null
        const step = model.describe(row, deed, node, choice, crashAfter)
        steppedBadly ??= { violation, state: index, step }
      }
      if (!busy && settledBadly === null) {
        const violation = model.settledViolation(row)
        if (violation !== null) settledBadly = { violation, state: index, step: null }
      }
      if (batch.count >= BATCH) {
        visited.fit(model.largest)
        batch.flush(visited)
      }
      if (index % PROGRESS_EVERY === 0) {
        const stop = cutBy(bounds, visited)
        if (stop !== null) return { visited, transitions, depth, cutShort: stop, counterexample: null }
        const waiting = visited.size - index
        if (!onProgress({ states: visited.size, transitions, depth, waiting })) {
          return { visited, transitions, depth, cutShort: 'stopped', counterexample: null }
        }
      }
    }
    visited.fit(model.largest)
    batch.flush(visited)
    const found = settledBadly ?? steppedBadly
    if (found !== null) {
      const counterexample = {
        violation: found.violation,
        steps: [...pathTo(model, visited, found.state), ...(found.step === null ? [] : [found.step])],
      }
      return { visited, transitions, depth, cutShort: 'violation', counterexample }
    }
    if (depth === bounds.depth) {
      return { visited, transitions, depth, cutShort: 'depth', counterexample: null }
    }
    levelStart = levelEnd
    depth += 1
  }
}

function cutBy({ maxStates, memoryBytes }: SearchBounds, visited: Visited): 'states' | 'memory' | null {
  if (visited.size >= maxStates) return 'states'
  return visited.bytes >= memoryBytes ? 'memory' : null
}

/** For states that are only looked at, because the search goes no deeper. */
const NOWHERE: Sink = { take() {}, violation() {} }

/** The steps from the beginning to a state: each is found again by expanding the parent. */
export function pathTo(model: Model, visited: Visited, state: number): readonly ScheduleStep[] {
  const steps: ScheduleStep[] = []
  const child = new Int32Array(model.columns)
  const parent = new Int32Array(model.columns)
  for (let at = state; visited.parentOf(at) >= 0; at = visited.parentOf(at)) {
    visited.read(at, child)
    visited.read(visited.parentOf(at), parent)
    let step: ScheduleStep | null = null
    model.expand(parent, {
      take(row, deed, node, choice, crashAfter) {
        if (step === null && row.every((value, column) => value === child[column])) {
          step = model.describe(parent, deed, node, choice, crashAfter)
        }
      },
      violation() {},
    })
    steps.push(step as unknown as ScheduleStep)
  }
  return steps.reverse()
}
