/** The warnings of a node: it emits them, and keeps the last ones for its status. */
import type { RecentWarning } from './status.ts'

type Warning = { readonly what: string; readonly detail: string }

const MOST_KEPT = 50

/** Warnings about measurements differ only in their numbers. */
const MEASURED = ['late', 'slow', 'paused']

/** Equal for repetitions of a warning. */
function keyOf(what: string, detail: string): string {
  return MEASURED.includes(what) ? what : `${what}: ${detail.replace(/\b\d+ datagrams?\b/, '')}`
}

export class RecentWarnings {
  readonly #emit: (warning: Warning) => void
  readonly #now: () => number
  /** Warnings from before `join` returned, when no listener could hear them; null afterwards. */
  #held: Warning[] | null = []
  /** The newest last. */
  readonly #kept = new Map<string, RecentWarning>()

  constructor(emit: (warning: Warning) => void, now: () => number = Date.now) {
    this.#emit = emit
    this.#now = now
  }

  /** The caller of `join` has its node, and has added its listeners. */
  open(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const warning of held) this.#emit(warning)
  }

  /** A warning that is repeated counts once more; its newest text is kept. */
  add(what: string, detail: string): void {
    if (this.#held === null) this.#emit({ what, detail })
    else this.#held.push({ what, detail })
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
