/**
 * Detects, in a thread that does not run the election, that the host was suspended since a lease was granted.
 *
 * The monotonic clock stops while the host is suspended, so a lease on it seems to go on. The thread of the election may
 * wake later than this one. The wall clock does not stop and is cheap to read. Only when it has run ahead is the time
 * since boot read, which distinguishes a suspend from a clock that was set.
 */
import type { Micros } from '../../../core/index.ts'
import { type HostClock, MIN_SUSPENSION } from '../../runtime/index.ts'

/** An upper bound of how far the wall clock is ahead: the reader may be held up in between. `now` was read before. */
export function wallAheadAtMost(now: Micros): Micros {
  return Date.now() * 1000 - now
}

/** A lower bound of the same. */
export function wallAheadAtLeast(now: () => Micros): Micros {
  const wall = Date.now() * 1000
  return wall - now()
}

export class SuspendCheck {
  readonly #clock: Pick<HostClock, 'suspendedFor'> | null
  /** How far the wall clock was ahead after the last suspend; earlier leases are void. */
  #aheadAfterSleep: Micros | null = null

  /** Without a clock that detects suspends, one is assumed whenever the wall clock runs ahead. */
  constructor(clock: Pick<HostClock, 'suspendedFor'> | null) {
    this.#clock = clock
  }

  /** How far the wall clock was ahead when the lease was granted, and how far it is now. */
  hasSlept(before: Micros, ahead: Micros): boolean {
    if (ahead - before < MIN_SUSPENSION) return false
    if (this.#clock === null) return true
    if (this.#clock.suspendedFor() > 0) this.#aheadAfterSleep = ahead
    return this.#aheadAfterSleep !== null && this.#aheadAfterSleep - before >= MIN_SUSPENSION / 2
  }
}
