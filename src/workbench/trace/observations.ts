/** The observations of a recorded step: nodes that go up and down, and outputs. Views are omitted. */
import type { Effect, Micros, NodeId } from '../../core/index.ts'
import type { Observation } from './observation.ts'
import type { TraceRecord } from './records.ts'

type StartOrStep = TraceRecord & { readonly type: 'start' | 'step' }

export function observationsOf(record: TraceRecord): readonly Observation[] {
  switch (record.type) {
    case 'start':
      return [{ type: 'up', at: record.at, node: record.node }, ...observationsOfStep(record)]
    case 'step':
      if (record.failed?.isFatal === true) return [{ type: 'down', at: record.at, node: record.node }]
      return record.takenBack === true ? [] : observationsOfStep(record)
    case 'resume':
      return [{ type: 'up', at: record.at, node: record.node }]
    case 'world':
      return crashOf(record)
    case 'tick':
    case 'lost':
      return []
    default:
      return record satisfies never
  }
}

/** A crash in the middle of a step takes effect where the step was cut. The crash event itself is ignored. */
function observationsOfStep({ at, node, effects, cutAfter }: StartOrStep): readonly Observation[] {
  const seen = outputsOf(effects.slice(0, cutAfter ?? effects.length), at, node)
  return cutAfter === null ? seen : [...seen, { type: 'down', at, node }]
}

function outputsOf(effects: readonly Effect[], at: Micros, node: NodeId): readonly Observation[] {
  return effects.flatMap((effect) =>
    effect.type === 'output' ? [{ type: 'output' as const, at, node, event: effect.event }] : [],
  )
}

/** `{ crash: node }` in the timed world, `{ do: 'crash', node }` in a schedule. */
function crashOf({ at, event }: TraceRecord & { readonly type: 'world' }): readonly Observation[] {
  if ('afterEffects' in event) return []
  const node = event['do'] === 'crash' ? event['node'] : event['crash']
  return typeof node === 'number' || typeof node === 'string' ? [{ type: 'down', at, node }] : []
}
