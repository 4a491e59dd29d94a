export type TransferLoad = { readonly running: number; readonly waiting: number }

/** Bounds the number of transfers at a time. A few more may wait; the rest is refused at once. */
export class Limiter {
  readonly #limit: number
  readonly #maxWaiting: number
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(limit: number, maxWaiting: number) {
    this.#limit = limit
    this.#maxWaiting = maxWaiting
  }

  get load(): TransferLoad {
    return { running: this.#running, waiting: this.#waiting.size }
  }

  /** Resolves to a function that releases the place, once; to null if too many wait. Rejects on abort. */
  async acquire(signal: AbortSignal): Promise<(() => void) | null> {
    signal.throwIfAborted()
    if (this.#running >= this.#limit) {
      if (this.#waiting.size >= this.#maxWaiting) return null
      await this.#wait(signal)
    } else this.#running += 1
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#release()
    }
  }

  /** The place of a transfer that ends goes to the first that waits. */
  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = (): void => {
        this.#waiting.delete(start)
        reject(signal.reason as Error)
      }
      this.#waiting.add(start)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  #release(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#running -= 1
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}
