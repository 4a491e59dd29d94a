/** One leadership, as the application holds it. */
import { LeadershipLost } from './errors.ts'
import type { Lease } from './seat.ts'

export type Term = {
  /** Larger than that of every leadership before: resources that check it refuse an older leader. Null in local mode. */
  readonly token: number | null
  /** Aborted when the term ends, before anybody else may lead. */
  readonly signal: AbortSignal
  /** Milliseconds for which this process surely leads, as things stand; 0 when the term is over. */
  remaining(): number
  /** Throws LeadershipLost unless this process leads now, and for at least so many milliseconds more. */
  assertHeld(leastMs?: number): void
}

/** A term that is under way: whoever runs the node ends it, or the clock does. */
export class HeldTerm implements Term {
  readonly token: number | null
  readonly #abort = new AbortController()
  readonly #lease: () => Lease
  #ended: string | null = null

  constructor(token: number | null, lease: () => Lease) {
    this.token = token
    this.#lease = lease
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Why it is over; null while it lasts. */
  get ended(): string | null {
    return this.#ended
  }

  remaining(): number {
    if (this.#ended !== null) return 0
    const { until, now, token } = this.#lease()
    return until === null || token !== this.token ? 0 : Math.max(0, (until - now) / 1000)
  }

  assertHeld(leastMs = 0): void {
    if (this.#ended !== null) throw new LeadershipLost(this.#ended)
    const left = this.remaining()
    if (left <= 0) throw new LeadershipLost('expired')
    if (left < leastMs)
      throw new LeadershipLost(`only ${left.toFixed(1)} ms of the lease are left, ${leastMs} asked for`)
  }

  /** Ends it, once. */
  end(reason: string): void {
    if (this.#ended !== null) return
    this.#ended = reason
    this.#abort.abort(new LeadershipLost(reason))
  }
}
