/** The messages of a run, each from its sending to its end. */
import type { Effect, Message, Micros } from '../../../../../src/core/index.ts'
import type { TraceRecord } from '../../../../../src/workbench/trace/index.ts'
import type { Flight } from '../picture.ts'
import type { RecordedRun } from '../recorded-run.ts'
import { describeMessage } from './message-text.ts'

type End = { readonly at: Micros; readonly moment: number; readonly lost: Flight['lost'] }
type Send = Effect & { readonly type: 'send' }

export function flightsOf({ definition, records }: RecordedRun): readonly Flight[] {
  const ends = endsOf(records)
  const flights: Flight[] = []
  for (const [moment, record] of records.entries()) {
    if (record.type !== 'start' && record.type !== 'step') continue
    const { node, at, effects, cutAfter, sent } = record
    if (sent.length === 0) continue
    const sends = effects.slice(0, cutAfter ?? effects.length).filter(isSend)
    for (const [index, { to, body }] of sends.entries()) {
      const message = sent[index]
      if (message === undefined) continue
      const { text, isRoutine } = describeMessage(definition, body)
      const flight = {
        message,
        from: node,
        to,
        kind: kindOf(body, definition.kindOf),
        text,
        isRoutine,
        sentAt: at,
        sentIn: moment,
      }
      for (const [copy, end] of (ends.get(message) ?? [null]).entries()) {
        flights.push({
          ...flight,
          copy,
          endedAt: end?.at ?? null,
          endedIn: end?.moment ?? null,
          lost: end?.lost ?? null,
        })
      }
    }
  }
  return flights
}

function isSend(effect: Effect): effect is Send {
  return effect.type === 'send'
}

/** A message of a damaged trace may be of no kind. */
function kindOf(body: Message, read: (body: Message) => string): string {
  try {
    return read(body)
  } catch {
    return body.kind
  }
}

/** By message: each arrival and each loss, in order. A duplicated message ends twice. */
function endsOf(records: readonly TraceRecord[]): ReadonlyMap<number, readonly End[]> {
  const ends = new Map<number, End[]>()
  const add = (message: number, end: End): void => {
    const known = ends.get(message)
    if (known === undefined) ends.set(message, [end])
    else known.push(end)
  }
  for (const [moment, record] of records.entries()) {
    if (record.type === 'lost') add(record.message, { at: record.at, moment, lost: record.why })
    else if (record.type === 'step' && record.message !== null)
      add(record.message, { at: record.at, moment, lost: null })
  }
  return ends
}
