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
  /** The origin of the first heartbeat of the sequence, an instant, and the sum of the differences from it. */
  readonly base: Micros
  readonly sum: Micros
}

export function firstArrival(every: Micros, seq: number, at: Micros): Arrivals {
  const origin = at - every * seq
  return { seq, origins: [origin], base: origin, sum: 0 }
}

/** With the number of a later heartbeat of the same sequence. */
export function nextArrival(
  every: Micros,
  window: number,
  { origins, base, sum }: Arrivals,
  seq: number,
  at: Micros,
): Arrivals {
  const origin = at - every * seq
  const dropped = origins.length < window ? 0 : 1
  const kept: Micros[] = []
  for (let index = dropped; index < origins.length; index++) kept.push(origins[index] as Micros)
  kept.push(origin)
  const gone = dropped === 0 ? 0 : (origins[0] as Micros) - base
  return { seq, origins: kept, base, sum: sum + (origin - base) - gone }
}

/** Differences from one instant are small and whole: their sum loses nothing, and rounds alike wherever the clock stands. */
export function expectedArrival(every: Micros, { origins, base, sum }: Arrivals, seq: number): Micros {
  return base + whole(sum / origins.length) + every * seq
}

export function shiftArrivals({ seq, origins, base, sum }: Arrivals, by: Micros): Arrivals {
  return { seq, origins: origins.map((origin) => origin + by), base: base + by, sum }
}
