/** One group's place in a bundle: its state, and its timers, which the bundle keeps. */
import type { Micros, Plain, PlainObject, Protocol, TermRecord } from '../../core/index.ts'
import type { Stranger } from '../fail-aware/strangers.ts'

export type Timer = { readonly name: string; readonly at: Micros }

export type Seat = {
  readonly name: string
  readonly spec: PlainObject
  readonly state: Plain
  /** By their deadlines, then by name. */
  readonly timers: readonly Timer[]
  /** When the bundle is to wake for the first of them. */
  readonly due: Micros | null
  /** The last term of this node in the group; null before the first. */
  readonly term: TermRecord | null
  /** How often an instant was chosen for it from a range. */
  readonly draws: number
  readonly strangers: readonly Stranger[]
  /** Nothing happens in the group before. */
  readonly heldUntil: Micros | null
}

/** All seats have one shape. */
export function reseated(seat: Seat, change: Partial<Seat>): Seat {
  return {
    name: seat.name,
    spec: change.spec ?? seat.spec,
    state: change.state === undefined ? seat.state : change.state,
    timers: change.timers ?? seat.timers,
    due: change.due === undefined ? seat.due : change.due,
    term: change.term === undefined ? seat.term : change.term,
    draws: change.draws ?? seat.draws,
    strangers: change.strangers ?? seat.strangers,
    heldUntil: change.heldUntil === undefined ? seat.heldUntil : change.heldUntil,
  }
}

export function withTimer(timers: readonly Timer[], name: string, at: Micros): readonly Timer[] {
  const next = timers.filter((timer) => timer.name !== name)
  let place = next.length
  while (place > 0 && isBefore(name, at, next[place - 1] as Timer)) place -= 1
  next.splice(place, 0, { name, at })
  return next
}

function isBefore(name: string, at: Micros, other: Timer): boolean {
  return at < other.at || (at === other.at && name < other.name)
}

/** The same list when there is no such timer. */
export function withoutTimer(timers: readonly Timer[], name: string): readonly Timer[] {
  return timers.some((timer) => timer.name === name) ? timers.filter((timer) => timer.name !== name) : timers
}

/** Where a group sits among seats in the order of names; -1 where it does not. */
export function seatNamed(seats: readonly Seat[], name: string): number {
  let [low, high] = [0, seats.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = (seats[middle] as Seat).name
    if (found === name) return middle
    if (found < name) low = middle + 1
    else high = middle - 1
  }
  return -1
}

export function shiftedSeat(seat: Seat, { shift }: Protocol, by: Micros): Seat {
  return reseated(seat, {
    state: shift(seat.state, by),
    timers: seat.timers.map(({ name, at }) => ({ name, at: at + by })),
    due: seat.due === null ? null : seat.due + by,
    strangers: seat.strangers.map((stranger) => ({ ...stranger, toldAt: stranger.toldAt + by })),
    heldUntil: seat.heldUntil === null ? null : seat.heldUntil + by,
  })
}
