/**
 * NFD-E. W. Chen, S. Toueg, M. K. Aguilera, On the Quality of Service of Failure Detectors, IEEE Transactions on
 * Computers 51(5), 2002: the peer is trusted from heartbeat k until the freshness point of the next,
 * EA(k+1) + alpha, with EA estimated over the last w arrivals.
 *
 * The deadline hangs on when the *next* heartbeat is due, not on when the last one came, so a late heartbeat does not
 * postpone the detection of a crash: T_D <= eta + E(D) + alpha.
 *
 * The paper takes clocks to run on. A host that is suspended (either one) moves all later arrivals by as much, and
 * the mean would take a window to follow. Our addition: two heartbeats in a row that miss their expectation by more
 * than alpha, both by about the same amount, are a new timetable, and the window begins with them. Heartbeats that
 * were held up and come in a bunch miss it by amounts that differ by eta, and are no such thing.
 */
import type { Micros } from '../../core/index.ts'
import type { Estimator, Judgement } from './estimator.ts'
import {
  type Arrivals,
  expectedArrival,
  firstArrival,
  lastOrigin,
  nextArrival,
  onlyOrigin,
  shiftArrivals,
} from './expected-arrival.ts'

export type NfdE = {
  readonly heartbeatEvery: Micros
  readonly window: number
  readonly alpha: Micros
}

/** Null: nothing has been heard yet. */
export function nfdE({ heartbeatEvery: every, window, alpha }: NfdE): Estimator<Arrivals | null> {
  function judge(estimate: Arrivals): Judgement<Arrivals> {
    return { estimate, trustedUntil: expectedArrival(every, estimate, estimate.seq + 1) + alpha }
  }

  /** Whether this heartbeat and the one before it agree with each other, but neither with the window. */
  function isNewTimetable(known: Arrivals, seq: number, now: Micros): boolean {
    const expected = expectedArrival(every, known, 0)
    const origin = now - every * seq
    const previous = lastOrigin(known)
    const strays = (at: Micros): boolean => Math.abs(at - expected) > alpha
    return strays(origin) && strays(previous) && Math.abs(origin - previous) <= every / 2
  }

  return {
    begin: (known) => ({ estimate: known, trustedUntil: Number.POSITIVE_INFINITY }),
    arrival(known, seq, now) {
      if (known === null || seq < known.seq) return judge(firstArrival(every, seq, now))
      if (seq === known.seq) return judge(known)
      if (!isNewTimetable(known, seq, now)) return judge(nextArrival(every, window, known, seq, now))
      const restarted = onlyOrigin(known.seq, lastOrigin(known))
      return judge(nextArrival(every, window, restarted, seq, now))
    },
    shift: (estimate, by) => (estimate === null ? null : shiftArrivals(estimate, by)),
  }
}
