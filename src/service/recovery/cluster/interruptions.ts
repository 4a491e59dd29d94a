/** Runs that ended because a checkpoint could not be stored: each waits before the job continues, longer every time. */
import type { JobProgress } from '../jobs/content.ts'
import { MOST_PROGRESS_TEXT } from '../jobs/context.ts'
import { pause } from './pause.ts'

const LEAST_WAIT_MS = 1000
const MOST_WAIT_MS = 60_000

export class Interruptions {
  readonly #warn: (detail: string) => void
  /** By job: how long the last wait was. */
  readonly #waits = new Map<string, number>()
  readonly #shown = new Map<string, JobProgress>()

  constructor(warn: (detail: string) => void) {
    this.#warn = warn
  }

  /** What the list of jobs shows while the job waits at this node. */
  progressOf(job: string): JobProgress | null {
    return this.#shown.get(job) ?? null
  }

  /** Resolves to true when the job may continue, to false when the node closes first. */
  async wait(
    job: string,
    reason: string,
    progress: JobProgress | null,
    closing: AbortSignal,
  ): Promise<boolean> {
    const last = this.#waits.get(job)
    const waitMs = last === undefined ? LEAST_WAIT_MS : Math.min(MOST_WAIT_MS, 2 * last)
    this.#waits.set(job, waitMs)
    this.#warn(`job "${job}" continues from its last checkpoint in ${waitMs / 1000} s: ${reason}`)
    const text = `waits: ${reason}`.slice(0, MOST_PROGRESS_TEXT)
    this.#shown.set(job, { done: progress?.done ?? 0, text })
    try {
      await pause(waitMs, closing)
      return true
    } catch {
      return false
    } finally {
      this.#shown.delete(job)
    }
  }

  /** A checkpoint was stored, or the job has ended. */
  forget(job: string): void {
    this.#waits.delete(job)
  }
}
