/**
 * The states of a node over a run. A trace holds inputs and effects, not states; the same code takes the same steps
 * again. It is done once for each node that a reader looks at.
 */
import { type NodeId, type Plain, type Protocol } from '../../../../src/core/index.ts'
import type { TraceRecord } from '../../../../src/workbench/trace/index.ts'
import { crashOf } from './draw/lanes.ts'
import type { RecordedRun } from './recorded-run.ts'

export type NodeStep = {
  /** The number of the record. */
  readonly moment: number
  /** Null: the node is down. */
  readonly before: Plain
  readonly after: Plain
  readonly stable: Plain
}

type OwnRecord = TraceRecord & { readonly type: 'start' | 'step' | 'resume' }

/** Everything that changed the node's state, in order. */
export function nodeSteps(run: RecordedRun, node: NodeId): readonly NodeStep[] {
  const { definition, header, scenario, records } = run
  const options = header.nodeOptions?.[String(node)] ?? scenario?.options ?? header.options
  const protocol = definition.create({ self: node, nodes: header.nodes }, options)
  const steps: NodeStep[] = []
  let state: Plain = null
  let stable: Plain = null
  for (const [moment, record] of records.entries()) {
    const before: Plain = state
    if (record.type === 'tick') {
      if (state !== null) state = protocol.shift(state, -record.by)
    } else if (record.type === 'world') {
      if (crashOf(record.event) !== node) continue
      state = null
    } else if (record.type !== 'lost' && record.node === node) {
      const taken = take(protocol, record, state)
      stable = stableAfter(record, stable)
      state = isEnd(record) ? null : taken
    } else continue
    steps.push({ moment, before, after: state, stable })
  }
  return steps
}

function take(protocol: Protocol, record: OwnRecord, state: Plain): Plain {
  if (record.type === 'resume') return record.state
  if (record.type === 'start') {
    const { settledOn, stable, now } = record
    return settledOn === null || protocol.settled === undefined
      ? protocol.start(stable, now).state
      : protocol.settled(settledOn, now).state
  }
  if (state === null || record.takenBack === true || record.failed !== undefined) return state
  return protocol.step(state, record.input, record.now).state
}

function stableAfter(record: OwnRecord, before: Plain): Plain {
  if (record.type === 'resume') return before
  if (record.type === 'step' && (record.takenBack === true || record.failed !== undefined)) return before
  const { effects, cutAfter } = record
  const done = effects.slice(0, cutAfter ?? effects.length)
  const last = done.findLast((effect) => effect.type === 'persist')
  if (last !== undefined && last.type === 'persist') return last.stable
  return record.type === 'start' ? record.stable : before
}

function isEnd(record: OwnRecord): boolean {
  if (record.type === 'resume') return false
  return record.cutAfter !== null || (record.type === 'step' && record.failed?.isFatal === true)
}
