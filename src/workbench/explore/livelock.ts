/**
 * Livelock detection after a complete search: is there a state from which no settled state can be reached
 * without a new fault?
 *
 * Expands every state once more to collect its edges, then marks all states that reach a settled state, by
 * breadth along the reversed edges. The unmarked states form livelocks. States without successors are not
 * among them: the search itself has judged those as settled.
 */
import { present } from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/index.ts'
import { Batch } from './batch.ts'
import { hashRow } from './hash.ts'
import type { Model } from './model.ts'
import { pathTo, stepBetween } from './search.ts'
import type { Visited } from './visited.ts'

export type Livelock = {
  /** The steps to the livelock, followed by one round of its cycle. */
  readonly steps: readonly ScheduleStep[]
  readonly cycle: number
}

/** Estimated memory: both ends of every edge, and 13 bytes per state. */
export function livelockBytes(visited: Visited, transitions: number): number {
  return transitions * 8 + visited.size * 13
}

export function findLivelock(model: Model, visited: Visited, transitions: number): Livelock | null {
  const edges = edgesOf(model, visited, transitions)
  const reaches = canReachSettled(visited.size, edges)
  const stuck = reaches.indexOf(0)
  return stuck < 0 ? null : describeLivelock(model, visited, edges, stuck)
}

type Edges = {
  readonly count: number
  readonly from: Int32Array
  readonly to: Int32Array
  /** 1 if the specifications accept the state as a settled state. */
  readonly good: Uint8Array
}

function edgesOf(model: Model, visited: Visited, transitions: number): Edges {
  const { columns } = model
  const batch = new Batch(columns)
  const row = new Int32Array(columns)
  const from = new Int32Array(transitions)
  const to = new Int32Array(transitions)
  const good = new Uint8Array(visited.size)
  let count = 0
  for (let state = 0; state < visited.size; state++) {
    visited.read(state, row)
    good[state] = model.settledViolation(row) === null ? 1 : 0
    batch.clear()
    model.expand(row, batch)
    for (let each = 0; each < batch.count; each++) {
      if (batch.isFault(each)) continue
      from[count] = state
      to[count] = visited.find(batch.rows, each * columns, hashRow(batch.rows, each * columns, columns))
      count += 1
    }
  }
  return { count, from, to, good }
}

/** 1 for each state from which a good state can be reached. */
function canReachSettled(states: number, { count, from, to, good }: Edges): Uint8Array {
  const starts = new Int32Array(states + 1)
  for (let edge = 0; edge < count; edge++) {
    const target = (to[edge] as number) + 1
    starts[target] = (starts[target] as number) + 1
  }
  for (let state = 0; state < states; state++) {
    starts[state + 1] = (starts[state + 1] as number) + (starts[state] as number)
  }
  const sources = new Int32Array(count)
  const filled = starts.slice(0, states)
  for (let edge = 0; edge < count; edge++) {
    const target = to[edge] as number
    const place = filled[target] as number
    sources[place] = from[edge] as number
    filled[target] = place + 1
  }
  const reaches = good.slice()
  const waiting: number[] = []
  for (let state = 0; state < states; state++) if (reaches[state] === 1) waiting.push(state)
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    for (let at = starts[state] as number; at < (starts[state + 1] as number); at++) {
      const source = sources[at] as number
      if (reaches[source] === 1) continue
      reaches[source] = 1
      waiting.push(source)
    }
  }
  return reaches
}

function describeLivelock(
  model: Model,
  visited: Visited,
  { count, from, to }: Edges,
  stuck: number,
): Livelock {
  const path = pathTo(model, visited, stuck)
  const next = new Map<number, number>()
  for (let edge = 0; edge < count; edge++) {
    const source = from[edge] as number
    if (source >= stuck && !next.has(source)) next.set(source, to[edge] as number)
  }
  const walked = [stuck]
  for (;;) {
    const last = present(walked.at(-1), 'state')
    const following = present(next.get(last), 'the next state of a livelock')
    const again = walked.indexOf(following)
    walked.push(following)
    if (again >= 0) {
      const cycle = walked.length - 1 - again
      return { steps: [...path, ...stepsAlong(model, visited, walked)], cycle }
    }
  }
}

function stepsAlong(model: Model, visited: Visited, states: readonly number[]): readonly ScheduleStep[] {
  return states.slice(1).map((state, index) => stepBetween(model, visited, states[index] as number, state))
}
