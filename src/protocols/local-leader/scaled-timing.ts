/** The constants of a level. */
import type { Micros } from '../../core/index.ts'
import { type Given, type Timing, timingOf } from './constants.ts'
import type { LevelBounds } from './levels.ts'

/** δ leaves this part of Δ for the drift of clocks since the timestamps of a message. */
const SPARE = 0.02

/** The constants for another lock: all that a host and a network may take grow with it. Only δmin and ρ stay. */
export function timingForLock(given: Given, lock: Micros): Timing {
  const factor = lock / timingOf(given).lockTime
  const scaled = (micros: Micros): Micros => Math.max(1, Math.round(micros * factor))
  const fast = scaled(given.fast)
  const most = Math.floor(((fast * (1 - SPARE)) / (1 + given.rho) + given.leastDelay) / 2)
  const delay = Math.max(given.leastDelay, Math.min(scaled(given.delay), most))
  const lateness = scaled(given.lateness)
  const renewalInterval = scaled(given.renewalInterval)
  return timingOf(
    { ...given, delay, fast, lateness, renewalInterval, electionPeriod: null, expires: null },
    lock,
  )
}

/** At the highest level a round trip may take this part of the lock: two tries still fit into the lease. */
const LONGEST_ROUND = 1 / 3

/** `ceiling`: the highest level that the node can use. */
export type LevelPlace = { readonly bounds: LevelBounds; readonly level: number; readonly ceiling: number }

/**
 * The constants of a node at this level. At the highest level that it can use, a node cannot ask for more time. So there
 * it counts every message as fast with which a round can still succeed, and waits for answers as long as that takes. This
 * concerns progress only: which messages are fast decides nothing about locks, leases or tokens where a majority is
 * enough, and searches (link: none) treat every message as fast. A guarantee card asks for one lock exactly, and for the
 * constants that belong to it.
 */
export function timingWithin({ bounds, level, ceiling }: LevelPlace, timing: Timing): Timing {
  if (level < ceiling || bounds.shortest === bounds.longest) return timing
  const longest = Math.floor(timing.lockTime * LONGEST_ROUND)
  return {
    ...timing,
    heard: Math.max(timing.fast, longest),
    collection: Math.max(timing.collection, Math.ceil(longest * (1 + timing.rho))),
  }
}
