/** Warns of the problems of an outage of a store: of each once, because a server may come back and refuse the password. */
import { kindOfProblem, UNTIL_STORE_ANSWERS } from '../../registers/index.ts'
import type { ElectionEvents } from './election.ts'

/** How many problems of one outage are reported. */
const MOST_PROBLEMS = 10

export class OutageReport {
  readonly #group: string
  readonly #events: Pick<ElectionEvents, 'warn'>
  /** The kinds of problems that were reported; none when the store answers. */
  readonly #reported = new Set<string>()

  constructor(group: string, events: Pick<ElectionEvents, 'warn'>) {
    this.#group = group
    this.#events = events
  }

  add(why: string): void {
    const kind = kindOfProblem(why)
    if (this.#reported.has(kind) || this.#reported.size === MOST_PROBLEMS) return
    this.#reported.add(kind)
    this.#events.warn('store', `${why}; ${UNTIL_STORE_ANSWERS}`)
  }

  /** The store answers. */
  end(): void {
    if (this.#reported.size > 0) this.#events.warn('store', `the store of ${this.#group} answers again`)
    this.#reported.clear()
  }
}
