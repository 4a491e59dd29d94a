/**
 * Watches, from the election's thread, whether the application's thread still has its turns.
 *
 * A lease that is renewed while nobody can act on it makes a zombie: so when the application has made no progress for
 * `maxStallMs`, its lease is no longer renewed until it has. A process that was stopped as a whole is not blamed on the
 * application: for as long as this thread did not run either, nothing is counted.
 */
import { monotonicNow } from '../../runtime/index.ts'
import type { SharedState } from './shared-lease.ts'

/** How often it looks, once it stands still, whether it goes on. */
const LOOK_AGAIN_MS = 10

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
  /** When it meant to look again. */
  #dueAt = Number.POSITIVE_INFINITY
  /** By how much it was late itself since the application's last sign: then the whole process stood still. */
  #excused = 0
  #seen = 0
  isStalled = false

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

  /** Compares, says what has changed, and looks again when it may change next. */
  look(): void {
    const now = this.#now()
    const { progress } = this.#shared
    const isSameSign = progress === this.#seen
    this.#seen = progress
    this.#excused = (isSameSign ? this.#excused : 0) + Math.max(0, now - Math.max(this.#dueAt, progress))
    const idle = now - progress - this.#excused
    const isStalled = idle >= this.#most
    if (isStalled !== this.isStalled) {
      this.isStalled = isStalled
      if (isStalled) this.#hooks.stalled(idle / 1000)
      else this.#hooks.resumed()
    }
    const waitMs = isStalled ? LOOK_AGAIN_MS : Math.ceil((this.#most - idle) / 1000)
    this.#dueAt = now + waitMs * 1000
    this.#timer = setTimeout(() => this.look(), waitMs)
  }
}

/** How often the application's thread says that it is there: often enough that a late turn or two are no stall. */
export function progressEveryMs(maxStallMs: number): number {
  return Math.max(1, Math.min(100, Math.floor(maxStallMs / 8)))
}
