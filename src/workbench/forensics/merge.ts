/**
 * Merges traces of several real processes into one, on one time scale and with numbered messages, like the trace of a
 * simulation.
 */
import type { Micros, View } from '../../core/index.ts'
import type { Trace } from '../trace/ndjson.ts'
import type { TraceHeader } from '../trace/records.ts'
import type { Scale } from './clocks.ts'
import type { MatchedMessages } from './message-matching.ts'
import type { Placed, Run } from './runs.ts'

export type Event = { readonly at: Micros; readonly run: number; readonly step: Placed }

/** All steps in the order of the time scale. No message is received before it is sent. */
export function eventsOf(runs: readonly Run[], scale: Scale, messages: MatchedMessages): readonly Event[] {
  const events = runs.flatMap(({ steps }, run) =>
    steps.map((step): Event => ({ at: step.record.now + (scale.ahead[run] ?? 0), run, step })),
  )
  // Within a microsecond the sender comes first.
  const isReceipt = ({ step }: Event): number => (messages.receivedBy(step) === null ? 0 : 1)
  return events.toSorted((a, b) => a.at - b.at || (a.run === b.run ? 0 : isReceipt(a) - isReceipt(b)))
}

/** The merged trace starts at time 0. */
export function mergedTrace(
  header: TraceHeader,
  events: readonly Event[],
  messages: MatchedMessages,
  views: ReadonlyMap<Placed, View>,
): Trace {
  const { recording: _, ...rest } = header
  const begin = events[0]?.at ?? 0
  const records = events.map(({ at, step }) => {
    const { record } = step
    if (record.type === 'resume') return { ...record, at: at - begin }
    const found = { at: at - begin, sent: messages.sentBy(step), view: views.get(step) ?? null }
    if (record.type === 'start') return { ...record, ...found }
    return { ...record, ...found, message: messages.receivedBy(step) }
  })
  return { header: rest, records }
}
