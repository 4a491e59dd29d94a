/** The constants of a level. */
import type { Micros } from '../../core/index.ts'
import { type Given, type Timing, timingOf } from './constants.ts'

/** δ leaves this part of Δ for the drift of clocks since the timestamps of a message. */
const SPARE = 0.01

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
