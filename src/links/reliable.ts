/**
 * Reliable, ordered links: a layer over a network that may lose, duplicate, delay and reorder messages.
 *
 * Every message to a peer gets a number and is retransmitted until it is acknowledged. The receiver passes messages up in
 * the order of their numbers, each once. A node that restarts starts numbering again, so every message names the
 * incarnations of its sender and receiver: a message for an earlier incarnation is not mistaken for a new one. A sender
 * that learns of a new incarnation starts a new stream with the messages that were not acknowledged. Each incarnation
 * gets every message at most once; an incarnation that crashes may have processed it.
 */
import {
  type Effect,
  type Identity,
  type Input,
  type Layer,
  type LayerStep,
  type Message,
  type Micros,
  NOTHING,
  type NodeId,
  type Plain,
  persist,
  present,
  send,
  setTimer,
  stopTimer,
} from '../core/index.ts'

export type ReliableTiming = { readonly retransmitAfter: Micros }

type Data = {
  readonly kind: 'data'
  /** Incarnations of the sender, and of the receiver as far as it is known (0: not yet). */
  readonly by: number
  readonly for: number
  readonly seq: number
  readonly body: Message
  /** Sent before. */
  readonly again: boolean
}
type Ack = { readonly kind: 'ack'; readonly by: number; readonly for: number; readonly received: number }

type Stream = {
  readonly peer: NodeId
  /** The peer's incarnation, 0 until it is known. */
  readonly incarnation: number
  /** The number of the first message that is not acknowledged, and those from there on. */
  readonly first: number
  readonly waiting: readonly Message[]
  /** The number of the next message to pass up, and messages that arrived early. */
  readonly next: number
  readonly early: readonly { readonly seq: number; readonly body: Message }[]
}

export type ReliableLinks = { readonly incarnation: number; readonly streams: readonly Stream[] }

export const RELIABLE_KINDS = ['data', 'ack'] as const

const NAME = 'reliable'
const timerOf = (peer: NodeId): string => `${NAME}/${peer}`

/** What a message counts as: what it carries, the first time; what it is, when it is repeated. */
export function carriedKind(body: Message): string {
  if (body.kind !== 'data') return body.kind
  const { again, body: carried } = body as unknown as Data
  return again ? body.kind : carried.kind
}

export function reliableLinks(
  { self, nodes }: Identity,
  { retransmitAfter }: ReliableTiming,
): Layer<ReliableLinks> {
  const peers = nodes.filter((id) => id !== self)
  const peerOf = new Map(peers.map((peer) => [timerOf(peer), peer]))

  function streamOf(state: ReliableLinks, peer: NodeId): Stream {
    return present(
      state.streams.find((stream) => stream.peer === peer),
      'stream',
    )
  }

  function withStream(state: ReliableLinks, next: Stream): ReliableLinks {
    return {
      incarnation: state.incarnation,
      streams: state.streams.map((stream) => (stream.peer === next.peer ? next : stream)),
    }
  }

  function data(state: ReliableLinks, stream: Stream, place: number, again: boolean): Effect {
    return send(stream.peer, {
      kind: 'data',
      by: state.incarnation,
      for: stream.incarnation,
      seq: stream.first + place,
      body: present(stream.waiting[place], 'message'),
      again,
    })
  }

  function resend(state: ReliableLinks, stream: Stream, now: Micros): readonly Effect[] {
    if (stream.waiting.length === 0) return [stopTimer(timerOf(stream.peer))]
    const all = stream.waiting.map((_, place) => data(state, stream, place, true))
    return [...all, setTimer(timerOf(stream.peer), now + retransmitAfter)]
  }

  /** The peer is known by this incarnation from now on; a new one knows nothing of what went before. */
  function meet(stream: Stream, incarnation: number): Stream {
    if (incarnation <= stream.incarnation) return stream
    if (stream.incarnation === 0) return { ...stream, incarnation }
    return { ...stream, incarnation, first: 0, next: 0, early: [] }
  }

  function onData(state: ReliableLinks, from: NodeId, message: Data): LayerStep<ReliableLinks> {
    const known = streamOf(state, from)
    if (message.by < known.incarnation) return { state, effects: NOTHING, inputs: NOTHING }
    const stream = meet(known, message.by)
    const isForMe = message.for === 0 || message.for === state.incarnation
    const isNew =
      isForMe && message.seq >= stream.next && !stream.early.some(({ seq }) => seq === message.seq)
    const early = isNew
      ? [...stream.early, { seq: message.seq, body: message.body }].sort((a, b) => a.seq - b.seq)
      : stream.early
    let next = stream.next
    const bodies: Message[] = []
    for (const { seq, body } of early) {
      if (seq !== next) break
      bodies.push(body)
      next += 1
    }
    const updated: Stream = { ...stream, next, early: early.slice(bodies.length) }
    const ack: Ack = { kind: 'ack', by: state.incarnation, for: message.by, received: next }
    return {
      state: isNew || stream !== known ? withStream(state, updated) : state,
      effects: [send(from, ack)],
      inputs: bodies.map((body): Input => ({ type: 'message', from, body, receipt: null })),
    }
  }

  function onAck(state: ReliableLinks, from: NodeId, ack: Ack, now: Micros): LayerStep<ReliableLinks> {
    const known = streamOf(state, from)
    if (ack.by < known.incarnation || ack.for !== state.incarnation) {
      return { state, effects: NOTHING, inputs: NOTHING }
    }
    const stream = meet(known, ack.by)
    const isReborn = known.incarnation !== 0 && stream !== known
    const done = isReborn ? 0 : Math.max(0, Math.min(ack.received - stream.first, stream.waiting.length))
    if (done === 0 && stream === known) return { state, effects: NOTHING, inputs: NOTHING }
    const updated: Stream = { ...stream, first: stream.first + done, waiting: stream.waiting.slice(done) }
    const next = withStream(state, updated)
    const effects = isReborn || updated.waiting.length === 0 ? resend(next, updated, now) : NOTHING
    return { state: next, effects, inputs: NOTHING }
  }

  return {
    name: NAME,
    start(stable: Plain) {
      const incarnation = ((stable as number | null) ?? 0) + 1
      const streams = peers.map((peer) => ({
        peer,
        incarnation: 0,
        first: 0,
        waiting: [],
        next: 0,
        early: [],
      }))
      return { state: { incarnation, streams }, effects: [persist(incarnation)], inputs: NOTHING }
    },
    below(state, input, now) {
      if (input.type === 'message') {
        const body = input.body as unknown as Data | Ack
        return body.kind === 'data' ? onData(state, input.from, body) : onAck(state, input.from, body, now)
      }
      if (input.type !== 'timer') return { state, effects: NOTHING, inputs: [input] }
      const peer = present(peerOf.get(input.name), 'peer')
      return { state, effects: resend(state, streamOf(state, peer), now), inputs: NOTHING }
    },
    above(state, message, now) {
      const before = streamOf(state, message.to)
      const stream: Stream = { ...before, waiting: [...before.waiting, message.body] }
      const next = withStream(state, stream)
      const first = data(next, stream, stream.waiting.length - 1, false)
      const isIdle = before.waiting.length === 0
      return {
        state: next,
        effects: isIdle ? [first, setTimer(timerOf(message.to), now + retransmitAfter)] : [first],
        inputs: NOTHING,
      }
    },
    shift: (state) => state,
  }
}
