/** Whether the steps of a trace have the fields that causes are read from. A trace that no world wrote may lack them. */
import type { Effect, Input } from '../../../core/index.ts'
import { InvalidTraceError } from '../ndjson.ts'
import type { TraceRecord } from '../records.ts'

/** The header is line 1. */
const FIRST_LINE = 2

export function checkSteps(records: readonly TraceRecord[]): void {
  for (const [index, record] of records.entries()) {
    if (record.type !== 'start' && record.type !== 'step') continue
    const isWhole = record.effects.every(isEffect) && (record.type === 'start' || isInput(record.input))
    if (!isWhole) throw new InvalidTraceError(`line ${index + FIRST_LINE}: a field of the step is missing`)
  }
}

function isEffect(effect: Effect): boolean {
  if (effect.type === 'send') return isMessage(effect.body) && effect.to !== undefined
  if (effect.type === 'setTimer' || effect.type === 'stopTimer') return typeof effect.name === 'string'
  return effect.type !== 'register' || typeof effect.call?.op === 'string'
}

function isInput(input: Input): boolean {
  switch (input.type) {
    case 'message':
      return isMessage(input.body) && input.from !== undefined
    case 'timer':
      return typeof input.name === 'string'
    case 'link':
      return input.peer !== undefined
    case 'register':
      return typeof input.call?.op === 'string'
    case 'command':
      return typeof input.command?.do === 'string'
    case 'suspended':
      return typeof input.by === 'number'
    default:
      // The type says that there is no other input; the file may say otherwise.
      return (input satisfies never) === undefined
  }
}

function isMessage(body: { readonly kind?: unknown } | undefined | null): boolean {
  return typeof body?.kind === 'string'
}
