/**
 * Watches, from the worker of the election, whether the application's thread is blocked.
 *
 * A leader that renews its lease but cannot act is a zombie. So when the application's thread has made no progress for
 * `maxStallMs`, the lease is not renewed until it makes progress again. Time in which the whole process was stopped does
 * not count: this thread did not run then either.
 */
import { monotonicNow } from '../../runtime/index.ts'
import type { SharedState } from './shared-lease.ts'

/** How often it checks a blocked thread for progress. */
const LOOK_AGAIN_MS = 10

/**
 * The longest time between two checks, as a part of `maxStallMs`. A stop of the whole process is excused only from when
 * the next check was due, so up to this much of it counts as a stall of the application.
 */
const CHECK_INTERVAL = 1 / 4

export type StallHooks = {
  stalled(forMs: number): void
  resumed(): void
}

export class StallWatch {
  readonly #shared: Pick<SharedState, 'progress'>
  readonly #most: number
  readonly #hooks: StallHooks
  readonly #now: () => number
  #timer: NodeJS.Timeout | null = null
  /** When the next check was due. */
  #dueAt = Number.POSITIVE_INFINITY
  /** How late this thread was itself since the last progress: then the whole process was stopped. */
  #excused = 0
  #seen = 0
  isStalled = false
  /** How long the application's thread was blocked at the last check of the current or last stall. */
  stalledMs = 0

  constructor(
    shared: Pick<SharedState, 'progress'>,
    maxStallMs: number,
    hooks: StallHooks,
    now: () => number = monotonicNow,
  ) {
    this.#shared = shared
    this.#most = maxStallMs * 1000
    this.#hooks = hooks
    this.#now = now
  }

  start(): void {
    this.look()
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** Compares, reports a change, and schedules the next check. */
  look(): void {
    const now = this.#now()
    const { progress } = this.#shared
    const isSameSign = progress === this.#seen
    this.#seen = progress
    this.#excused = (isSameSign ? this.#excused : 0) + Math.max(0, now - Math.max(this.#dueAt, progress))
    const idle = now - progress - this.#excused
    const isStalled = idle >= this.#most
    if (isStalled) this.stalledMs = idle / 1000
    if (isStalled !== this.isStalled) {
      this.isStalled = isStalled
      if (isStalled) this.#hooks.stalled(idle / 1000)
      else this.#hooks.resumed()
    }
    const waitMs = isStalled
      ? LOOK_AGAIN_MS
      : Math.ceil(Math.min(this.#most - idle, this.#most * CHECK_INTERVAL) / 1000)
    this.#dueAt = now + waitMs * 1000
    this.#timer = setTimeout(() => this.look(), waitMs)
  }
}

/** How often the application's thread records progress: often enough that one or two late timers are no stall. */
export function progressEveryMs(maxStallMs: number): number {
  return Math.max(1, Math.min(100, Math.floor(maxStallMs / 8)))
}
