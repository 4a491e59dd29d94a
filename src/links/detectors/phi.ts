/**
 * The phi accrual failure detector. N. Hayashibara, X. Defago, R. Yared, T. Katayama, The phi Accrual Failure
 * Detector, SRDS 2004: phi(now) = -log10(1 - F(now - last)), where F is the normal distribution with the mean and
 * the deviation of the last w inter-arrival times. A peer is suspected when phi crosses the threshold, so the
 * deadline is last + pause + mean + z*sigma with z the point where the normal tail is 10^-threshold.
 *
 * Delays are not normal, and a steady network drives sigma to nothing: then the slightest delay is a mistake. The
 * floor under sigma and the acceptable pause are what implementations (Akka, Cassandra) add. It looks at intervals,
 * not at numbers: one lost heartbeat is a mistake unless the margin covers a period, and a late one postpones
 * detection as it does with a fixed timeout.
 */
import type { Micros } from '../../core/index.ts'
import { type Estimator, type Judgement, whole } from './estimator.ts'
import { normalTailAt } from './normal-tail.ts'

export type Phi = {
  readonly heartbeatEvery: Micros
  readonly window: number
  readonly threshold: number
  readonly sigmaFloor: Micros
  readonly pause: Micros
}

export type PhiEstimate = {
  readonly seq: number
  /** When the last heartbeat came. */
  readonly last: Micros
  /** The last w times between heartbeats, oldest first. */
  readonly intervals: readonly Micros[]
}

/** Null: nothing has been heard yet. */
export function phi({
  heartbeatEvery,
  window,
  threshold,
  sigmaFloor,
  pause,
}: Phi): Estimator<PhiEstimate | null> {
  const z = normalTailAt(threshold)

  function judge(estimate: PhiEstimate): Judgement<PhiEstimate> {
    const { mean, sigma } = momentsOf(estimate.intervals, heartbeatEvery)
    const margin = whole(mean + z * Math.max(sigma, sigmaFloor))
    return { estimate, trustedUntil: estimate.last + pause + margin }
  }

  return {
    begin: (known) => ({ estimate: known, trustedUntil: Number.POSITIVE_INFINITY }),
    arrival(known, seq, now) {
      if (known === null || seq < known.seq) return judge({ seq, last: now, intervals: [] })
      if (seq === known.seq) return judge(known)
      const kept = known.intervals.length < window ? known.intervals : known.intervals.slice(1)
      return judge({ seq, last: now, intervals: [...kept, now - known.last] })
    },
    shift: (estimate, by) => (estimate === null ? null : { ...estimate, last: estimate.last + by }),
  }
}

/** Before there are two intervals to compare, the period is the mean and a quarter of it the deviation, as in Akka. */
function momentsOf(
  intervals: readonly Micros[],
  every: Micros,
): { readonly mean: number; readonly sigma: number } {
  if (intervals.length < 2) return { mean: every, sigma: every / 4 }
  let sum = 0
  for (const interval of intervals) sum += interval
  const mean = sum / intervals.length
  let squares = 0
  for (const interval of intervals) squares += (interval - mean) ** 2
  return { mean, sigma: Math.sqrt(squares / intervals.length) }
}
