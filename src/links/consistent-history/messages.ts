/** What goes over the network between two ends of a link. */
import type { Message } from '../../core/index.ts'

/** In every datagram: who speaks, to whom as far as it knows, and how many transitions of their link it has seen. */
export type Header = {
  /** Incarnations of the sender, and of the receiver as far as the sender knows (0: not at all). */
  readonly by: number
  readonly for: number
  readonly count: number
  /** How many frames of this incarnation of the link the sender has received in order. */
  readonly received: number
}

/** A hint, sent regularly and whenever the count has changed; it may get lost. */
export type Ping = Header & {
  readonly kind: 'ping'
  /** The sender's period, and the last of the receiver's that it has heard of (-1: none). */
  readonly no: number
  readonly echo: number
}
export type Ack = Header & { readonly kind: 'ack' }
/** Something from above, in its place among the frames of this incarnation of the link. */
export type Frame = Header & {
  readonly kind: 'frame'
  readonly seq: number
  readonly body: Message
  /** Sent before. */
  readonly again: boolean
}
export type HistoryDatagram = Ping | Ack | Frame

export const HISTORY_KINDS = ['ping', 'ack', 'frame'] as const

/** What a datagram counts as: what it carries, the first time; what it is, otherwise. */
export function framedKind(body: Message): string {
  if (body.kind !== 'frame') return body.kind
  const { again, body: carried } = body as unknown as Frame
  return again ? body.kind : carried.kind
}
