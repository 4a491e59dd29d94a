/**
 * The heart of a link with a consistent history, after LeMahieu and Bruck: each end counts the transitions that it has
 * seen, and every datagram carries the count. An even count is up.
 *
 * An end moves by itself only if it then leads the other by no more than the slack, as far as it knows; an end that hears
 * of a larger count catches up, one transition at a time. Saying a count twice, late or out of order changes nothing,
 * so datagrams may be lost, doubled and reordered. In the paper tokens do this, passed reliably; counts are the same
 * thing without the reliability.
 *
 * Both histories are then the same, one perhaps a little longer. That needs the first to go up to wait with the
 * following down until the other is known to have seen the up: with slack 1 an end whose peer vanishes just then stays
 * up for as long as the outage lasts. With slack 2 it goes down in time, so that is what Omega+ uses.
 */
export type Counters = {
  /** Transitions that this end has seen. */
  readonly count: number
  /** The largest count heard from the other. */
  readonly theirs: number
}

/** Links begin down. */
export const BEGIN: Counters = { count: 1, theirs: 1 }

export function isUp({ count }: Counters): boolean {
  return count % 2 === 0
}

/** Down as soon as the slack allows it; up only when both are known to be in the same place. */
export function mayMove(counters: Counters, slack: number): boolean {
  const lead = counters.count - counters.theirs
  return isUp(counters) ? lead < slack : lead === 0
}

export function moved({ count, theirs }: Counters): Counters {
  return { count: count + 1, theirs }
}

/** The other has said its count: this end catches up. */
export function heard({ count, theirs }: Counters, said: number): Counters {
  return { count: Math.max(count, said), theirs: Math.max(theirs, said) }
}
