/**
 * One connection to a store, replaced when it is lost, when it is refused, or when it does not answer in time.
 *
 * The clients' own reconnecting is switched off: each has its own idea of how long to wait, what to send again, and
 * when to give up for ever. Here it is the same for all: the next call after a loss connects again, no sooner than a
 * pause that doubles with each failure (exponential backoff with jitter); calls in between fail at once. A call that is
 * given up takes its connection with it, so that nothing waits behind a connection that is half-open.
 */
import { StoreUnreachableError } from './errors.ts'

const FIRST_PAUSE_MS = 50
/** The longest pause between two attempts to connect. */
export const MAX_PAUSE_MS = 1000
/** An attempt to connect again that takes longer has failed. The first may take longer: nobody leads by it yet. */
export const CONNECT_TIMEOUT_MS = 2000
export const OPEN_TIMEOUT_MS = 5000

/** Exponential backoff with jitter: half of the pause is certain, the rest is chance. */
export function backoffMs(failures: number): number {
  const full = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS)
  return full * (0.5 + Math.random() / 2)
}

/** Says when the next attempt is due. */
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

  /** Throws the last failure as long as the pause lasts. */
  check(): void {
    if (performance.now() < this.#notBefore) throw this.#last
  }
}

export type ConnectionOptions<C> = {
  /** Names the store in errors. */
  readonly place: string
  /**
   * A connection that is ready for use. The signal ends the attempt after `limitMs`, or before; what the attempt holds
   * must then be released.
   */
  connect(signal: AbortSignal, limitMs: number): Promise<C>
  /** Releases everything that the connection holds, at once, whatever it is doing. */
  release(client: C): void
  /** Whether the connection is of no use after this error. */
  isLost(error: unknown): boolean
}

export class Connection<C> {
  readonly #options: ConnectionOptions<C>
  readonly #backoff = new Backoff()
  readonly #ending = new AbortController()
  #client: Promise<C> | null = null
  #limitMs = OPEN_TIMEOUT_MS

  constructor(options: ConnectionOptions<C>) {
    this.#options = options
  }

  /** Runs the work on the connection; rejects when the signal does, whether or not the client notices. */
  async use<T>(signal: AbortSignal, work: (client: C) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const opening = this.#obtain()
    // An attempt to connect has a limit of its own: it may serve the next call.
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

  /** The connection breaks, as the client says. */
  handleLoss(client: C, error: unknown): void {
    const opening = this.#client
    void opening?.then(
      (current) => {
        if (current === client) this.#drop(opening, error)
      },
      () => {},
    )
  }

  /** Nothing is held any more when this is done, and nothing will be. */
  async close(): Promise<void> {
    this.#ending.abort(new StoreUnreachableError(this.#options.place, new Error('it has been closed')))
    const opening = this.#client
    this.#client = null
    await opening?.then(this.#options.release, () => {})
  }

  #obtain(): Promise<C> {
    this.#ending.signal.throwIfAborted()
    if (this.#client !== null) return this.#client
    this.#backoff.check()
    const opening = this.#attempt()
    this.#client = opening
    opening.catch((error: unknown) => this.#drop(opening, error))
    return opening
  }

  async #attempt(): Promise<C> {
    const { connect, release, place } = this.#options
    const late = new StoreUnreachableError(place, new Error(`no connection within ${this.#limitMs} ms`))
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(late), this.#limitMs)
    const signal = AbortSignal.any([limit.signal, this.#ending.signal])
    const connecting = connect(signal, this.#limitMs)
    try {
      const client = await rejectOnAbort(connecting, signal)
      this.#limitMs = CONNECT_TIMEOUT_MS
      return client
    } catch (error) {
      // One that is ready after all has come too late.
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

/** As the promise, but rejects as soon as the signal is aborted. */
export function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
