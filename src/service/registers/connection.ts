/**
 * One connection to a store, replaced when it is lost, refused, or too slow.
 *
 * The clients' own reconnection is switched off, because each differs in its pauses, retries and limits. Here all stores
 * behave the same: the next call after a loss reconnects, after a pause with exponential backoff and jitter; calls during
 * the pause fail at once. A call that times out drops its connection, so that no later call waits on a half-open one.
 */
import { StoreUnreachableError } from './errors.ts'

const FIRST_PAUSE_MS = 50
/** Longest pause between two connection attempts. */
export const MAX_PAUSE_MS = 1000
/** Timeout of a reconnection. The first connection may take longer: the node does not lead yet. */
export const CONNECT_TIMEOUT_MS = 2000
export const OPEN_TIMEOUT_MS = 5000

/** Exponential backoff with jitter: half of the pause is fixed, the rest is random. */
export function backoffMs(failures: number): number {
  const full = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS)
  return full * (0.5 + Math.random() / 2)
}

export class Backoff {
  #failures = 0
  #notBefore = 0
  #last: unknown = null

  reset(): void {
    this.#failures = 0
    this.#notBefore = 0
  }

  recordFailure(error: unknown): void {
    this.#failures += 1
    this.#notBefore = performance.now() + backoffMs(this.#failures)
    this.#last = error
  }

  /** Throws the last failure during the pause. */
  check(): void {
    if (performance.now() < this.#notBefore) throw this.#last
  }
}

export type ConnectionOptions<C> = {
  /** Names the store in errors. */
  readonly place: string
  /**
   * Opens a connection that is ready for use. The signal aborts the attempt after `limitMs` or earlier; the attempt must
   * then release its resources.
   */
  connect(signal: AbortSignal, limitMs: number): Promise<C>
  /** Releases all resources of the connection at once. */
  release(client: C): void
  /** Whether the connection is unusable after this error. */
  isLost(error: unknown): boolean
}

export class Connection<C> {
  readonly #options: ConnectionOptions<C>
  readonly #backoff = new Backoff()
  readonly #closing = new AbortController()
  #client: Promise<C> | null = null
  #limitMs = OPEN_TIMEOUT_MS

  constructor(options: ConnectionOptions<C>) {
    this.#options = options
  }

  /** Runs the work on the connection. Rejects on abort even if the client ignores the signal. */
  async use<T>(signal: AbortSignal, work: (client: C) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const opening = this.#getClient()
    // A connection attempt has its own timeout: it may serve the next call.
    const client = await rejectOnAbort(opening, signal)
    try {
      const result = await rejectOnAbort(work(client), signal)
      this.#backoff.reset()
      return result
    } catch (error) {
      if (signal.aborted || this.#options.isLost(error)) this.#drop(opening, error)
      throw error
    }
  }

  /** Called when the client reports the loss of its connection. */
  handleLoss(client: C, error: unknown): void {
    const opening = this.#client
    void opening?.then(
      (current) => {
        if (current === client) this.#drop(opening, error)
      },
      () => {},
    )
  }

  /** Releases the connection. Later calls fail. */
  async close(): Promise<void> {
    this.#closing.abort(new StoreUnreachableError(this.#options.place, new Error('it has been closed')))
    const opening = this.#client
    this.#client = null
    await opening?.then(this.#options.release, () => {})
  }

  #getClient(): Promise<C> {
    this.#closing.signal.throwIfAborted()
    if (this.#client !== null) return this.#client
    this.#backoff.check()
    const opening = this.#connect()
    this.#client = opening
    opening.catch((error: unknown) => this.#drop(opening, error))
    return opening
  }

  async #connect(): Promise<C> {
    const { connect, release, place } = this.#options
    const late = new StoreUnreachableError(place, new Error(`no connection within ${this.#limitMs} ms`))
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(late), this.#limitMs)
    const signal = AbortSignal.any([limit.signal, this.#closing.signal])
    const connecting = connect(signal, this.#limitMs)
    try {
      const client = await rejectOnAbort(connecting, signal)
      this.#limitMs = CONNECT_TIMEOUT_MS
      return client
    } catch (error) {
      // A connection that becomes ready later is released.
      connecting.then(release, () => {})
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  #drop(opening: Promise<C>, error: unknown): void {
    if (this.#client !== opening) return
    this.#client = null
    this.#backoff.recordFailure(error)
    opening.then(this.#options.release, () => {})
  }
}

/** Aborted after this time, with an error that names the store. */
export function unreachableAfter(ms: number, place: string): AbortSignal {
  const controller = new AbortController()
  const late = new StoreUnreachableError(place, new Error(`no answer within ${ms} ms`))
  setTimeout(() => controller.abort(late), ms).unref()
  return controller.signal
}

/** Settles like the promise, but rejects as soon as the signal is aborted. */
export function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
