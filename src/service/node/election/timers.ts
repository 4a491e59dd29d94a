/** Timers of a node: real, or those of a simulated world. */
export type Timers = {
  /** Calls `run` once after `ms`. The result cancels it. A timer does not keep the process running. */
  after(ms: number, run: () => void): () => void
}

export const REAL_TIMERS: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/**
 * How long before the end of a lease that was not renewed its work is stopped: timers are late by a millisecond or two, and
 * another node may lead soon after. All tries to renew the lease have been made by then.
 */
export const EARLY_MS = 5
