/**
 * What a diagram shows of a trace, without geometry: the state of each node over time, the messages and their
 * fate, and the events at nodes and in the network.
 */
import type { Effect, Message, Micros, NodeId, View } from '../../../core/index.ts'
import { idleness } from '../is-leading.ts'
import { InvalidTraceError, type Trace } from '../ndjson.ts'
import type { LossReason, TraceRecord } from '../records.ts'
import { commandText, registerText } from '../text.ts'
import { type Fault, faultOf } from './faults.ts'

/**
 * A message in flight. `endedAt`: when it arrived or was lost; null if it is in flight at the end of the
 * trace.
 */
export type Flight = {
  readonly from: NodeId
  readonly to: NodeId
  /** What the picture shows of it: the messages of the protocol that it carries, or the message of a layer itself. */
  readonly bodies: readonly Message[]
  /** The kind it counts as: that of the first. */
  readonly kind: string
  readonly sentAt: Micros
  readonly endedAt: Micros | null
  /** Why it was lost; null if it was not. */
  readonly lost: LossReason | null
}

export type LaneState = 'leads' | 'follows' | 'leaderless' | 'down'

/** The state of a node over a period of time. */
export type LanePeriod = {
  readonly node: NodeId
  readonly from: Micros
  readonly until: Micros
  readonly state: LaneState
  readonly text: string
}

/** A period in which a node was stalled. */
export type Stall = {
  readonly node: NodeId
  readonly from: Micros
  readonly until: Micros
  readonly word: string
}

/** An event at a node. */
export type Mark = {
  readonly node: NodeId
  readonly at: Micros
  readonly type: 'crash' | 'restart' | 'timer' | 'command' | 'link' | 'register'
  readonly text: string
}

/** An event in the network. */
export type Notice = { readonly at: Micros; readonly text: string }

export type DiagramHistory = {
  readonly nodes: readonly NodeId[]
  /** False for an untimed world, in which one millisecond is one step. */
  readonly timed: boolean
  readonly begin: Micros
  readonly end: Micros
  readonly flights: readonly Flight[]
  readonly periods: readonly LanePeriod[]
  readonly stalls: readonly Stall[]
  readonly marks: readonly Mark[]
  readonly notices: readonly Notice[]
}

export type Selection = {
  /** The protocol's own messages. Those of the layers below are omitted. */
  readonly kinds: readonly string[]
  /** The messages of the protocol in a message; by default itself. */
  readonly carried?: (body: Message) => readonly Message[]
  /** Omit nothing. */
  readonly all: boolean
}

type StartOrStep = TraceRecord & { readonly type: 'start' | 'step' }
type Send = Effect & { readonly type: 'send' }
type Open<T> = { -readonly [K in keyof T]: T[K] }

export function diagramHistory(trace: Trace, selection: Selection): DiagramHistory {
  const { records } = trace
  const history = new HistoryBuilder(trace, selection)
  for (const [index, record] of records.entries()) {
    if (record.type === 'start' || record.type === 'step') history.takeStep(record, index + 2)
    else if (record.type === 'world') history.takeFault(faultOf(record.event), record.at)
    else if (record.type === 'tick') history.takeTick(record)
  }
  return history.build(records.some((record) => 'now' in record && record.now !== 0))
}

class HistoryBuilder {
  readonly #nodes: readonly NodeId[]
  readonly #selection: Selection
  readonly #ends: ReadonlyMap<number, readonly End[]>
  readonly #begin: Micros
  readonly #end: Micros
  readonly #flights: Flight[] = []
  readonly #periods: Open<LanePeriod>[] = []
  readonly #stalls: Open<Stall>[] = []
  readonly #marks: Mark[] = []
  readonly #notices: Notice[] = []
  /** The state that each node is in. */
  readonly #current = new Map<NodeId, Open<LanePeriod>>()
  readonly #everUp = new Set<NodeId>()

  constructor({ header, records }: Trace, selection: Selection) {
    this.#nodes = header.nodes
    this.#selection = selection
    this.#ends = endsOf(records)
    this.#begin = records.reduce((least, { at }) => Math.min(least, at), records[0]?.at ?? 0)
    this.#end = records.reduce((most, { at }) => Math.max(most, at), this.#begin)
  }

