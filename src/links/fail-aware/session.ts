/** The session with one peer: its incarnation, the numbers of its last datagrams, and the best timestamps. */
import type { Micros } from '../../core/index.ts'

/** When a message was sent, on its sender's clock, and received, on the receiver's; each counts from its own start. */
export type Stamps = { readonly sent: Micros; readonly received: Micros }

export type Session = {
  readonly incarnation: number
  /** The numbers of the last datagrams, the largest first. A number that is in the list, or below all of it, was seen. */
  readonly recent: readonly number[]
  /** When the datagram with the largest number arrived. */
  readonly newestAt: Micros
  /** The timestamps of the fastest datagram, as far as is known. Every datagram to the peer returns them. */
  readonly stamps: Stamps
  /** The peer reports that its clock stood still until then: its earlier timestamps are void. Null: never. */
  readonly awake: Micros | null
}

/**
 * A datagram that this many later ones have overtaken counts as a duplicate. In a group with a tree, a node that passes on
 * the replies of others sends a burst of about the square root of the number of nodes.
 */
const REMEMBERED = 32

/** The list with one more number; null if that number was seen. */
export function withNumber(recent: readonly number[], number: number): readonly number[] | null {
  const newest = recent[0]
  if (newest === undefined || number > newest) return newestFirst(recent, number)
  if (recent.includes(number)) return null
  const place = recent.findIndex((other) => other < number)
  if (place < 0) return recent.length < REMEMBERED ? [...recent, number] : null
  return recent.toSpliced(place, 0, number).slice(0, REMEMBERED)
}

/**
 * Whether a datagram shows that a larger incarnation, or a larger number, cannot have been its sender's. Both grow in the
 * order in which datagrams are sent. So a datagram that answers one sent from here after the largest had arrived was itself sent
 * after it; if it says less, the largest was a mistake, and must not silence its sender for ever. (What was recorded
 * before answers nothing that was sent later.)
 */
export function isOutlived({ newestAt }: Session, echo: Stamps | null): boolean {
  return echo !== null && echo.sent > newestAt
}

/** The numbers without the mistaken ones, and with this one. */
export function withoutLarger(recent: readonly number[], number: number): readonly number[] {
  return [number, ...recent.filter((other) => other < number)]
}

/** Whether a datagram with this number was seen. */
export function hasSeen(recent: readonly number[], number: number): boolean {
  const newest = recent[0]
  if (newest === undefined || number > newest) return false
  return recent.includes(number) || (recent.length >= REMEMBERED && number < (recent.at(-1) as number))
}

/** Done for almost every datagram: two copies are faster here than spreading, or a list that grows. */
function newestFirst(recent: readonly number[], number: number): readonly number[] {
  return recent.toSpliced(REMEMBERED - 1, 1).toSpliced(0, 0, number)
}

/**
 * The stamps to keep. The difference between the two clocks hides how long a message took, but of two messages the
 * one with the smaller difference was quicker, up to the drift in between. Old stamps go, however good, because drift
 * makes them worse. A clock that stood still makes every later message look slower than those before: so stamps from
 * before the peer slept go at once, or the peer could not use what is sent back to it until they are old. And what a
 * process sends later it stamps no earlier: where the latest message says so, the stamps that were kept were a mistake.
 */
export function better(
  kept: Stamps,
  next: Stamps,
  rho: number,
  oldest: Micros,
  awake: Micros | null = null,
  isLatest = false,
): Stamps {
  const age = next.received - kept.received
  if (age > oldest || (isLatest && next.sent < kept.sent)) return next
  if (awake !== null && (kept.sent < awake || next.sent < awake)) return next.sent < awake ? kept : next
  const isQuicker = next.received - next.sent <= kept.received - kept.sent + 2 * rho * age
  return isQuicker ? next : kept
}
