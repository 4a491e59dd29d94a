/**
 * The watchers of a group: each has an event stream. What is sent to all of them is encoded once. A watcher that does not
 * read costs nothing: it gets only the newest status, and reads events from the log at its own pace.
 */
import type { TermResponse } from '../client/index.ts'
import { type EventLog, encodeFrame } from './event-log.ts'

/** While anyone watches: how often the status is sent, and how often it is compared with the one sent last. */
const STATUS_INTERVAL_MS = 1000
const COMPARE_INTERVAL_MS = 200
/** A larger status, of a group with many nodes, is sent less often: about this many bytes per second and watcher. */
const MAX_STATUS_BYTES = 32 * 1024
/** Interval of keep-alive comments. They let both sides notice a broken connection. */
const KEEP_ALIVE_MS = 10_000
/** Events that a watcher receives in one chunk, at most. */
const MAX_CHUNK_BYTES = 64 * 1024

const KEEP_ALIVE = new TextEncoder().encode(': keep-alive\n\n')
const MISSED = encodeFrame('missed', '{}')

export type WatchOptions = {
  /** Id of the last event that the watcher received. */
  readonly lastSeen: string | undefined
  /** Whether the watcher receives only events: neither the status nor changes of the history. */
  readonly eventsOnly: boolean
}

/** What the watchers see, in addition to the events. */
export type WatchedGroup = {
  readonly events: EventLog
  /** Sent first: JSON. */
  snapshot(): string
  /** A text that differs exactly when watchers should learn of the change at once, and the status as JSON. */
  status(): { readonly gist: string; json(): string }
}

type Watcher = {
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  readonly eventsOnly: boolean
  position: number
  /** Changed entries of the history that the watcher has not received yet, by number. At most all entries. */
  readonly terms: Map<number, Uint8Array>
  /** The newest status, if the watcher has not received it yet. */
  status: Uint8Array | null
  /** When anything was last sent. */
  sentAt: number
}

export class Watchers {
  readonly #group: WatchedGroup
  readonly #watchers = new Set<Watcher>()
  readonly #onEnd: () => void
  #timer: NodeJS.Timeout | null = null
  #lastGist = ''
  #lastStatusAt = 0
  #slowness = 1

  /** Calls `onEnd` whenever a watcher has left. */
  constructor(group: WatchedGroup, onEnd: () => void = () => {}) {
    this.#group = group
    this.#onEnd = onEnd
    group.events.onAdd(() => this.#sendEvents())
  }

  get size(): number {
    return this.#watchers.size
  }

  watch({ lastSeen, eventsOnly }: WatchOptions): ReadableStream<Uint8Array> {
    const { events } = this.#group
    let watcher: Watcher | null = null
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const position = lastSeen === undefined ? events.latest : events.positionOf(lastSeen)
        watcher = {
          controller,
          eventsOnly,
          position,
          terms: new Map(),
          status: null,
          sentAt: performance.now(),
        }
        this.#watchers.add(watcher)
        controller.enqueue(encodeFrame('snapshot', this.#group.snapshot()))
        if (!eventsOnly) controller.enqueue(encodeFrame('status', this.#group.status().json()))
        this.#start()
      },
      pull: () => {
        if (watcher !== null) this.#sendTo(watcher)
      },
      cancel: () => {
        if (watcher !== null) this.#remove(watcher)
      },
    })
  }

  /** Ends all streams. */
  close(): void {
    for (const watcher of this.#watchers) {
      this.#remove(watcher)
      watcher.controller.close()
    }
  }

  #remove(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher)) return
    if (this.#watchers.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
    this.#onEnd()
  }

  #start(): void {
    this.#timer ??= setInterval(() => this.sendStatus(), COMPARE_INTERVAL_MS)
  }

  /** Sends the status if it is due, or if the condition of the group has changed. */
  sendStatus(): void {
    const now = performance.now()
    for (const watcher of this.#watchers)
      if (watcher.eventsOnly && now - watcher.sentAt >= KEEP_ALIVE_MS) this.#enqueue(watcher, KEEP_ALIVE, now)
    const isWatched = [...this.#watchers].some(({ eventsOnly }) => !eventsOnly)
    if (!isWatched) return
    const status = this.#group.status()
    const { gist } = status
    const hasChanged = gist !== this.#lastGist
    const intervalMs = (hasChanged ? COMPARE_INTERVAL_MS : STATUS_INTERVAL_MS) * this.#slowness
    if (now - this.#lastStatusAt < intervalMs - COMPARE_INTERVAL_MS / 2) return
    this.#lastGist = gist
    this.#lastStatusAt = now
    const frame = encodeFrame('status', status.json())
    this.#slowness = Math.max(1, Math.ceil(frame.length / MAX_STATUS_BYTES))
    for (const watcher of this.#watchers) {
      if (watcher.eventsOnly) continue
      watcher.status = frame
      this.#sendTo(watcher)
    }
  }

  /** Sends a changed entry of the history. */
  sendTerm(term: TermResponse): void {
    if (this.#watchers.size === 0) return
    const frame = encodeFrame('history', JSON.stringify(term))
    for (const watcher of this.#watchers) {
      if (watcher.eventsOnly) continue
      watcher.terms.set(term.number, frame)
      this.#sendTo(watcher)
    }
  }

  #sendEvents(): void {
    for (const watcher of this.#watchers) this.#sendTo(watcher)
  }

  /** Sends what the watcher lacks, as much as it reads. */
  #sendTo(watcher: Watcher): void {
    const { events } = this.#group
    const { terms, position, status } = watcher
    const isUpToDate = position === events.latest && terms.size === 0 && status === null
    if (isUpToDate || !canRead(watcher)) return
    const chunks: Uint8Array[] = [...(status === null ? [] : [status]), ...terms.values()]
    watcher.status = null
    terms.clear()
    const { missed, entries } = events.after(position)
    if (missed) chunks.push(MISSED)
    let bytes = 0
    for (const { number, frame } of entries) {
      watcher.position = number
      chunks.push(frame)
      bytes += frame.length
      if (bytes >= MAX_CHUNK_BYTES) break
    }
    const [only, ...more] = chunks
    if (only !== undefined)
      this.#enqueue(watcher, more.length === 0 ? only : Buffer.concat(chunks), performance.now())
  }

  #enqueue(watcher: Watcher, chunk: Uint8Array, now: number): void {
    if (!canRead(watcher)) return
    watcher.sentAt = now
    watcher.controller.enqueue(chunk)
  }
}

/** Whether the watcher has read all that it was sent. */
const canRead = ({ controller }: Watcher): boolean => (controller.desiredSize ?? 0) > 0
