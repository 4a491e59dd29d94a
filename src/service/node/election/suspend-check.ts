/**
 * Whether the host slept since a lease was granted, asked from a thread that does not run the election.
 *
 * The monotonic clock stands still while the host sleeps, so a lease that is counted on it seems to go on; and of two
 * threads the one that runs the election may be the later to wake. The wall clock never stands still and is cheap to
 * read; only when it has run ahead is the time since boot asked, which tells a sleep from a clock that was set.
 */
import type { Micros } from '../../../core/index.ts'
import { type HostClock, LEAST_SLEEP } from '../../runtime/index.ts'

/** How far the wall clock is ahead, at most: whoever reads may be held up in between. `now` was read before. */
export function wallAheadAtMost(now: Micros): Micros {
  return Date.now() * 1000 - now
}

/** The same, at least. */
export function wallAheadAtLeast(now: () => Micros): Micros {
  const wall = Date.now() * 1000
  return wall - now()
}

export class SleepCheck {
  readonly #clock: Pick<HostClock, 'sleptFor'> | null
  /** How far the wall clock was ahead after the last sleep; leases from before are void. */
  #aheadAfterSleep: Micros | null = null

  /** Without a clock that notices sleeps, one is assumed whenever the wall clock runs ahead. */
  constructor(clock: Pick<HostClock, 'sleptFor'> | null) {
    this.#clock = clock
  }

  /** How far the wall clock was ahead when the lease was granted, and how far it is now. */
  hasSlept(before: Micros, ahead: Micros): boolean {
    if (ahead - before < LEAST_SLEEP) return false
    if (this.#clock === null) return true
    if (this.#clock.sleptFor() > 0) this.#aheadAfterSleep = ahead
    return this.#aheadAfterSleep !== null && this.#aheadAfterSleep - before >= LEAST_SLEEP / 2
  }
}
