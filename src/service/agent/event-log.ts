/**
 * A bounded log of recent events. Each watcher reads it at its own pace and keeps its own position, so a slow watcher
 * costs nothing. A watcher that falls behind the oldest event learns that it missed some.
 *
 * The id of an event contains the run of the agent and a sequence number, so ids of an earlier run are recognised.
 */
import type { AgentEvent } from '../client/index.ts'

export type Entry = {
  readonly id: string
  readonly number: number
  readonly event: AgentEvent
  /** As a server-sent event, encoded once for all watchers. */
  readonly frame: Uint8Array
}

/** The events after a position; `missed` if older ones were dropped. */
export type EventBatch = { readonly missed: boolean; readonly entries: readonly Entry[] }

export class EventLog {
  readonly #run: string
  readonly #capacity: number
  readonly #entries: Entry[] = []
  readonly #waiting = new Set<() => void>()
  readonly #listeners: (() => void)[] = []
  #count = 0

  constructor(run: string, capacity = 1000) {
    this.#run = run
    this.#capacity = capacity
  }

  /** Sequence number of the latest event; 0 before the first. */
  get latest(): number {
    return this.#count
  }

  add(event: AgentEvent): void {
    this.#count += 1
    const id = `${this.#run}-${this.#count}`
    const frame = encodeFrame(event.event, JSON.stringify(event), id)
    this.#entries.push({ id, number: this.#count, event, frame })
    if (this.#entries.length > this.#capacity) this.#entries.shift()
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
    for (const listener of this.#listeners) listener()
  }

  /** Calls the listener after each addition. */
  onAdd(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Position after the event with this id; 0, the start, if the id is of another run or malformed. */
  positionOf(id: string): number {
    const at = id.lastIndexOf('-')
    const number = Number(id.slice(at + 1))
    const isOurs = at > 0 && id.slice(0, at) === this.#run && Number.isSafeInteger(number)
    return isOurs && number >= 0 && number <= this.#count ? number : 0
  }

  after(position: number): EventBatch {
    const first = this.#entries[0]?.number ?? this.#count + 1
    return { missed: position + 1 < first, entries: this.#entries.slice(Math.max(0, position + 1 - first)) }
  }

  /** Resolves when an event is added, when the signal is aborted, or after `timeoutMs`. */
  next(signal: AbortSignal, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      signal.addEventListener('abort', done)
      this.#waiting.add(done)
      if (signal.aborted) done()
    })
  }
}

const ENCODER = new TextEncoder()

/** A server-sent event. JSON has no line breaks, so the data is one line. */
export function encodeFrame(name: string, json: string, id: string | null = null): Uint8Array {
  return ENCODER.encode(`event: ${name}\ndata: ${json}\n${id === null ? '' : `id: ${id}\n`}\n`)
}
