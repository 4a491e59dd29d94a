/**
 * Where the next heartbeat is expected, after Chen, Toueg and Aguilera: EA(k+1) is the mean of A_i - eta*i over the
 * last w heartbeats, plus eta*(k+1). The sender's clock need not be known: A_i - eta*i is when heartbeat 0 would
 * have come with the delay of heartbeat i, on the monitor's own clock.
 */
import type { Micros } from '../../core/index.ts'
import { whole } from './estimator.ts'

export type Arrivals = {
  /** The highest number heard. */
  readonly seq: number
  /** A_i - eta*i of the last w heartbeats: instants. Once there are w, the next takes the place of the oldest. */
  readonly origins: readonly Micros[]
  readonly oldest: number
  /** The origin of the first heartbeat of the sequence, an instant, and the sum of the differences from it. */
  readonly base: Micros
  readonly sum: Micros
}

export function firstArrival(every: Micros, seq: number, at: Micros): Arrivals {
  return onlyOrigin(seq, at - every * seq)
}

/** As if this heartbeat had been the first. */
export function onlyOrigin(seq: number, origin: Micros): Arrivals {
  return { seq, origins: [origin], oldest: 0, base: origin, sum: 0 }
}

export function lastOrigin({ origins, oldest }: Arrivals): Micros {
  return origins.at(oldest - 1) as Micros
}

/** With the number of a later heartbeat of the same sequence. */
export function nextArrival(
  every: Micros,
  window: number,
  known: Arrivals,
  seq: number,
  at: Micros,
): Arrivals {
  const { origins, oldest, base, sum } = known
  const origin = at - every * seq
  const added = origin - base
  if (origins.length < window) return { seq, origins: [...origins, origin], oldest, base, sum: sum + added }
  const gone = (origins[oldest] as Micros) - base
  return {
    seq,
    origins: origins.with(oldest, origin),
    oldest: (oldest + 1) % window,
    base,
    sum: sum + added - gone,
  }
}

/** Differences from one instant are small and whole: their sum loses nothing, and rounds alike wherever the clock stands. */
export function expectedArrival(every: Micros, { origins, base, sum }: Arrivals, seq: number): Micros {
  return base + whole(sum / origins.length) + every * seq
}

export function shiftArrivals(known: Arrivals, by: Micros): Arrivals {
  return { ...known, origins: known.origins.map((origin) => origin + by), base: known.base + by }
}
