/**
 * A second leader: when a node begins to lead while another still believes that it leads, because the other's clock is
 * wrong or because it does nothing. Without such a reason two leaders are the business of the protocol, and of its
 * specifications.
 */
import type { Micros, NodeId, View } from '../../../core/index.ts'
import { isLeading } from '../is-leading.ts'
import type { TraceRecord } from '../records.ts'
import { isStep, type Past, type StepRecord } from './past.ts'
import { instantText, viewBefore } from './sentences.ts'

export type Rival = {
  /** The record with its view. */
  readonly record: number
  readonly text: string
  readonly because: string
  /** The event that lets it believe so. */
  readonly event: number
}

type ClockEvent = {
  readonly record: number
  readonly at: Micros
  readonly ppm: number | null
  readonly by: Micros
}

/** Null if the step does not begin to lead, or no other node believes that it leads for such a reason. */
export function rivalOf(past: Past, index: number): Rival | null {
  const record = past.records[index]
  if (!isStep(record) || record.view === null || record.cutAfter !== null) return null
  if (!isLeading(record.view.role, record.view.detail)) return null
  const before = viewBefore(past, record.node, index)
  if (before !== null && isLeading(before.role, before.detail) && before.token === record.view.token)
    return null
  for (const node of past.nodes) {
    const rival = node === record.node ? null : rivalAt(past, node, index, record.at)
    if (rival !== null) return rival
  }
  return null
}

function rivalAt(past: Past, node: NodeId, index: number, at: Micros): Rival | null {
  const seen = past.lastStep(index, (step) => step.node === node && step.view !== null)
  const last = past.lastStep(index, (step) => step.node === node)
  if (seen === null || last === null) return null
  const view = (past.records[seen] as StepRecord).view as View
  const absences = past.absences.filter((each) => each.node === node && each.record < index && each.to > at)
  if (!isLeading(view.role, view.detail) || absences.some(({ kind }) => kind === 'down')) return null
  const text = `Meanwhile node ${node} still believes that it leads${view.token === null ? '' : ` with token ${view.token}`}.`
  const events = clockEvents(past, node, index)
  const shown = clockOf(past, node, past.records[last] as StepRecord, events, at)
  // A node that wakes reads its clock before it acts.
  if (view.until !== null && shown >= view.until) return null
  const [stall] = absences
  if (stall !== undefined) {
    const because = `it is ${stall.kind} since ${instantText(past, stall.from)}, and notices nothing`
    return { record: seen, text, because, event: stall.record }
  }
  const changed = events.at(-1)
  if (changed === undefined || view.until === null) return null
  const since = instantText(past, changed.at)
  const left = Math.round(view.until - shown) / 1000
  const because = `its clock is wrong since ${since}: on it the lease lasts ${left} ms more`
  return { record: seen, text, because, event: changed.record }
}

function clockEvents(past: Past, node: NodeId, before: number): readonly ClockEvent[] {
  return past.records.slice(0, before).flatMap((record: TraceRecord, index): readonly ClockEvent[] => {
    if (record.type !== 'world') return []
    const { drift, skew, ppm, byMs } = record.event
    if (drift === node && typeof ppm === 'number') return [{ record: index, at: record.at, ppm, by: 0 }]
    if (skew !== node || typeof byMs !== 'number') return []
    return [{ record: index, at: record.at, ppm: null, by: Math.round(byMs * 1000) }]
  })
}

/** What a node's clock shows at an instant after a step, apart from the small drift that it began with. */
function clockOf(
  past: Past,
  node: NodeId,
  { at: from, now }: StepRecord,
  events: readonly ClockEvent[],
  to: Micros,
): Micros {
  const rateAt = (at: Micros): number =>
    1 + (events.findLast((event) => event.ppm !== null && event.at <= at)?.ppm ?? 0) / 1_000_000
  const stops = past.absences.filter((each) => each.node === node && each.kind === 'suspended')
  const changes = [...events.map(({ at }) => at), ...stops.flatMap((stop) => [stop.from, stop.to])]
  const marks = [from, ...changes.filter((at) => at > from && at < to).sort((a, b) => a - b), to]
  let shown = now
  for (const [place, begin] of marks.slice(0, -1).entries()) {
    const end = marks[place + 1] ?? to
    const stands = stops.some((stop) => stop.from <= begin && stop.to >= end)
    shown += stands ? 0 : (end - begin) * rateAt(begin)
  }
  return shown + events.filter(({ at }) => at > from && at <= to).reduce((sum, { by }) => sum + by, 0)
}
