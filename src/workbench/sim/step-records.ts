/**
 * The records of a node's steps in the trace. The world builds them only if a trace is wanted.
 *
 * The order of the fields is their order in the trace file.
 */
import type { Effect, Input, Micros, Outcome, Plain, View } from '../../core/index.ts'
import type { NodeState, RecordHook } from '../scenario/options.ts'
import type { SimNode } from './world-node.ts'

type Attempt = {
  readonly at: Micros
  /** On the node's clock. */
  readonly now: Micros
  readonly input: Input
  /** The number of the message, if the input is one. */
  readonly message: number | null
}

type Start = {
  readonly at: Micros
  readonly now: Micros
  readonly stable: Plain
  readonly settledOn: Outcome | null
}

type Done = {
  readonly effects: readonly Effect[]
  readonly sent: readonly number[]
  /** The number of effects before the node crashed; null if it completed all. */
  readonly cutAfter: number | null
  readonly view: View | null
}

export function recordStep(record: RecordHook, node: SimNode, step: Attempt, done: Done): void {
  const { at, now, input, message } = step
  record({ type: 'step', at, node: node.id, now, input, message, ...done }, stateAfter(node, done))
}

/** Records a step that did not happen, because the storage rejected a write. */
export function recordRollBack(
  record: RecordHook,
  { id }: SimNode,
  { at, now, input, message }: Attempt,
  effects: readonly Effect[],
): void {
  const none = { effects, sent: [], cutAfter: null, view: null }
  record({ type: 'step', at, node: id, now, input, message, ...none, takenBack: true }, [])
}

export function recordStart(record: RecordHook, node: SimNode, start: Start, done: Done): void {
  const { at, now, stable, settledOn } = start
  record({ type: 'start', at, node: node.id, now, stable, settledOn, ...done }, stateAfter(node, done))
}

function stateAfter({ id, state, stable }: SimNode, { cutAfter }: Done): readonly NodeState[] {
  return [{ node: id, state: cutAfter === null ? state : null, stable }]
}
