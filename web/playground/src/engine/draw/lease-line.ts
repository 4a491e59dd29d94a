/**
 * The leases of a node, each from a renewal to the next.
 *
 * `until` is the end on an exact clock: what every other node may count on. `believed` is the true instant at which the
 * holder's own clock shows the end. Suspension, drift and skew move the two apart.
 */
import type { Micros, View } from '../../../../../src/core/index.ts'
import type { LeaseSpan } from '../picture.ts'
import type { ClockLine } from './clock-line.ts'

const ROUNDING: Micros = 2

export class LeaseLine {
  readonly #clock: ClockLine
  readonly #past: LeaseSpan[] = []
  #current: LeaseSpan | null = null

  constructor(clock: ClockLine) {
    this.#clock = clock
  }

  /** `now`: on the node's clock. */
  see(at: Micros, now: Micros, { role, until, token }: View): void {
    if (role !== 'leader' || until === null) {
      this.end(at)
      return
    }
    const believed = this.#clock.whenShows(until, at)
    const exact = at + Math.max(0, until - now)
    const current = this.#current
    // The view has changed, but not its lease. Instants are rounded.
    const isSame =
      current !== null && current.token === token && Math.abs(believed - current.believed) <= ROUNDING
    if (isSame && current.to > at) return
    this.end(at)
    this.#current = { from: at, to: Math.max(exact, believed), until: exact, believed, token }
  }

  end(at: Micros): void {
    const current = this.#current
    this.#current = null
    if (current !== null && current.to > current.from)
      this.#past.push({ ...current, to: Math.min(current.to, at) })
  }

  build(): readonly LeaseSpan[] {
    this.end(Number.POSITIVE_INFINITY)
    return this.#past
  }
}
