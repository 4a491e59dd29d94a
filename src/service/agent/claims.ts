/**
 * Claims on the agent's term. A process that acts on the term holds a claim, and can act without another request until
 * the claim expires. The agent therefore ends its term only after every claim was released or has expired. A claim never
 * outlasts the lease, so nothing is waited for when the lease is lost.
 */
import { randomBytes } from 'node:crypto'

/** Limit of concurrent claims. */
const MAX_CLAIMS = 64

/**
 * `idle`: no work of a term runs, although the agent may lead already; claims are refused, because nothing would wait for
 * them. `open`: claims are granted. `ending`: the agent is about to end its term; claims are renewed, and new ones refused.
 */
export type ClaimPhase = 'idle' | 'open' | 'ending'

export class Claims {
  /** Expiry of each claim, on the clock of `performance.now()`. */
  readonly #expiry = new Map<string, number>()
  #phase: ClaimPhase = 'idle'
  #wake: () => void = () => {}

  get phase(): ClaimPhase {
    return this.#phase
  }

  /** The work of an agent during a term: wait for the signal, then for the claims. */
  readonly holdTerm = async ({ signal }: { readonly signal: AbortSignal }): Promise<void> => {
    this.#expiry.clear()
    this.#phase = 'open'
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
    })
    this.#phase = 'ending'
    // oxlint-disable-next-line no-await-in-loop -- until the last claim is gone
    while (this.#remainingMs() > 0) await this.#waitForRelease(this.#remainingMs())
    this.#phase = 'idle'
  }

  /** Makes a claim (null), or renews one by its id. Returns its id, or null if the claim is refused. */
  acquire(claim: string | null, forMs: number): string | null {
    this.#removeExpired()
    const isGranted =
      claim === null
        ? this.#phase === 'open' && this.#expiry.size < MAX_CLAIMS
        : this.#phase !== 'idle' && this.#expiry.has(claim)
    if (!isGranted) return null
    const id = claim ?? randomBytes(9).toString('base64url')
    this.#expiry.set(id, performance.now() + forMs)
    return id
  }

  release(claim: string): void {
    this.#expiry.delete(claim)
    this.#wake()
  }

  #removeExpired(): void {
    const now = performance.now()
    for (const [claim, until] of this.#expiry) if (until <= now) this.#expiry.delete(claim)
  }

  #remainingMs(): number {
    return Math.max(0, ...this.#expiry.values()) - performance.now()
  }

  #waitForRelease(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.ceil(timeoutMs) + 1)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
