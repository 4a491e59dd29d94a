/**
 * What happened last, for whoever watches: a bounded list. Watchers read from it at their own pace, each with a place
 * of its own, so a slow one costs nothing; one that falls behind the list learns that it missed something.
 *
 * An event's id names the run of the agent and its number, so that an id of a former run is not taken for one of this.
 */
import type { AgentEvent } from '../client/index.ts'

export type Entry = { readonly id: string; readonly number: number; readonly event: AgentEvent }

/** What a watcher has not seen yet. */
export type Reading = { readonly missed: boolean; readonly entries: readonly Entry[] }

export class History {
  readonly #run: string
  readonly #most: number
  readonly #entries: Entry[] = []
  readonly #waiting = new Set<() => void>()
  #count = 0

  constructor(run: string, most = 1000) {
    this.#run = run
    this.#most = most
  }

  /** The number of the latest event; 0 before the first. */
  get latest(): number {
    return this.#count
  }

  add(event: AgentEvent): void {
    this.#count += 1
    this.#entries.push({ id: `${this.#run}-${this.#count}`, number: this.#count, event })
    if (this.#entries.length > this.#most) this.#entries.shift()
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Where a watcher stands who last saw this id: before everything if that is of another run, or of none. */
  placeOf(id: string): number {
    const at = id.lastIndexOf('-')
    const number = Number(id.slice(at + 1))
    const isOurs = at > 0 && id.slice(0, at) === this.#run && Number.isSafeInteger(number)
    return isOurs && number >= 0 && number <= this.#count ? number : 0
  }

  after(place: number): Reading {
    const first = this.#entries[0]?.number ?? this.#count + 1
    return { missed: place + 1 < first, entries: this.#entries.slice(Math.max(0, place + 1 - first)) }
  }

  /** Resolves when something has been added, when the signal is aborted, or after so long. */
  next(signal: AbortSignal, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, withinMs)
      signal.addEventListener('abort', done)
      this.#waiting.add(done)
      if (signal.aborted) done()
    })
  }
}
