/** The last warnings of a node, for its status. */
import type { RecentWarning } from './status.ts'

const MOST_KEPT = 50

/** Warnings about measurements differ only in their numbers. */
const MEASURED = ['late', 'slow', 'paused']

/** Equal for repetitions of a warning. */
function keyOf(what: string, detail: string): string {
  return MEASURED.includes(what) ? what : `${what}: ${detail.replace(/\b\d+ datagrams?\b/, '')}`
}

export class RecentWarnings {
  readonly #now: () => number
  /** The newest last. */
  readonly #kept = new Map<string, RecentWarning>()

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** A warning that is repeated counts once more; its newest text is kept. */
  add(what: string, detail: string): void {
    const key = keyOf(what, detail)
    const count = (this.#kept.get(key)?.count ?? 0) + 1
    this.#kept.delete(key)
    this.#kept.set(key, { at: new Date(this.#now()).toISOString(), what, detail, count })
    if (this.#kept.size > MOST_KEPT)
      for (const oldest of this.#kept.keys()) return void this.#kept.delete(oldest)
  }

  /** The newest first. */
  list(): readonly RecentWarning[] {
    return [...this.#kept.values()].reverse()
  }
}
