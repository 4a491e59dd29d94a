/**
 * Keeps the page up to date. Two loops: one reads the event stream, which brings the status every second; the other asks
 * for the status whenever the stream brought none for a while, or something happened. So the page works without a stream,
 * and notices at once when the agent is gone.
 */
import { parseEvent, parseHistory, parseLocal, parseStatus, parseTerm } from './parse.ts'
import { parseJson } from './read.ts'
import { AgentError, getJson, notAnAgent, type RequestContext, request } from './requests.ts'
import { readEvents } from './stream.ts'
import type { AgentEvent, History, Local, Status, Term } from './types.ts'

export type FeedEvents = {
  readonly status: (status: Status) => void
  /** No status can be had; why, in words. */
  readonly lost: (problem: AgentError) => void
  /** `isWhole`: the whole history; otherwise one entry that is new or changed. */
  readonly history: (history: Pick<History, 'terms' | 'samples'>) => void
  readonly term: (term: Term) => void
  readonly event: (event: AgentEvent) => void
  /** The agent no longer has all events since the last one. */
  readonly missed: () => void
  /** Something arrived that cannot be read. */
  readonly junk: () => void
  readonly local: (local: Local | null) => void
}

const TICK_MS = 100
/** The stream brings a status every second. */
const STATUS_OVERDUE_MS = 1400
const STATUS_TIMEOUT_MS = 2500
const HISTORY_INTERVAL_MS = 10_000
const LOCAL_INTERVAL_MS = 1500
/** An agent that is gone, or that refuses, is asked again after this time. */
const RETRY_MS = 500
const RETRY_REFUSED_MS = 3000
/** The stream has keep-alive comments every 10 s. */
const STREAM_SILENT_MS = 25_000
/** Not the id of an event: the agent sends all events that it has. */
const FROM_THE_START = '0'

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

export class Feed {
  readonly #context: () => RequestContext
  readonly #on: FeedEvents
  readonly #closing = new AbortController()
  #statusAt = -Infinity
  #askedAt = -Infinity
  #historyAt = -Infinity
  #localAt = -Infinity
  #isAsking = false
  #isDue = true
  #isLost = false
  #isRefused = false
  #hasLocal: boolean | null = null
  #lastEventId: string

  /** `after`: the id of the last event that the page has, from an earlier feed. */
  constructor(context: () => RequestContext, on: FeedEvents, after: string = FROM_THE_START) {
    this.#context = context
    this.#on = on
    this.#lastEventId = after
  }

  get lastEventId(): string {
    return this.#lastEventId
  }

  start(): void {
    void this.#runTicks()
    void this.#runStream()
  }

  /** Asks for the status now, for example after an action. */
  refresh(): void {
    this.#isDue = true
    this.#localAt = -Infinity
  }

  close(): void {
    this.#closing.abort()
  }

  async #runTicks(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const now = performance.now()
      if (!this.#isAsking && this.#mustAsk(now)) void this.#askStatus()
      // The first status is shown before anything else is asked for.
      const hasStatus = this.#statusAt > -Infinity
      if (hasStatus && !this.#isLost && now - this.#historyAt > HISTORY_INTERVAL_MS) void this.#askHistory()
      if (hasStatus && this.#hasLocal !== false && now - this.#localAt > LOCAL_INTERVAL_MS)
        void this.#askLocal()
      // oxlint-disable-next-line no-await-in-loop -- a clock
      await sleep(TICK_MS, signal)
    }
  }

  #mustAsk(now: number): boolean {
    if (this.#isLost) return now - this.#askedAt > (this.#isRefused ? RETRY_REFUSED_MS : RETRY_MS)
    return this.#isDue || now - Math.max(this.#statusAt, this.#askedAt) > STATUS_OVERDUE_MS
  }

  async #askStatus(): Promise<void> {
    this.#isAsking = true
    this.#isDue = false
    this.#askedAt = performance.now()
    const timeout = AbortSignal.timeout(STATUS_TIMEOUT_MS)
    try {
      const status = parseStatus(await getJson('/v1/status', this.#context(), timeout))
      if (status === null) throw new AgentError(200, 'NotStatus', notAnAgent)
      this.#handleStatus(status)
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#handleLoss(error)
    } finally {
      this.#isAsking = false
    }
  }

  #handleStatus(status: Status): void {
    this.#statusAt = performance.now()
    const hasReturned = this.#isLost
    this.#isLost = false
    this.#isRefused = false
    if (hasReturned) {
      this.#historyAt = -Infinity
      this.#hasLocal = null
    }
    this.#on.status(status)
  }

  #handleLoss(error: unknown): void {
    const problem =
      error instanceof AgentError
        ? error
        : new AgentError(null, 'Timeout', `the agent has not answered for ${STATUS_TIMEOUT_MS / 1000} s`)
    this.#isLost = true
    this.#isRefused = problem.status !== null
    this.#on.lost(problem)
  }

  async #askHistory(): Promise<void> {
    this.#historyAt = performance.now()
    try {
      const history = parseHistory(await getJson('/v1/history', this.#context(), this.#closing.signal))
      if (history === null) this.#on.junk()
      else this.#on.history(history)
    } catch {
      // An agent of an older version has no history; a lost agent is noticed by its status.
    }
  }

  async #askLocal(): Promise<void> {
    this.#localAt = performance.now()
    if (this.#isLost) return
    try {
      const value = await getJson('/v1/local', { ...this.#context(), group: null }, this.#closing.signal)
      const local = parseLocal(value)
      this.#hasLocal = local !== null
      this.#on.local(local)
    } catch (error) {
      // Only `conclave up` answers. A lost agent says nothing about that.
      if (!(error instanceof AgentError) || error.status === null) return
      this.#hasLocal = false
      this.#on.local(null)
    }
  }

  async #runStream(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one stream at a time
      await this.#readStream().catch(() => {})
      // The end of the stream is often the end of the agent.
      this.#isDue = true
      // oxlint-disable-next-line no-await-in-loop -- one stream at a time
      await sleep(this.#isRefused ? RETRY_REFUSED_MS : RETRY_MS, signal)
    }
  }

  async #readStream(): Promise<void> {
    const stopping = new AbortController()
    const stop = (): void => stopping.abort()
    this.#closing.signal.addEventListener('abort', stop)
    let silence = setTimeout(stop, STREAM_SILENT_MS)
    const onBytes = (): void => {
      clearTimeout(silence)
      silence = setTimeout(stop, STREAM_SILENT_MS)
    }
    try {
      const { body } = await request('/v1/events', this.#context(), {
        headers: { accept: 'text/event-stream', 'last-event-id': this.#lastEventId },
        signal: stopping.signal,
      })
      if (body === null) return
      for await (const { event, id, data } of readEvents(body, onBytes)) {
        this.#handleEvent(event, parseJson(data))
        if (id !== '') this.#lastEventId = id
      }
    } finally {
      clearTimeout(silence)
      stop()
      this.#closing.signal.removeEventListener('abort', stop)
    }
  }

  #handleEvent(name: string, value: unknown): void {
    if (name === 'snapshot') return
    if (name === 'missed') {
      this.#on.missed()
    } else if (name === 'status') {
      const status = parseStatus(value)
      if (status === null) this.#on.junk()
      else this.#handleStatus(status)
    } else if (name === 'history') {
      const term = parseTerm(value)
      if (term === null) this.#on.junk()
      else this.#on.term(term)
    } else {
      const event = parseEvent(value)
      if (event === null) this.#on.junk()
      else this.#on.event(event)
      // Something happened: do not wait for the next status.
      this.#isDue = true
    }
  }
}
