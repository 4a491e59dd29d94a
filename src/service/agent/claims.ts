/**
 * Who acts on this agent's lead. Whoever claims it is told for how long, and may go on acting for that long without
 * asking again; so the lead is handed over only when every claim was given back or has run out. A claim never outlasts
 * the lease that it was given under: when the lease is lost, there is nothing to wait for.
 */
import { randomBytes } from 'node:crypto'

/** At once; more are refused. */
const MOST_CLAIMS = 64

export class Claims {
  /** Until when each lasts, as `performance.now()` has it. */
  readonly #until = new Map<string, number>()
  #isEnding = false
  #wake: () => void = () => {}

  /** Whether the lead is about to be handed over: then nobody new may claim it. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  /** All that an agent does with a term: it lasts until it is told to end and nobody acts on it any more. */
  readonly during = async ({ signal }: { readonly signal: AbortSignal }): Promise<void> => {
    this.#until.clear()
    this.#isEnding = false
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
    })
    this.#isEnding = true
    // oxlint-disable-next-line no-await-in-loop -- until nobody is left
    while (this.#leftMs() > 0) await this.#change(this.#leftMs())
  }

  /** A new one, or, by its name, one that lasts on; null when it cannot be had. */
  take(claim: string | null, forMs: number): string | null {
    this.#forget()
    if (claim === null ? this.#isEnding || this.#until.size >= MOST_CLAIMS : !this.#until.has(claim))
      return null
    const name = claim ?? randomBytes(9).toString('base64url')
    this.#until.set(name, performance.now() + forMs)
    return name
  }

  giveBack(claim: string): void {
    this.#until.delete(claim)
    this.#wake()
  }

  #forget(): void {
    const now = performance.now()
    for (const [claim, until] of this.#until) if (until <= now) this.#until.delete(claim)
  }

  #leftMs(): number {
    return Math.max(0, ...this.#until.values()) - performance.now()
  }

  #change(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.ceil(withinMs) + 1)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
