/** What a person does to the world, as events of a scenario, and the sentence for each. */
import type { NodeId } from '../../../../src/core/index.ts'
import type { ScenarioEvent, Span } from '../../../../src/workbench/scenario/index.ts'
import { listText } from './text.ts'
import type { Intervention } from './types.ts'

type Pairs = readonly (readonly [NodeId, NodeId])[]

export function atInstant(event: Intervention, atMs: number): ScenarioEvent {
  return { atMs, ...event }
}

/** A few words for a branch or a list: `crash 2`, `drop message 17`. */
export function interventionText(event: Intervention | ScenarioEvent): string {
  if ('crash' in event) {
    return event.afterEffects === undefined
      ? `crash ${event.crash}`
      : `crash ${event.crash} after ${event.afterEffects} effects`
  }
  if ('recover' in event) return `restart ${event.recover}`
  if ('partition' in event) return `partition ${event.partition.map((block) => block.join(' ')).join(' | ')}`
  if ('heal' in event) return event.heal === 'all' ? 'heal all links' : `heal ${linksText(event.heal, '-')}`
  if ('cut' in event) return `cut ${linksText(event.cut, '-')}`
  if ('cutOneWay' in event) return `cut ${linksText(event.cutOneWay, '→')}`
  if ('links' in event) return event.links === 'full' ? 'connect all' : `links ${linksText(event.links, '-')}`
  if ('loss' in event) return `lose ${percent(event.loss)} of messages`
  if ('duplicate' in event) return `duplicate ${percent(event.duplicate)} of messages`
  if ('slow' in event) return `slow ${linksText(event.slow, '-')} to ${spanText(event.delayMs)}`
  if ('late' in event) return `${percent(event.late)} of register operations are late`
  if ('hang' in event) return `the store hangs for ${event.forMs} ms`
  if ('pause' in event) return `pause ${event.pause} for ${event.forMs} ms`
  if ('suspend' in event) return `suspend ${event.suspend} for ${event.forMs} ms`
  if ('rules' in event) return `${event.rules.length} network rules`
  if ('unwritable' in event) return `storage of ${event.unwritable} fails`
  if ('writable' in event) return `storage of ${event.writable} works`
  if ('command' in event) return commandText(event.command)
  if ('drift' in event) return `clock of ${event.drift} runs at ${formatSigned(event.ppm)} ppm`
  if ('skew' in event) return `clock of ${event.skew} jumps by ${formatSigned(event.byMs)} ms`
  if ('drop' in event) return `drop message ${event.drop}`
  if ('delay' in event) return `delay message ${event.delay} by ${event.forMs} ms`
  if ('copy' in event) return `copy message ${event.copy}`
  return loadText(event)
}

function loadText({
  load,
  lateMs = 0,
  delayMs = 0,
}: Extract<Intervention, { readonly load: unknown }>): string {
  const who = load === 'all' ? 'all nodes' : listText(load)
  const parts = [
    ...(lateMs === 0 ? [] : [`late by ${spanText(lateMs)}`]),
    ...(delayMs === 0 ? [] : [`messages longer by ${spanText(delayMs)}`]),
  ]
  return parts.length === 0 ? `no load on ${who}` : `load on ${who}: ${parts.join(', ')}`
}

function linksText(pairs: Pairs, arrow: string): string {
  return listText(pairs.map(([a, b]) => `${a}${arrow}${b}`))
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`
}

function spanText(span: Span): string {
  return typeof span === 'number' ? `${span} ms` : `${span[0]} to ${span[1]} ms`
}

function commandText(command: { readonly node: NodeId; readonly do: string }): string {
  const { node, do: name, ...rest } = command
  const words = Object.entries(rest).map(([field, value]) => `${field} ${JSON.stringify(value)}`)
  return [`tell ${node} to ${name}`, ...words].join(' ')
}

function formatSigned(value: number): string {
  return value > 0 ? `+${value}` : String(value)
}
