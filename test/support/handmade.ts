/** Handmade recordings of real processes: one run per node, in a few lines. Times are in microseconds. */
import type { Effect, Input, Message, NodeId, Plain, PlainObject } from '../../src/core/index.ts'
import type { Run, StepRecord, TraceFile } from '../../src/workbench/forensics/index.ts'
import type { Recording, TraceHeader } from '../../src/workbench/trace/index.ts'

export const sends = (to: NodeId, body: Message): Effect => ({ type: 'send', to, body })
export const hears = (from: NodeId, body: Message): Input => ({
  type: 'message',
  from,
  body,
  receipt: null,
})
export const fires = (name: string): Input => ({ type: 'timer', name })

export function startAt(now: number, effects: readonly Effect[] = [], stable: Plain = null): StepRecord {
  const common = { at: now, node: 'a', now, effects, sent: [], cutAfter: null, view: null }
  return { type: 'start', ...common, stable, settledOn: null }
}

export function stepAt(
  now: number,
  input: Input,
  effects: readonly Effect[] = [],
  more: Partial<StepRecord & { readonly type: 'step' }> = {},
): StepRecord {
  const common = { at: now, node: 'a', now, effects, sent: [], cutAfter: null, view: null }
  return { type: 'step', ...common, input, message: null, ...more }
}

export function resumeAt(now: number, state: Plain): StepRecord {
  return { type: 'resume', at: now, node: 'a', now, state }
}

export type Handmade = Partial<Omit<Recording, 'node'>> & {
  readonly nodes?: readonly NodeId[]
  readonly options?: PlainObject
  readonly protocol?: string
}

/** A trace file of one node. Its recording is named after it, on a clock of its own. */
export function fileOf(node: NodeId, records: readonly StepRecord[], made: Handmade = {}): TraceFile {
  const { nodes = ['a', 'b', 'c'], options = {}, protocol = 'test', ...own } = made
  const recording: Recording = {
    group: 'g',
    node,
    run: `${node}-0`,
    skipped: 0,
    clock: `of ${node}`,
    takenAt: records.at(-1)?.now ?? 0,
    wallAhead: 0,
    ...own,
  }
  const header: TraceHeader = { trace: 1, protocol, nodes, options, seed: 0, recording }
  return {
    file: `${recording.run}.ndjson`,
    trace: { header, records: records.map((record) => ({ ...record, node })) },
  }
}

export function runOf(node: NodeId, records: readonly StepRecord[], made: Handmade = {}): Run {
  const { file, trace } = fileOf(node, records, made)
  const { recording } = trace.header
  if (recording === undefined) throw new Error('a handmade trace has a recording')
  return {
    node,
    header: trace.header,
    recording,
    steps: trace.records.map((record, index) => ({
      record: record as StepRecord,
      file,
      line: index + 2,
    })),
    skipped: recording.skipped,
  }
}
