/** Waits for conditions on the state of the protocol, which changes only in its steps. */
export class Watch {
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  /** Call after every step. */
  notify(): void {
    for (const check of this.#waiting) check()
  }

  close(): void {
    this.#isClosed = true
    this.notify()
  }

  /** Resolves to true when the condition holds, to false when the node closes first. Rejects when aborted. */
  until(isSo: () => boolean, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const outcome = isSo()
        if (!outcome && !this.#isClosed && signal?.aborted !== true) return
        this.#waiting.delete(check)
        signal?.removeEventListener('abort', check)
        if (outcome) resolve(true)
        else if (signal?.aborted === true) reject(signal.reason as Error)
        else resolve(false)
      }
      this.#waiting.add(check)
      signal?.addEventListener('abort', check)
      check()
    })
  }
}
