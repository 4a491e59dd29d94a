/**
 * A node's clock: starts at an arbitrary reading, drifts, and stops while its host is suspended. Events can change its
 * rate and its reading. Only the world knows true time.
 */
import type { Micros } from '../../core/index.ts'
import type { ClockReading } from '../scenario/options.ts'

export class Clock {
  /** Shows `#local` until true time `#since` and runs at `#rate` from then on. */
  #since: Micros = 0
  #local: Micros
  #rate: number
  #isDetuned = false

  constructor(offset: Micros, driftPpm: number) {
    this.#local = offset
    this.#rate = rateOf(driftPpm)
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

  /** The rate, if an event has set it; else 1, without the small drift that the clock began with. */
  get detunedRate(): number {
    return this.#isDetuned ? this.#rate : 1
  }

  /** Runs at another rate from now on, or from the end of a suspension in progress. */
  detune(at: Micros, driftPpm: number): void {
    this.#rebase(at)
    this.#rate = rateOf(driftPpm)
    this.#isDetuned = true
  }

  /** Jumps forwards or backwards. */
  jump(at: Micros, by: Micros): void {
    this.#rebase(at)
    this.#local += by
  }

  /** The readings from now on: one, or during a suspension two. */
  readings(at: Micros): readonly ClockReading[] {
    const running = {
      from: Math.max(this.#since, at),
      shows: this.at(Math.max(this.#since, at)),
      rate: this.#rate,
    }
    return this.#since > at ? [{ from: at, shows: this.#local, rate: 0 }, running] : [running]
  }

  #rebase(at: Micros): void {
    this.#local = this.at(at)
    this.#since = Math.max(this.#since, at)
  }
}

function rateOf(driftPpm: number): number {
  return 1 + driftPpm / 1_000_000
}
