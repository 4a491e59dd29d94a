/** A trace, indexed for questions about what led to what. */
import type { Effect, Message, Micros, NodeId } from '../../../core/index.ts'
import type { Trace } from '../ndjson.ts'
import type { LossReason, TraceRecord } from '../records.ts'
import { checkSteps } from './shape.ts'

export type StepRecord = TraceRecord & { readonly type: 'start' | 'step' }

export type Sending = {
  readonly message: number
  readonly from: NodeId
  readonly to: NodeId
  readonly body: Message
  /** The record of the step that sent it. */
  readonly record: number
}

/** The arrival or the loss of a message. */
export type Ending = { readonly record: number; readonly at: Micros; readonly lost: LossReason | null }

/** A time in which a node did nothing, because of a record. */
export type Absence = {
  readonly node: NodeId
  readonly record: number
  readonly from: Micros
  readonly to: Micros
  readonly kind: 'down' | 'paused' | 'suspended'
}

export class Past {
  readonly records: readonly TraceRecord[]
  readonly nodes: readonly NodeId[]
  /** Whether the trace has time; in an untimed world a step counts as a millisecond. */
  readonly isTimed: boolean
  readonly sendings: readonly Sending[]
  readonly absences: readonly Absence[]
  readonly #sendingOf: ReadonlyMap<number, Sending>
  readonly #endings = new Map<number, Ending[]>()

  constructor({ header, records }: Trace) {
    checkSteps(records)
    this.records = records
    this.nodes = header.nodes
    this.isTimed = records.some((record) => 'now' in record && record.now !== 0)
    this.sendings = records.flatMap((record, index) => (isStep(record) ? sendingsOf(record, index) : []))
    this.#sendingOf = new Map(this.sendings.map((sending) => [sending.message, sending]))
    for (const [record, { type, at, ...rest }] of records.entries()) {
      if (type === 'lost' && 'why' in rest) this.#end(rest.message, { record, at, lost: rest.why })
      if (type === 'step' && 'input' in rest && rest.message !== null)
        this.#end(rest.message, { record, at, lost: null })
    }
    this.absences = absencesOf(records)
  }

  sendingOf(message: number): Sending | null {
    return this.#sendingOf.get(message) ?? null
  }

  /** Several, if the message was duplicated; none while it is in flight. */
  endingsOf(message: number): readonly Ending[] {
    return this.#endings.get(message) ?? []
  }

  /** The last step before a record that passes a test. */
  lastStep(before: number, test: (record: StepRecord) => boolean): number | null {
    return this.last(before, (record) => isStep(record) && test(record))
  }

  /** The last record before another that passes a test. */
  last(before: number, test: (record: TraceRecord) => boolean): number | null {
    for (let index = before - 1; index >= 0; index--) {
      const record = this.records[index]
      if (record !== undefined && test(record)) return index
    }
    return null
  }

  #end(message: number, ending: Ending): void {
    const known = this.#endings.get(message)
    if (known === undefined) this.#endings.set(message, [ending])
    else known.push(ending)
  }
}

export function isStep(record: TraceRecord | undefined): record is StepRecord {
  return record?.type === 'start' || record?.type === 'step'
}

/** The effects that were carried out. */
export function carriedOut(record: StepRecord): readonly Effect[] {
  if (record.type === 'step' && (record.takenBack === true || record.failed !== undefined)) return []
  return record.cutAfter === null ? record.effects : record.effects.slice(0, record.cutAfter)
}

function sendingsOf(record: StepRecord, index: number): readonly Sending[] {
  const sends = carriedOut(record).filter((effect) => effect.type === 'send')
  return sends.flatMap(({ to, body }, place) => {
    const message = record.sent[place]
    return message === undefined ? [] : [{ message, from: record.node, to, body, record: index }]
  })
}

function absencesOf(records: readonly TraceRecord[]): readonly Absence[] {
  const absences: Absence[] = []
  const down = new Map<NodeId, Absence>()
  const crash = (node: NodeId, record: number, from: Micros): void => {
    if (!down.has(node)) down.set(node, { node, record, from, to: Number.POSITIVE_INFINITY, kind: 'down' })
  }
  for (const [index, record] of records.entries()) {
    if (record.type === 'world') {
      const { at, event } = record
      const crashed = event['do'] === 'crash' ? event['node'] : event['crash']
      if (isNode(crashed) && event['afterEffects'] === undefined) crash(crashed, index, at)
      const stall = stallOf(event)
      if (stall !== null) absences.push({ ...stall, record: index, from: at, to: at + stall.length })
    } else if (isStep(record)) {
      const before = down.get(record.node)
      if (record.type === 'start' && before !== undefined) {
        absences.push({ ...before, to: record.at })
        down.delete(record.node)
      }
      const isFatal = record.type === 'step' && record.failed?.isFatal === true
      if (record.cutAfter !== null || isFatal) crash(record.node, index, record.at)
    }
  }
  return [...absences, ...down.values()]
}

function stallOf(
  event: (TraceRecord & { readonly type: 'world' })['event'],
): { readonly node: NodeId; readonly length: Micros; readonly kind: 'paused' | 'suspended' } | null {
  const { pause, suspend, forMs } = event
  const length = typeof forMs === 'number' ? Math.round(forMs * 1000) : 0
  if (isNode(pause)) return { node: pause, length, kind: 'paused' }
  return isNode(suspend) ? { node: suspend, length, kind: 'suspended' } : null
}

export function isNode(value: unknown): value is NodeId {
  return typeof value === 'number' || typeof value === 'string'
}
