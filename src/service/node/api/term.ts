/** One term of one node. */

import type { Micros } from '../../../core/index.ts'
import type { Explanation } from '../../runtime/index.ts'
import type { Lease } from '../election/election.ts'
import { parseMilliseconds } from './arguments.ts'
import { LeadershipLostError } from './errors.ts'
import { type Loss, type LossReason, lossFrom } from './loss-reason.ts'

export type Term = {
  /** The fencing token: larger than that of every earlier term, so that resources can reject an old leader. Null in local mode. */
  readonly token: number | null
  /** Aborted with a LeadershipLostError when the term ends, before another node can lead. */
  readonly signal: AbortSignal
  /** Milliseconds for which this node is sure to lead; 0 when the term has ended. */
  remaining(): number
  /** Throws LeadershipLostError unless this node leads now, and for at least `leastMs` milliseconds more. */
  assertHeld(leastMs?: number): void
}

/** A term with the means to end it. The lease and the clock are read at every call, so no event has to arrive first. */
export class CurrentTerm implements Term {
  readonly token: number | null
  readonly #abort = new AbortController()
  readonly #lease: () => Lease
  readonly #explain: (late: Micros) => Explanation | null
  #ended: Loss | null = null
  /** Set when a caller found the lease over. From then on the term does not come back. */
  #over: Loss | null = null

  /** `explain` says why a lease that ends now was not renewed, if this thread is so late. */
  constructor(
    token: number | null,
    lease: () => Lease,
    explain: (late: Micros) => Explanation | null = () => null,
  ) {
    this.token = token
    this.#lease = lease
    this.#explain = explain
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Why it ended; null while it lasts. */
  get ended(): Loss | null {
    return this.#ended
  }

  /** The reason if the clock ends it: the backend may know why the lease is not renewed. `late`: of this thread. */
  expiry(late: Micros): Loss {
    return this.#lossBecause(this.#lease().reason, late)
  }

  remaining(): number {
    return this.#ended === null && this.#over === null ? this.#readClock() : 0
  }

  assertHeld(leastMs = 0): void {
    parseMilliseconds('leastMs', leastMs)
    const left = this.remaining()
    const loss = this.#ended ?? this.#over
    if (loss !== null) throw new LeadershipLostError(loss)
    if (left < leastMs) {
      const detail = `${left.toFixed(1)} ms are left, ${leastMs} ms are needed`
      throw new LeadershipLostError({ reason: 'lease too short', detail })
    }
  }

  /**
   * Ends it, once, at the request of the application or the library. If the lease was over by then, that is the reason:
   * a process that was stopped for a while often hears from its work first, and only then from the clock.
   */
  end(reason: LossReason | Loss): void {
    if (this.#ended !== null) return
    this.remaining()
    this.endWith(this.#over ?? (typeof reason === 'string' ? { reason, detail: null } : reason))
  }

  /** Ends it, once, because the election says so. */
  endWith(loss: Loss): void {
    if (this.#ended !== null) return
    this.#ended = loss
    this.#abort.abort(new LeadershipLostError(loss))
  }

  #readClock(): number {
    const { until, now, token, reason } = this.#lease()
    const left = until === null || token !== this.token ? 0 : Math.max(0, (until - now) / 1000)
    // Reading the lease may have delivered the message that ended it.
    if (left === 0) this.#over ??= this.#ended ?? this.#lossBecause(reason, until === null ? 0 : now - until)
    return left
  }

  #lossBecause(reason: string | null, late: Micros): Loss {
    const cause = reason ?? 'expired'
    return lossFrom(cause, cause === 'expired' ? this.#explain(late) : null)
  }
}