  /** `line`: the record's line in the trace file, for errors. */
  takeStep(record: StartOrStep, line: number): void {
    const { node, at, effects, cutAfter } = record
    if (!this.#nodes.includes(node))
      throw new InvalidTraceError(`line ${line}: node ${node} is not in the header`)
    const hasShownSends = this.#addFlights(record, line)
    if (record.type === 'step') {
      const isTelling = hasShownSends || record.view !== null || cutAfter !== null
      const mark = markOf(record, this.#selection.all || isTelling)
      if (mark !== null) this.#marks.push(mark)
    } else {
      if (this.#everUp.has(node)) this.#marks.push({ node, at, type: 'restart', text: 'restart' })
      this.#everUp.add(node)
      if (!this.#isUp(node)) this.#enterState(node, at, { state: 'leaderless', text: '' })
    }
    if (cutAfter !== null) this.#crash(node, at, `crash after ${cutAfter} of ${effects.length} effects`)
    else if (record.view !== null) this.#enterState(node, at, laneStateOf(record.view))
  }

  takeFault(fault: Fault | null, at: Micros): void {
    if (fault === null) return
    if (fault.type === 'notice') this.#notices.push({ at, text: fault.text })
    else if (!this.#nodes.includes(fault.node)) return
    else if (fault.type === 'crash') this.#crash(fault.node, at, 'crash')
    else if (this.#isUp(fault.node)) {
      const until = Math.min(this.#end, at + fault.length)
      this.#stalls.push({ node: fault.node, from: at, until, word: fault.word })
    }
  }

  takeTick({ at, views }: TraceRecord & { readonly type: 'tick' }): void {
    this.#notices.push({ at, text: 'tick' })
    for (const { node, view } of views) {
      if (this.#nodes.includes(node)) this.#enterState(node, at, laneStateOf(view))
    }
  }

  build(timed: boolean): DiagramHistory {
    const end = this.#end
    return {
      nodes: this.#nodes,
      timed,
      begin: this.#begin,
      end,
      flights: this.#flights,
      // A state of zero length was never visible.
      periods: this.#periods.filter(({ from, until }) => until > from || from === end),
      stalls: this.#stalls,
      marks: this.#marks,
      notices: this.#notices,
    }
  }

  /** Adds the messages that a step sends. Returns whether the diagram shows any of them. */
  #addFlights(record: StartOrStep, line: number): boolean {
    const { node, at, effects, cutAfter } = record
    const sends = (cutAfter === null ? effects : effects.slice(0, cutAfter)).filter(isSend)
    let hasShown = false
    for (const [index, { to, body }] of sends.entries()) {
      if (!this.#nodes.includes(to) || typeof body?.kind !== 'string') {
        throw new InvalidTraceError(
          `line ${line}: a message goes to a node that is not in the header, or is none`,
        )
      }
      const bodies = this.#shownOf(body)
      const [first] = bodies
      if (first === undefined) continue
      hasShown = true
      const id = record.sent[index]
      if (id === undefined) continue
      const ends = this.#ends.get(id) ?? [{ endedAt: null, lost: null }]
      for (const end of ends)
        this.#flights.push({ from: node, to, bodies, kind: first.kind, sentAt: at, ...end })
    }
    return hasShown
  }

  /** What the picture shows of a message on the wire: the protocol's own messages come first. */
  #shownOf(body: Message): readonly Message[] {
    const { kinds, carried, all } = this.#selection
    const inside = carried === undefined ? [body] : carried(body)
    const own = inside.filter(({ kind }) => kinds.includes(kind))
    if (!all) return own
    const rest = inside.filter(({ kind }) => !kinds.includes(kind))
    return inside.length === 0 ? [body] : [...own, ...rest]
  }

  #isUp(node: NodeId): boolean {
    return (this.#current.get(node)?.state ?? 'down') !== 'down'
  }

  #crash(node: NodeId, at: Micros, text: string): void {
    if (!this.#isUp(node)) return
    this.#enterState(node, at, { state: 'down', text: 'down' })
    for (const stall of this.#stalls) if (stall.node === node && stall.until > at) stall.until = at
    this.#marks.push({ node, at, type: 'crash', text })
  }

  #enterState(node: NodeId, at: Micros, how: { state: LaneState; text: string }): void {
    const before = this.#current.get(node)
    if (before?.state === how.state && before.text === how.text) return
    if (before !== undefined) before.until = at
    const period = { node, from: at, until: this.#end, ...how }
    this.#current.set(node, period)
    this.#periods.push(period)
  }
}

function isSend(effect: Effect): effect is Send {
  return effect.type === 'send'
}

type End = Pick<Flight, 'endedAt' | 'lost'>

/** The ends of each message, by its number. A duplicated message ends twice. */
function endsOf(records: readonly TraceRecord[]): ReadonlyMap<number, readonly End[]> {
  const ends = new Map<number, End[]>()
  const add = (id: number, end: End): void => {
    const known = ends.get(id)
    if (known === undefined) ends.set(id, [end])
    else known.push(end)
  }
  for (const record of records) {
    if (record.type === 'lost') add(record.message, { endedAt: record.at, lost: record.why })
    else if (record.type === 'step' && record.message !== null)
      add(record.message, { endedAt: record.at, lost: null })
  }
  return ends
}

/**
 * The event at the node. Null for a message, which its arrow shows, and for a timer without visible effect.
 */
function markOf(record: StartOrStep & { readonly type: 'step' }, telling: boolean): Mark | null {
  const { node, at, input } = record
  switch (input.type) {
    case 'message':
      return null
    case 'timer':
      return telling ? { node, at, type: 'timer', text: input.name } : null
    case 'command':
      return { node, at, type: 'command', text: commandText(input.command) }
    case 'link':
      return { node, at, type: 'link', text: `link to ${input.peer} ${input.up ? 'up' : 'down'}` }
    case 'register':
      // Reads are frequent, and most of them change nothing.
      return telling || input.call.op !== 'read'
        ? { node, at, type: 'register', text: registerText(input) }
        : null
    case 'suspended':
      return null
    default:
      return input satisfies never
  }
}

function laneStateOf({ role, leader, token, detail }: View): { state: LaneState; text: string } {
  const idle = role === 'leader' ? idleness(detail) : null
  if (idle !== null) return { state: 'leaderless', text: idle }
  if (role === 'leader') return { state: 'leads', text: token === null ? 'leads' : `leads, token ${token}` }
  if (leader !== null) return { state: 'follows', text: `follows ${leader}` }
  return { state: 'leaderless', text: role === 'candidate' ? 'no leader' : role }
}
