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
  /** A_i - eta*i of the last w heartbeats, oldest first: instants. */
  readonly origins: readonly Micros[]
}

export function firstArrival(every: Micros, seq: number, at: Micros): Arrivals {
  return { seq, origins: [at - every * seq] }
}

/** With the number of a later heartbeat of the same sequence. */
export function nextArrival(
  every: Micros,
  window: number,
  { origins }: Arrivals,
  seq: number,
  at: Micros,
): Arrivals {
  const kept = origins.length < window ? origins : origins.slice(1)
  return { seq, origins: [...kept, at - every * seq] }
}

export function expectedArrival(every: Micros, { origins }: Arrivals, seq: number): Micros {
  // Differences from the first are small: their sum loses nothing, and rounds alike wherever the clock stands.
  const first = origins[0] as Micros
  let sum = 0
  for (const origin of origins) sum += origin - first
  return first + whole(sum / origins.length) + every * seq
}

export function shiftArrivals({ seq, origins }: Arrivals, by: Micros): Arrivals {
  return { seq, origins: origins.map((origin) => origin + by) }
}
