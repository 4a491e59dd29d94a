/**
 * Terms and the work that is done in them: when a lead is wanted, kept, let go, or left to lapse.
 *
 * One rule stands over all: while work is under way that began under a lead, that lead is never let go. It is renewed
 * for as long as the work may take to end, and then it lapses.
 */

import type { ElectionBackend } from '../election/election.ts'
import type { Timers } from '../election/timers.ts'
import { LeadershipLostError } from './errors.ts'
import { CurrentTerm, type Term } from './term.ts'

export type TermManagerSettings = {
  readonly timers: Timers
  /** How long work that was told to end may take, before its lease is no longer renewed. */
  readonly drainMs: number
  /** Null before the election runs. */
  seat(): ElectionBackend | null
  /** Whether the application is fit to lead. */
  isFit(): boolean
  /** Work has not ended in time. */
  overdue(): void
}

/** What the application does, and in which term; `ended` is kept when that is over and the lead was let go. */
type Working = { readonly term: CurrentTerm; readonly ended: Promise<void> }

/**
 * How long before a lease ends that was not renewed its work is told: timers are late by a millisecond or two, and
 * somebody else may lead soon after. Renewing has had all its tries by then.
 */
const EARLY_MS = 5

export class TermManager {
  readonly #hooks: TermManagerSettings
  #term: CurrentTerm | null = null
  #working: Working | null = null
  #isStuck = false
  #isWanted = false
  /** What the seat was told last. */
  #told = { willing: false, lapse: false }

  constructor(hooks: TermManagerSettings) {
    this.#hooks = hooks
  }

  /** The term under way, from its election to its end. */
  get term(): CurrentTerm | null {
    return this.#term
  }

  get isWanted(): boolean {
    return this.#isWanted
  }

  /** Work of a term that is over, or should be, is still under way. */
  get isOverdue(): boolean {
    return this.#isStuck || (this.#working !== null && this.#working.term !== this.#term)
  }

  /** The term whose work is under way. */
  get working(): CurrentTerm | null {
    return this.#working?.term ?? null
  }

  // ---- As the seat says: nothing may be done at once ----

  handleElected(token: number | null): void {
    const term = new CurrentTerm(
      token,
      () => this.#hooks.seat()?.lease() ?? { until: null, now: 0, token: null, reason: null },
    )
    this.#term = term
    queueMicrotask(() => {
      void this.updateCandidacy()
      this.#watch(term)
    })
  }

  /** Says why the term has ended: that may have been known before. */
  handleDemoted(token: number | null, cause: string): string {
    const term = this.#term
    this.#term = null
    term?.endedBy(cause)
    queueMicrotask(() => {
      // The clock of this thread may have ended it while the election goes on: then nobody should lead by it. Where a
      // view has withdrawn because work of the one before was under way, it leads again when that has ended.
      if (this.#working === null && cause !== 'withdrew') void this.#hooks.seat()?.stepDown(token)
      void this.updateCandidacy()
    })
    return term?.ended ?? cause
  }

  // ---- As the application says ----

  /** It would lead from now on, or would not. */
  async setWanted(isWanted: boolean): Promise<void> {
    this.#isWanted = isWanted
    await this.updateCandidacy()
  }

  /** Does the work of a term, and lets the lead go when it has ended. */
  async runWork(term: CurrentTerm, work: (term: Term) => void | Promise<void>): Promise<void> {
    const result = (async () => work(term))()
    const over = async (): Promise<void> => {
      this.#working = null
      this.#isStuck = false
      await this.#letGo(term)
    }
    const ended = result.then(over, over)
    this.#working = { term, ended }
    try {
      await result
    } catch (error) {
      // The end of the term is how work is told to stop: passing that on is no failure.
      const isToldSo =
        error instanceof LeadershipLostError || (term.signal.aborted && isAbort(error, term.signal))
      if (!isToldSo) throw error
    } finally {
      await ended
    }
  }

  /** Ends a term, its work first, then lets the lead go. False when the work has not ended in time. */
  async drain(term: CurrentTerm, reason: string, signal?: AbortSignal): Promise<boolean> {
    term.end(reason)
    const working = this.#working
    if (working === null || working.term !== term) {
      await this.#letGo(term)
      return true
    }
    if (await this.#within(working.ended, signal)) return true
    if (this.#working === working && !this.#isStuck) {
      this.#isStuck = true
      this.#hooks.overdue()
      await this.updateCandidacy()
    }
    return false
  }

  /**
   * Tells the seat whether this process would lead. While there is work under the present term it leads on; afterwards
   * it depends on the application. As long as any work is under way nothing is let go: what is not renewed lapses.
   */
  async updateCandidacy(): Promise<void> {
    const working = this.#working
    const willing =
      working === null ? this.#isWanted && this.#hooks.isFit() : working.term === this.#term && !this.#isStuck
    const lapse = !willing && working !== null
    if (this.#told.willing === willing && this.#told.lapse === lapse) return
    this.#told = { willing, lapse }
    await this.#hooks.seat()?.command({ do: 'campaign', willing, lapse })
  }

  /** Ends a term just before its lease does. */
  #watch(term: CurrentTerm): void {
    if (term.ended !== null) return
    const left = term.remaining()
    if (left > EARLY_MS) {
      this.#hooks.timers.after(left - EARLY_MS, () => this.#watch(term))
      return
    }
    // What has arrived but was not heard yet may say why.
    this.#hooks.seat()?.view()
    // The election may renew it all the same, when only this thread was late: then nobody must lead by it.
    void this.drain(term, term.expiry)
  }

  /** Nobody works under it any more: whoever comes next may begin. */
  async #letGo(term: CurrentTerm): Promise<void> {
    term.end('stepped down')
    await this.updateCandidacy()
    await this.#hooks.seat()?.stepDown(term.token)
  }

  /** Whether it is kept before it is no longer worth waiting for. */
  #within(ended: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> {
    const { timers, drainMs } = this.#hooks
    return new Promise((resolve) => {
      const done = (inTime: boolean): void => {
        cancel()
        signal?.removeEventListener('abort', onAbort)
        resolve(inTime)
      }
      const onAbort = (): void => done(false)
      const cancel = timers.after(drainMs, onAbort)
      signal?.addEventListener('abort', onAbort)
      void ended.then(() => done(true))
      if (signal?.aborted === true) onAbort()
    })
  }
}

/** The signal's own reason, or what Node's functions make of it. */
function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError')
}
