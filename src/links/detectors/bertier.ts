/**
 * M. Bertier, O. Marin, P. Sens, Implementation and Performance Evaluation of an Adaptable Failure Detector, DSN
 * 2002: Chen's expected arrival with a margin that follows the network, as Jacobson's estimate of a round trip does.
 *
 *   err = A_k - EA(k) - d;  d += gamma*err;  v += gamma*(|err| - v);  trusted until EA(k+1) + beta*d + phi*v
 *
 * Fast, and often wrong: where delays are steady the margin shrinks to nothing, and then anything is late. Hence a
 * floor under the margin, which is ours; 0 is the paper's form. The margin has no upper bound either: see capped.ts.
 */
import type { Micros } from '../../core/index.ts'
import { type Estimator, type Judgement, whole } from './estimator.ts'
import {
  type Arrivals,
  expectedArrival,
  firstArrival,
  nextArrival,
  shiftArrivals,
} from './expected-arrival.ts'

const GAMMA = 0.1
const BETA = 1
const PHI = 4

export type Bertier = {
  readonly heartbeatEvery: Micros
  readonly window: number
  readonly marginFloor: Micros
}

export type BertierEstimate = {
  readonly arrivals: Arrivals
  /** d and v, in whole microseconds. */
  readonly delay: Micros
  readonly variation: Micros
}

/** Null: nothing has been heard yet. */
export function bertier({
  heartbeatEvery: every,
  window,
  marginFloor,
}: Bertier): Estimator<BertierEstimate | null> {
  function judge(estimate: BertierEstimate): Judgement<BertierEstimate> {
    const margin = Math.max(marginFloor, BETA * estimate.delay + PHI * estimate.variation)
    const { arrivals } = estimate
    return { estimate, trustedUntil: expectedArrival(every, arrivals, arrivals.seq + 1) + margin }
  }

  return {
    begin: (known) => ({ estimate: known, trustedUntil: Number.POSITIVE_INFINITY }),
    arrival(known, seq, now) {
      if (known === null || seq < known.arrivals.seq) {
        return judge({ arrivals: firstArrival(every, seq, now), delay: 0, variation: 0 })
      }
      if (seq === known.arrivals.seq) return judge(known)
      const { arrivals, delay, variation } = known
      const error = now - expectedArrival(every, arrivals, seq) - delay
      return judge({
        arrivals: nextArrival(every, window, arrivals, seq, now),
        delay: whole(delay + GAMMA * error),
        variation: whole(variation + GAMMA * (Math.abs(error) - variation)),
      })
    },
    shift: (estimate, by) =>
      estimate === null ? null : { ...estimate, arrivals: shiftArrivals(estimate.arrivals, by) },
  }
}
