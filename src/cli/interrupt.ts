/** Ends long work early on SIGINT or SIGTERM, so that its partial results are printed. */

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const

export class Interruption {
  readonly #controller = new AbortController()
  readonly #listeners: readonly (readonly ['SIGINT' | 'SIGTERM', () => void])[]
  #exitCode: number | null = null

  /** The first signal is remembered; a second one ends the process at once. */
  constructor() {
    this.#listeners = (['SIGINT', 'SIGTERM'] as const).map((name) => [name, () => this.#take(name)] as const)
    for (const [name, listener] of this.#listeners) process.on(name, listener)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isInterrupted(): boolean {
    return this.#exitCode !== null
  }

  /** The exit code of the interrupted command, as shells expect it; null if it was not interrupted. */
  get exitCode(): number | null {
    return this.#exitCode
  }

  /** Restores what the signals do by default. */
  close(): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener)
  }

  #take(name: 'SIGINT' | 'SIGTERM'): void {
    if (this.#exitCode !== null) process.exit(this.#exitCode)
    this.#exitCode = EXIT_CODES[name]
    this.#controller.abort()
  }
}
