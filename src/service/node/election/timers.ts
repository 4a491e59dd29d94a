/** Time as a member needs it: real, or that of a virtual world. */
export type Timers = {
  /** Calls `run` once, so much later; what it returns calls that off. Nothing is kept running for it. */
  after(ms: number, run: () => void): () => void
}

export const REAL_TIMERS: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
