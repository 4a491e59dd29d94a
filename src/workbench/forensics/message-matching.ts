/**
 * Matches received messages to sent ones by sender, receiver and content, if that content was sent only once. These
 * matches order the events of processes whose clocks cannot be compared.
 */
import { canonical, type Micros, type NodeId } from '../../core/index.ts'
import type { Placed, Run } from './runs.ts'

export type MessageRecord = {
  readonly number: number
  /** Runs by their index in the list; times on the clock of each run. */
  readonly from: number
  readonly sent: Micros
  readonly kind: string
  readonly receipts: { readonly by: number; readonly at: Micros; readonly step: Placed }[]
}

export type MatchedMessages = {
  readonly records: readonly MessageRecord[]
  /** The numbers of the messages that a step sent, in order, and the number of the message that it received. */
  sentBy(step: Placed): readonly number[]
  receivedBy(step: Placed): number | null
}

export function matchMessages(runs: readonly Run[]): MatchedMessages {
  const records: MessageRecord[] = []
  const sent = new Map<Placed, number[]>()
  const received = new Map<Placed, number>()
  const known = new Map<string, MessageRecord | 'sent again'>()
  const keyOf = (from: NodeId, to: NodeId, body: Parameters<typeof canonical>[0]): string =>
    `${JSON.stringify([from, to])}${canonical(body)}`

  for (const [place, { node, steps }] of runs.entries()) {
    for (const step of steps) {
      const numbers: number[] = []
      for (const effect of carriedOut(step)) {
        if (effect.type !== 'send') continue
        const { now } = step.record
        const message: MessageRecord = {
          number: records.length,
          from: place,
          sent: now,
          kind: effect.body.kind,
          receipts: [],
        }
        records.push(message)
        numbers.push(message.number)
        const key = keyOf(node, effect.to, effect.body)
        known.set(key, known.has(key) ? 'sent again' : message)
      }
      if (numbers.length > 0) sent.set(step, numbers)
    }
  }
  for (const [place, { node, steps }] of runs.entries()) {
    for (const step of steps) {
      const { record } = step
      if (record.type !== 'step' || record.input.type !== 'message') continue
      const message = known.get(keyOf(record.input.from, node, record.input.body))
      if (message === undefined || message === 'sent again') continue
      message.receipts.push({ by: place, at: record.now, step })
      received.set(step, message.number)
    }
  }
  return { records, sentBy: (step) => sent.get(step) ?? [], receivedBy: (step) => received.get(step) ?? null }
}

/** The effects of a step that were carried out. */
export function carriedOut({ record }: Placed) {
  if (
    record.type === 'resume' ||
    (record.type === 'step' && (record.takenBack === true || record.failed !== undefined))
  )
    return []
  return record.cutAfter === null ? record.effects : record.effects.slice(0, record.cutAfter)
}
