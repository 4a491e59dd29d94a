/**
 * A node's clock: starts at an arbitrary reading, drifts, and stops while its host is suspended. Only the
 * world knows true time.
 */
import type { Micros } from '../../core/index.ts'

export class Clock {
  /** Shows `#local` until true time `#since` and runs at `#rate` from then on. */
  #since: Micros = 0
  #local: Micros
  readonly #rate: number

  constructor(offset: Micros, driftPpm: number) {
    this.#local = offset
    this.#rate = 1 + driftPpm / 1_000_000
  }

  /** The reading at a true time. */
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

  /** The remaining duration of a suspension. */
  standsFor(trueTime: Micros): Micros {
    return Math.max(0, this.#since - trueTime)
  }

  /** Ends a suspension early. */
  wake(at: Micros): void {
    if (at < this.#since) this.#since = at
  }

  /** Stops the clock between two true times. Returns by how much this prolongs a suspension in progress. */
  stop(from: Micros, until: Micros): Micros {
    const before = Math.max(this.#since, from)
    this.#local = this.at(from)
    this.#since = Math.max(this.#since, until)
    return this.#since - before
  }
}
