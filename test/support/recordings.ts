/**
 * Recordings of "real" processes made from simulated runs: each node's steps alone, on its own clock with its
 * own offset and drift. The world knows the true times, so that conclusions from the messages can be checked.
 */
import type { Definition, NodeId, Plain, PlainObject, Protocol } from '../../src/core/index.ts'
import { BlackBox, type LoopRecord } from '../../src/service/runtime/index.ts'
import { type TraceFile } from '../../src/workbench/forensics/index.ts'
import { parseScenario, runScenario } from '../../src/workbench/sim/index.ts'
import { readTrace, type TraceRecord } from '../../src/workbench/trace/index.ts'

type StartOrStep = TraceRecord & { readonly type: 'start' | 'step' }
export type Made = {
  readonly files: readonly TraceFile[]
  readonly truth: ReadonlyMap<NodeId, readonly StartOrStep[]>
}

/** The black box of every run of every node; the last `most` steps of each are kept. */
export async function recordings(
  scenario: PlainObject,
  definition: Definition,
  most = 1_000_000,
): Promise<Made> {
  const parsed = parseScenario(scenario, { names: [definition.name], find: () => definition })
  const records: TraceRecord[] = []
  runScenario(definition, parsed, { record: (record) => records.push(record) })
  const allSteps = records.filter(
    (record): record is StartOrStep => record.type === 'start' || record.type === 'step',
  )
  const truth = new Map(parsed.nodes.map((node) => [node, allSteps.filter((step) => step.node === node)]))
  const files: TraceFile[] = []
  for (const [node, steps] of truth) {
    const starts = steps.flatMap(({ type }, index) => (type === 'start' ? [index] : []))
    for (const [place, first] of starts.entries()) {
      const run = steps.slice(first, starts[place + 1] ?? steps.length)
      const { protocol, nodes, options } = parsed
      const box = boxed(definition.create({ self: node, nodes }, options), node, run, most)
      const takenAt = run.at(-1)?.now ?? 0
      const wallAhead = (run.at(-1)?.at ?? 0) - takenAt
      const recording = { group: 'g', node, run: `${node}-${place}`, clock: `of ${node}`, takenAt, wallAhead }
      let text = ''
      // oxlint-disable-next-line no-await-in-loop -- pieces of one text
      for await (const piece of box.text((skipped) => {
        const header = { protocol, nodes, options, seed: 0, recording: { ...recording, skipped } }
        return { trace: 1, ...header }
      }))
        text += piece
      files.push({ file: `${node}-${place}.ndjson`, trace: readTrace(text) })
    }
  }
  return { files, truth }
}

function boxed(protocol: Protocol, self: NodeId, run: readonly StartOrStep[], most: number): BlackBox {
  const box = new BlackBox(self, protocol, most)
  let state: Plain = null
  for (const turn of run) {
    const { now, cutAfter } = turn
    const [input, stable] = turn.type === 'start' ? [null, turn.stable] : [turn.input, null]
    const record: LoopRecord = { now, input, stable, outcome: cutAfter ?? 'done' }
    box.record(record, state)
    state = (input === null ? protocol.start(stable, now) : protocol.step(state, input, now)).state
  }
  return box
}
