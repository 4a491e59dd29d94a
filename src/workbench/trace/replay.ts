/**
 * Replays a recorded trace through the pure code and compares all effects. A difference means that the code
 * has changed, that the recording is damaged, or that a step depended on something outside its inputs.
 */
import {
  canonical,
  type Definition,
  type Effect,
  explain,
  type NodeId,
  type Plain,
  type Protocol,
  present,
  type Step,
} from '../../core/index.ts'
import { InvalidTraceError, type Trace } from './ndjson.ts'
import type { TraceRecord } from './records.ts'

export type Replay = {
  readonly steps: number
  /** The first step with different effects; null if all are identical. */
  readonly difference: ReplayDifference | null
  /** The last step that failed, both in the recording and in the replay; null if none did. */
  readonly failure: ReplayFailure | null
}

export type ReplayDifference = {
  /** Line number in the file. The header is line 1. */
  readonly line: number
  readonly node: NodeId
  readonly recorded: readonly Effect[]
  readonly replayed: readonly Effect[]
  /**
   * Present if the recorded step failed: the recorded error, and the error in the replay (null: it succeeds
   * now).
   */
  readonly errors?: { readonly recorded: string; readonly replayed: string | null }
}

export type ReplayFailure = {
  readonly line: number
  readonly node: NodeId
  readonly error: string
  /** Whether the node stopped; otherwise it dropped the message. */
  readonly isFatal: boolean
}

export function replay({ header, records }: Trace, definition: Definition): Replay {
  const protocols = new Map<NodeId, Protocol>()
  const states = new Map<NodeId, Plain>()
  const options = definition.options(header.nodes).safeParse(header.options, { error: explain })
  if (!options.success) {
    const [issue] = options.error.issues
    throw new InvalidTraceError(`line 1: ${['options', ...(issue?.path ?? [])].join('.')}: ${issue?.message}`)
  }
  for (const self of header.nodes) {
    const own = header.nodeOptions?.[String(self)] ?? options.data
    protocols.set(self, definition.create({ self, nodes: header.nodes }, own))
  }
  let steps = 0
  let failure: ReplayFailure | null = null
  for (const [index, record] of records.entries()) {
    if (record.type === 'tick') {
      for (const [node, state] of states) {
        states.set(node, present(protocols.get(node), 'protocol').shift(state, -record.by))
      }
      continue
    }
    if (record.type === 'resume') {
      states.set(record.node, record.state)
      continue
    }
    if (record.type !== 'start' && record.type !== 'step') continue
    const line = index + 2
    const protocol = protocols.get(record.node)
    if (protocol === undefined)
      throw new InvalidTraceError(`line ${line}: node ${record.node} is not in the header`)
    const { node } = record
    const take = (): Step<Plain> => rerun(protocol, record, states.get(node) ?? null, line)
    if (record.type === 'step' && record.failed !== undefined) {
      steps += 1
      const differs = differenceOfFailure(record.failed.error, take)
      if (differs !== null) return { steps, difference: { line, node, ...differs }, failure }
      failure = { line, node, ...record.failed }
      continue
    }
    const next = attempt(take, line)
    steps += 1
    if (canonical(next.effects) !== canonical(record.effects)) {
      const difference = { line, node: record.node, recorded: record.effects, replayed: next.effects }
      return { steps, difference, failure }
    }
    if (record.type === 'start' || record.takenBack !== true) states.set(record.node, next.state)
  }
  return { steps, difference: null, failure }
}

/** Repeats a step that failed in the recording. Null if it fails with the same error. */
export function differenceOfFailure(
  error: string,
  take: () => Step<Plain>,
): Pick<ReplayDifference, 'recorded' | 'replayed' | 'errors'> | null {
  try {
    const { effects } = take()
    return { recorded: [], replayed: effects, errors: { recorded: error, replayed: null } }
  } catch (thrown) {
    if (thrown instanceof InvalidTraceError) throw thrown
    const { message } = thrown as Error
    if (message === error) return null
    return { recorded: [], replayed: [], errors: { recorded: error, replayed: message } }
  }
}

/** A trace that the protocol did not write can contain anything. Errors name its line. */
function attempt<T>(run: () => T, line: number): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof InvalidTraceError) throw error
    throw new InvalidTraceError(`line ${line}: the code cannot take this step: ${(error as Error).message}`)
  }
}

function rerun(
  protocol: Protocol,
  record: TraceRecord & { type: 'start' | 'step' },
  state: Plain,
  line: number,
): Step<Plain> {
  if (record.type === 'step') {
    if (state === null)
      throw new InvalidTraceError(`line ${line}: node ${record.node} steps before it has started`)
    return protocol.step(state, record.input, record.now)
  }
  if (record.settledOn === null) return protocol.start(record.stable, record.now)
  if (protocol.settled === undefined) {
    throw new InvalidTraceError(`line ${line}: this protocol cannot begin settled`)
  }
  return protocol.settled(record.settledOn, record.now)
}
