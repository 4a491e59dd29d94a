/**
 * The reliable detector of synchronous systems: with bounds on delay, step time and drift, silence is proof.
 *
 * Heartbeats every eta on a clock that drifts by at most rho, delays within [Dmin, Dmax], steps of at most s:
 *   between two arrivals, on the monitor's clock:  tau = (1+rho)(eta/(1-rho) + Dmax - Dmin + 2s)
 *   until the first:                               (1+rho)(eta/(1-rho) + Dmax + 2s)
 *   a crash is detected within                     Dmax + s + tau/(1-rho)
 *
 * `failed` is final: no heartbeat takes it back. It is sound only while *all* bounds hold, no heartbeat is lost and
 * an identity is not used again; a sender that starts anew counts as another one, and so does a peer that the
 * protocol follows once more. A trace in which a verdict is followed by `trust` of the same incarnation is one in
 * which a bound was broken.
 */
import type { Micros } from '../../core/index.ts'
import type { Estimator } from './estimator.ts'

export type SynchronousBounds = {
  readonly heartbeatEvery: Micros
  readonly maxDelay: Micros
  readonly minDelay: Micros
  readonly step: Micros
  /** rho, as a fraction. */
  readonly drift: number
}

export type ReliableTimes = {
  /** tau */
  readonly between: Micros
  readonly first: Micros
  readonly detection: Micros
}

/** Rounded up: a bound that is short by a fraction of a microsecond is none. */
export function reliableTimes(bounds: SynchronousBounds): ReliableTimes {
  const { heartbeatEvery, maxDelay, minDelay, step, drift } = bounds
  const period = heartbeatEvery / (1 - drift)
  const between = Math.ceil((1 + drift) * (period + maxDelay - minDelay + 2 * step))
  return {
    between,
    first: Math.ceil((1 + drift) * (period + maxDelay + 2 * step)),
    detection: Math.ceil(maxDelay + step + between / (1 - drift)),
  }
}

export function reliable(bounds: SynchronousBounds): Estimator<null> {
  const { between, first } = reliableTimes(bounds)
  return {
    isFinal: true,
    begin: (now) => ({ estimate: null, trustedUntil: now + first }),
    arrival: (_estimate, _seq, now) => ({ estimate: null, trustedUntil: now + between }),
    shift: () => null,
  }
}
