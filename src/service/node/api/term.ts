/** One leadership, as the application holds it. */

import type { Lease } from '../election/election.ts'
import { parseMilliseconds } from './arguments.ts'
import { LeadershipLostError } from './errors.ts'

export type Term = {
  /** Larger than that of every leadership before: resources that check it refuse an older leader. Null in local mode. */
  readonly token: number | null
  /** Aborted when the term ends, before anybody else may lead. */
  readonly signal: AbortSignal
  /** Milliseconds for which this process surely leads, as things stand; 0 when the term is over. */
  remaining(): number
  /** Throws LeadershipLostError unless this process leads now, and for at least so many milliseconds more. */
  assertHeld(leastMs?: number): void
}

/** A term that is under way: whoever runs the node ends it, or the clock does. */
export class CurrentTerm implements Term {
  readonly token: number | null
  readonly #abort = new AbortController()
  readonly #lease: () => Lease
  #ended: string | null = null
  /** Why nothing was left of it when somebody looked: from then on it does not come back. */
  #over: string | null = null

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

  /** What its end by the clock is called: the lease may have been left to lapse for a reason. */
  get expiry(): string {
    return this.#lease().reason ?? 'expired'
  }

  remaining(): number {
    return this.#ended === null && this.#over === null ? this.#look() : 0
  }

  assertHeld(leastMs = 0): void {
    parseMilliseconds('leastMs', leastMs)
    const left = this.remaining()
    const reason = this.#ended ?? this.#over
    if (reason !== null) throw new LeadershipLostError(reason)
    if (left < leastMs)
      throw new LeadershipLostError(`only ${left.toFixed(1)} ms of the lease are left, ${leastMs} asked for`)
  }

  /**
   * Ends it, once, because somebody asked for that. If its lease was over by then, that is the reason: a process that
   * was stopped for a while often hears from its work first, and only then from the clock.
   */
  end(reason: string): void {
    if (this.#ended !== null) return
    this.remaining()
    this.endedBy(this.#over ?? reason)
  }

  /** Ends it, once, because the election says so. */
  endedBy(cause: string): void {
    if (this.#ended !== null) return
    this.#ended = cause
    this.#abort.abort(new LeadershipLostError(cause))
  }

  /** Reads the clock: how many milliseconds are left. */
  #look(): number {
    const { until, now, token, reason } = this.#lease()
    const left = until === null || token !== this.token ? 0 : Math.max(0, (until - now) / 1000)
    // Asking may have brought the news of its end.
    if (left === 0) this.#over ??= this.#ended ?? reason ?? 'expired'
    return left
  }
}
