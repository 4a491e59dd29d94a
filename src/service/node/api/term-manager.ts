/**
 * Terms and the work that is done in them: when a node is a candidate, keeps its lease, releases it, or lets it expire.
 *
 * One rule is never broken: while work that began under a lease is running, the lease is not released. It is renewed for
 * as long as the work may take to end, and then it expires.
 */

import type { Micros, NodeId } from '../../../core/index.ts'
import type { ElectionBackend, Lease } from '../election/election.ts'
import { EARLY_MS, type Timers } from '../election/timers.ts'
import { LeadershipLostError } from './errors.ts'
import { type Loss, type LossReason, moreExact } from './loss-reason.ts'
import { CurrentTerm, type Term } from './term.ts'

export type TermManagerSettings = {
  readonly timers: Timers
  /** How long the lease is renewed after its work was asked to stop. */
  readonly drainMs: number
  /** Null before the election runs. */
  backend(): ElectionBackend | null
  /** Whether the application is fit to lead. */
  isFit(): boolean
  /** Called when work has not ended within `drainMs`. */
  onOverdue(): void
}

/** The running work and its term. `ended` resolves when the work has ended and the lease was released. */
type RunningWork = { readonly term: CurrentTerm; readonly ended: Promise<void> }

export class TermManager {
  readonly #settings: TermManagerSettings
  #term: CurrentTerm | null = null
  #work: RunningWork | null = null
  #isStuck = false
  /** The chosen successors of terms that are ending. */
  readonly #successors = new WeakMap<CurrentTerm, NodeId>()
  #isWanted = false
  /** The candidacy that the backend was given last. */
  #candidacy = { willing: false, lapse: false }

  constructor(settings: TermManagerSettings) {
    this.#settings = settings
  }

  /** The current term, from its election to its end. */
  get term(): CurrentTerm | null {
    return this.#term
  }

  get isWanted(): boolean {
    return this.#isWanted
  }

  /** Work of a term that has ended, or should have, is still running. */
  get isOverdue(): boolean {
    return this.#isStuck || (this.#work !== null && this.#work.term !== this.#term)
  }

  /** The term whose work is running. */
  get workingTerm(): CurrentTerm | null {
    return this.#work?.term ?? null
  }

  // ---- Called by the backend, possibly within a step: effects are deferred ----

  handleElected(token: number | null): void {
    const term = new CurrentTerm(
      token,
      () => this.#lease(),
      (late) => this.#settings.backend()?.explain(late) ?? null,
    )
    this.#term = term
    queueMicrotask(() => {
      void this.updateCandidacy()
      this.#watch(term)
    })
  }

  /** Returns why the term ended, which may have been decided before. */
  handleDemoted(token: number | null, loss: Loss): Loss {
    const term = this.#term
    this.#term = null
    term?.endWith(loss)
    queueMicrotask(() => {
      // The clock of this thread may have ended the term while the election goes on: then the lease must be released.
      // Where a view has withdrawn because work of the one before is running, the node leads again when that has ended.
      if (this.#work === null && loss.reason !== 'withdrew') void this.#settings.backend()?.stepDown(token)
      void this.updateCandidacy()
    })
    return term === null || term.ended === null ? loss : moreExact(term.ended, loss)
  }

  // ---- Called by the application ----

  /** Whether the application wants to lead from now on. */
  async setWanted(isWanted: boolean): Promise<void> {
    this.#isWanted = isWanted
    await this.updateCandidacy()
  }

  /** Runs the work of a term, and releases the lease when it has ended. Resolves to false if the work did not start. */
  async runWork(term: CurrentTerm, work: (term: Term) => void | Promise<void>): Promise<boolean> {
    // The term may have ended since it was found. Work that only listens to its signal would never end.
    if (term.signal.aborted) return false
    let setEnd: (end: Promise<void>) => void = () => {}
    const ended = new Promise<void>((resolve) => {
      setEnd = resolve
    })
    // Noted before the work starts: its first statements may end the term, and the lease must outlast the work.
    this.#work = { term, ended }
    const result = (async () => work(term))()
    let wasEnded = false
    const finish = async (): Promise<void> => {
      // Releasing the lease ends the term, too.
      wasEnded = term.signal.aborted
      this.#work = null
      this.#isStuck = false
      await this.#release(term)
    }
    setEnd(result.then(finish, finish))
    try {
      await result
    } catch (error) {
      // The end of the term tells work to stop: passing that error on is not a failure.
      const isEndOfTerm = error instanceof LeadershipLostError || (wasEnded && isAbort(error, term.signal))
      if (!isEndOfTerm) throw error
    } finally {
      await ended
    }
    return true
  }

  /** Ends the term whose work runs; without work, the term that was won just now, whose work is about to start. */
  stop(): void {
    const term = this.workingTerm ?? this.term
    if (term !== null) void this.drain(term, 'stopped')
  }

  /**
   * Ends a term, its work first, then releases the lease. `to`: the node that should lead next. Resolves to false when the
   * work has not ended in time.
   */
  async drain(
    term: CurrentTerm,
    reason: LossReason | Loss,
    signal?: AbortSignal,
    to?: NodeId,
  ): Promise<boolean> {
    if (to !== undefined) this.#successors.set(term, to)
    term.end(reason)
    const work = this.#work
    if (work === null || work.term !== term) {
      await this.#release(term)
      return true
    }
    if (await this.#endsInTime(work.ended, signal)) return true
    if (this.#work === work && !this.#isStuck) {
      this.#isStuck = true
      this.#settings.onOverdue()
      await this.updateCandidacy()
    }
    return false
  }

  /**
   * Tells the backend whether this node is a candidate. While the work of the current term runs, it is. Afterwards the
   * application decides. While any work runs nothing is released: a lease that is not renewed expires.
   */
  async updateCandidacy(): Promise<void> {
    const work = this.#work
    const willing =
      work === null ? this.#isWanted && this.#settings.isFit() : work.term === this.#term && !this.#isStuck
    const lapse = !willing && work !== null
    if (this.#candidacy.willing === willing && this.#candidacy.lapse === lapse) return
    this.#candidacy = { willing, lapse }
    await this.#settings.backend()?.command({ do: 'campaign', willing, lapse })
  }

  /** Ends a term just before its lease does. */
  #watch(term: CurrentTerm, dueAt: Micros = this.#lease().now): void {
    if (term.ended !== null) return
    const late = Math.max(0, this.#lease().now - dueAt)
    const left = term.remaining()
    if (left > EARLY_MS) {
      const waitMs = left - EARLY_MS
      const nextAt = this.#lease().now + waitMs * 1000
      this.#settings.timers.after(waitMs, () => this.#watch(term, nextAt))
      return
    }
    // Reading the view delivers messages that have arrived, which may say why.
    this.#settings.backend()?.view()
    // The election may still renew the lease when only this thread was late: then it must be released.
    void this.drain(term, term.expiry(late))
  }

  #lease(): Lease {
    return this.#settings.backend()?.lease() ?? { until: null, now: 0, token: null, reason: null }
  }

  /** No work runs under the lease: another node may lead. */
  async #release(term: CurrentTerm): Promise<void> {
    term.end('stepped down')
    await this.updateCandidacy()
    await this.#settings.backend()?.stepDown(term.token, this.#successors.get(term))
  }

  /** Resolves to true if the work ends before the drain timeout, and before the signal is aborted. */
  #endsInTime(ended: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> {
    const { timers, drainMs } = this.#settings
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

/** Whether an error is the reason of the signal, or what Node's functions make of it. */
function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError')
}
