/**
 * The upper bound of a message's delay, computed from timestamps of two clocks that are not synchronized.
 *
 * Message m from p to q carries the stamps of an earlier message n from q to p. A (n sent) and D (m received) were
 * read on q's clock, B (n received) and C (m sent) on p's: since n took at least δmin, m took at most the whole round
 * trip without the time that p held it. Each clock may run fast or slow by ρ, and each reading may be a microsecond
 * old: both are counted against m.
 */
import type { Micros } from '../../core/index.ts'

export type RoundTrip = {
  /** On the receiver's clock: when it sent n, and when it received m. */
  readonly outward: Micros
  readonly arrived: Micros
  /** On the sender's clock: when it received n, and when it sent m. */
  readonly received: Micros
  readonly answered: Micros
}

/** Two readings make a duration; each reading is rounded down to a whole microsecond. */
const READING = 1

/** The longest true time that a clock may have shown as so long. */
export function atMost(shown: Micros, rho: number): Micros {
  return Math.ceil((shown + READING) / (1 - rho))
}

/** The shortest. */
export function atLeast(shown: Micros, rho: number): Micros {
  return Math.max(0, Math.floor((shown - READING) / (1 + rho)))
}

/** Never below the true delay of m, as long as both clocks keep within ρ and no message takes less than δmin. */
export function delayBound(trip: RoundTrip, rho: number, leastDelay: Micros): Micros {
  const whole = atMost(trip.arrived - trip.outward, rho)
  const held = atLeast(trip.answered - trip.received, rho)
  return whole - held - leastDelay
}
