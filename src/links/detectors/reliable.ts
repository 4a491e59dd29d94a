/**
 * The reliable detector of synchronous systems: with bounds on delay, step time and drift, silence is proof.
 *
 * Heartbeats every eta on a clock that drifts by at most rho, delays within [Dmin, Dmax], steps of at most s:
 *   between two arrivals, on the monitor's clock:  tau = (1+rho)(eta/(1-rho) + Dmax - Dmin + 2s)
 *   until the first:                               (1+rho)(eta/(1-rho) + Dmax + 2s)
 *   a crash is detected within                     Dmax + s + tau/(1-rho)
 *
 * `failed` is final for that incarnation: no later heartbeat of the same sequence takes it back, only a sender that
 * restarts. It is sound only while *all* bounds hold and no heartbeat is lost. When they did not hold, the protocol
 * may still follow the peer (heartbeats are passed up), and then it is watched again: a trace in which
 * `suspect` is followed by `trust` of the same incarnation is one in which a bound was broken.
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

export type ReliableEstimate = {
  /** The highest number heard, or null before the first. */
  readonly seq: number | null
  /** The peer has failed if nothing is heard by then, and has failed for good. */
  readonly deadline: Micros
}

export function reliable(bounds: SynchronousBounds): Estimator<ReliableEstimate> {
  const { between, first } = reliableTimes(bounds)
  const judge = (estimate: ReliableEstimate) => ({ estimate, trustedUntil: estimate.deadline })
  return {
    begin: (_known, now) => judge({ seq: null, deadline: now + first }),
    arrival(known, seq, now) {
      if (known.seq !== null && seq < known.seq) return judge({ seq, deadline: now + between })
      if (seq === known.seq) return judge(known)
      return judge({ seq, deadline: now > known.deadline ? known.deadline : now + between })
    },
    shift: ({ seq, deadline }, by) => ({ seq, deadline: deadline + by }),
  }
}
