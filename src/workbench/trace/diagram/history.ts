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
  readonly body: Message
  /** The kind it counts as. A layer's message may carry another. */
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
  /** The kind that a message counts as; by default its own. */
  readonly kindOf?: (body: Message) => string
  /** Omit nothing. */
  readonly all: boolean
}

type StartOrStep = TraceRecord & { readonly type: 'start' | 'step' }
type Send = Effect & { readonly type: 'send' }
type Open<T> = { -readonly [K in keyof T]: T[K] }

export function diagramHistory(
  { header, records }: Trace,
  { kinds, kindOf, all }: Selection,
): DiagramHistory {
  const { nodes } = header
  const countsAs = kindOf ?? (({ kind }: Message) => kind)
  const ends = endsOf(records)
  const begin = records.reduce((least, { at }) => Math.min(least, at), records[0]?.at ?? 0)
  const end = records.reduce((most, { at }) => Math.max(most, at), begin)
  const flights: Flight[] = []
  const periods: Open<LanePeriod>[] = []
  const stalls: Open<Stall>[] = []
  const marks: Mark[] = []
  const notices: Notice[] = []
  const current = new Map<NodeId, Open<LanePeriod>>()
  const everUp = new Set<NodeId>()

  function enterState(node: NodeId, at: Micros, how: { state: LaneState; text: string }): void {
    const before = current.get(node)
    if (before?.state === how.state && before.text === how.text) return
    if (before !== undefined) before.until = at
    const period = { node, from: at, until: end, ...how }
    current.set(node, period)
    periods.push(period)
  }

  const isUp = (node: NodeId): boolean => (current.get(node)?.state ?? 'down') !== 'down'

  function crash(node: NodeId, at: Micros, text: string): void {
    if (!isUp(node)) return
    enterState(node, at, { state: 'down', text: 'down' })
    for (const stall of stalls) if (stall.node === node && stall.until > at) stall.until = at
    marks.push({ node, at, type: 'crash', text })
  }

  function take(record: StartOrStep, line: number): void {
    const { node, at, effects, cutAfter } = record
    if (!nodes.includes(node)) throw new InvalidTraceError(`line ${line}: node ${node} is not in the header`)
    const sends = (cutAfter === null ? effects : effects.slice(0, cutAfter)).filter(isSend)
    const shown = sends.map((send) => {
      if (!nodes.includes(send.to) || typeof send.body?.kind !== 'string') {
        throw new InvalidTraceError(
          `line ${line}: a message goes to a node that is not in the header, or is none`,
        )
      }
      return all || kinds.includes(countsAs(send.body))
    })
    for (const [index, { to, body }] of sends.entries()) {
      const id = record.sent[index]
      if (shown[index] !== true || id === undefined) continue
      const ended = ends.get(id) ?? [{ endedAt: null, lost: null }]
      for (const each of ended)
        flights.push({ from: node, to, body, kind: countsAs(body), sentAt: at, ...each })
    }
    const telling = shown.includes(true) || record.view !== null || cutAfter !== null
    if (record.type === 'step') {
      const mark = markOf(record, all || telling)
      if (mark !== null) marks.push(mark)
    } else {
      if (everUp.has(node)) marks.push({ node, at, type: 'restart', text: 'restart' })
      everUp.add(node)
      if (!isUp(node)) enterState(node, at, { state: 'leaderless', text: '' })
    }
    if (cutAfter !== null) crash(node, at, `crash after ${cutAfter} of ${effects.length} effects`)
    else if (record.view !== null) enterState(node, at, laneStateOf(record.view))
  }

  function applyFault(fault: Fault, at: Micros): void {
    if (fault.type === 'notice') notices.push({ at, text: fault.text })
    else if (!nodes.includes(fault.node)) return
    else if (fault.type === 'crash') crash(fault.node, at, 'crash')
    else if (isUp(fault.node)) {
      const until = Math.min(end, at + fault.length)
      stalls.push({ node: fault.node, from: at, until, word: fault.word })
    }
  }

  for (const [index, record] of records.entries()) {
    if (record.type === 'start' || record.type === 'step') take(record, index + 2)
    else if (record.type === 'world') {
      const fault = faultOf(record.event)
      if (fault !== null) applyFault(fault, record.at)
    } else if (record.type === 'tick') {
      notices.push({ at: record.at, text: 'tick' })
      for (const { node, view } of record.views) {
        if (nodes.includes(node)) enterState(node, record.at, laneStateOf(view))
      }
    }
  }
  return {
    nodes,
    timed: records.some((record) => 'now' in record && record.now !== 0),
    begin,
    end,
    flights,
    // A state of zero length was never visible.
    periods: periods.filter(({ from, until }) => until > from || from === end),
    stalls,
    marks,
    notices,
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
