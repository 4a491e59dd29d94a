/**
 * Which message that was received is which that was sent: known by its sender, receiver and content, where that was
 * sent only once. Between two processes whose clocks say nothing of each other this is what orders events.
 */
import { canonical, type Micros, type NodeId } from '../../core/index.ts'
import type { Placed, Run } from './runs.ts'

export type Letter = {
  readonly number: number
  /** Places in the list of runs; times on their own clocks. */
  readonly from: number
  readonly sent: Micros
  readonly kind: string
  readonly receipts: { readonly by: number; readonly at: Micros; readonly step: Placed }[]
}

export type Post = {
  readonly letters: readonly Letter[]
  /** The numbers of the messages that a step sent, in order, and of the one that it received. */
  sentBy(step: Placed): readonly number[]
  receivedBy(step: Placed): number | null
}

export function postOf(runs: readonly Run[]): Post {
  const letters: Letter[] = []
  const sent = new Map<Placed, number[]>()
  const received = new Map<Placed, number>()
  const known = new Map<string, Letter | 'sent again'>()
  const keyOf = (from: NodeId, to: NodeId, body: Parameters<typeof canonical>[0]): string =>
    `${JSON.stringify([from, to])}${canonical(body)}`

  for (const [place, { node, steps }] of runs.entries()) {
    for (const step of steps) {
      const numbers: number[] = []
      for (const effect of carriedOut(step)) {
        if (effect.type !== 'send') continue
        const { now } = step.record
        const letter: Letter = {
          number: letters.length,
          from: place,
          sent: now,
          kind: effect.body.kind,
          receipts: [],
        }
        letters.push(letter)
        numbers.push(letter.number)
        const key = keyOf(node, effect.to, effect.body)
        known.set(key, known.has(key) ? 'sent again' : letter)
      }
      if (numbers.length > 0) sent.set(step, numbers)
    }
  }
  for (const [place, { node, steps }] of runs.entries()) {
    for (const step of steps) {
      const { record } = step
      if (record.type !== 'step' || record.input.type !== 'message') continue
      const letter = known.get(keyOf(record.input.from, node, record.input.body))
      if (letter === undefined || letter === 'sent again') continue
      letter.receipts.push({ by: place, at: record.now, step })
      received.set(step, letter.number)
    }
  }
  return { letters, sentBy: (step) => sent.get(step) ?? [], receivedBy: (step) => received.get(step) ?? null }
}

/** The effects of a step that really happened. */
export function carriedOut({ record }: Placed) {
  if (
    record.type === 'resume' ||
    (record.type === 'step' && (record.takenBack === true || record.failed !== undefined))
  )
    return []
  return record.cutAfter === null ? record.effects : record.effects.slice(0, record.cutAfter)
}
