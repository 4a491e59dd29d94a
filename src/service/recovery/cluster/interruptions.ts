/** Runs that ended because a checkpoint could not be stored: each waits before the job continues, longer every time. */
import type { JobProgress } from '../jobs/content.ts'
import { MOST_PROGRESS_TEXT } from '../jobs/context.ts'
import { pause } from './pause.ts'

const LEAST_WAIT_MS = 1000
const MOST_WAIT_MS = 60_000

export class Interruptions {
  /** By job: how long the last wait was. */
  readonly #waits = new Map<string, number>()
  readonly #shown = new Map<string, JobProgress>()

  /** What the list of jobs shows while the job waits at this node. */
  progressOf(job: string): JobProgress | null {
    return this.#shown.get(job) ?? null
  }

  /** Returns how long the job has to wait. */
  next(job: string): number {
    const last = this.#waits.get(job)
    const waitMs = last === undefined ? LEAST_WAIT_MS : Math.min(MOST_WAIT_MS, 2 * last)
    this.#waits.set(job, waitMs)
    return waitMs
  }

  /** Rejects when aborted. */
  async wait(job: string, waitMs: number, shown: JobProgress, signal: AbortSignal): Promise<void> {
    const text = shown.text.slice(0, MOST_PROGRESS_TEXT)
    this.#shown.set(job, { ...shown, text })
    try {
      await pause(waitMs, signal)
    } finally {
      this.#shown.delete(job)
    }
  }

  /** A checkpoint was stored, or the job has ended. */
  forget(job: string): void {
    this.#waits.delete(job)
  }
}
