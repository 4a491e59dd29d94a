/**
 * A node's own clock: it runs a little fast or slow, started at some arbitrary reading, and stands still while
 * its host is suspended. True time is known to the world only.
 */
import type { Micros } from '../../core/index.ts'

export class Clock {
  /** Local time is `#local` until true time `#since` and runs at `#rate` from there. */
  #since: Micros = 0
  #local: Micros
  readonly #rate: number

  constructor(offset: Micros, driftPpm: number) {
    this.#local = offset
    this.#rate = 1 + driftPpm / 1_000_000
  }

  /** What the clock shows at a true time. */
  at(trueTime: Micros): Micros {
    const elapsed = trueTime - this.#since
    return elapsed <= 0 ? this.#local : this.#local + Math.floor(elapsed * this.#rate)
  }

  /** The first true time at which the clock shows `local` or more. */
  whenShows(local: Micros): Micros {
    let trueTime = this.#since + Math.ceil((local - this.#local) / this.#rate)
    while (this.at(trueTime) < local) trueTime += 1
    return trueTime
  }

  /** For how much longer it stands still. */
  standsFor(trueTime: Micros): Micros {
    return Math.max(0, this.#since - trueTime)
  }

  /** Ends a standstill before its time. */
  wake(at: Micros): void {
    if (at < this.#since) this.#since = at
  }

  /** The clock stands still from one true time to another; says for how much longer than it would have anyway. */
  stop(from: Micros, until: Micros): Micros {
    const before = Math.max(this.#since, from)
    this.#local = this.at(from)
    this.#since = Math.max(this.#since, until)
    return this.#since - before
  }
}
