/**
 * Tries seeds in several workers. Each takes the next block of seeds when it is free. The result is the violation with
 * the least seed, whichever worker finds one first, so it does not depend on the number of workers.
 */
import type { Done, Progress } from './messages.ts'
import type { SeedTally } from './seeds.ts'
import { CANCELLED, type WorkerLink } from './worker-link.ts'
import type { RequestOf } from './worker-messages.ts'

/** Seeds per block: enough that messages cost nothing, few enough that all workers end together. */
const BLOCK = 32

type Settings = { readonly signal?: AbortSignal; readonly onProgress?: (progress: Progress) => void }
type Violation = NonNullable<SeedTally['violation']>

export class SeedSearch {
  readonly #start: () => WorkerLink
  readonly #workers: number
  #next = 1
  #seeds = 0
  #steps = 0
  #violation: Violation | null = null

  constructor(start: () => WorkerLink, workers: number) {
    this.#start = start
    this.#workers = workers
  }

  async run(request: RequestOf<'tryseeds'>, { signal, onProgress }: Settings): Promise<Done['tryseeds']> {
    const began = performance.now()
    const blocks = Math.ceil(request.seeds / BLOCK)
    const links = Array.from({ length: Math.min(this.#workers, Math.max(1, blocks)) }, () => this.#start())
    const cancel = (): void => links.forEach((link) => link.end(CANCELLED))
    signal?.addEventListener('abort', cancel)
    try {
      await Promise.all(links.map((link) => this.#work(link, request, onProgress)))
      const found = await this.#shrink(links[0] as WorkerLink, request, onProgress)
      return { seeds: this.#seeds, steps: this.#steps, tookMs: performance.now() - began, found }
    } finally {
      signal?.removeEventListener('abort', cancel)
      cancel()
    }
  }

  async #work(
    link: WorkerLink,
    { scenario, module, swarm, seeds: last }: RequestOf<'tryseeds'>,
    onProgress: Settings['onProgress'],
  ): Promise<void> {
    // Blocks are taken in order: once one has a violation, only earlier ones, already begun, can have a lesser seed.
    while (this.#next <= last && this.#violation === null) {
      const first = this.#next
      this.#next += BLOCK
      const block = { first, last: Math.min(last, first + BLOCK - 1) }
      // oxlint-disable-next-line no-await-in-loop -- one block after another is the point
      const tally = await link.ask({ type: 'seeds', scenario, module, swarm, ...block })
      this.#seeds += tally.seeds
      this.#steps += tally.steps
      this.#note(tally.violation)
      onProgress?.({
        done: this.#seeds,
        of: last,
        text: `${numberText(this.#seeds)} of ${numberText(last)} seeds`,
      })
    }
  }

  #note(violation: Violation | null): void {
    if (violation === null) return
    if (this.#violation === null || violation.seed < this.#violation.seed) this.#violation = violation
  }

  async #shrink(
    link: WorkerLink,
    { scenario, module, swarm, seeds: last }: RequestOf<'tryseeds'>,
    onProgress: Settings['onProgress'],
  ): Promise<Done['tryseeds']['found']> {
    const violation = this.#violation
    if (violation === null) return null
    const text = `seed ${violation.seed} violates ${violation.spec}; looking for a smaller scenario`
    onProgress?.({ done: this.#seeds, of: last, text })
    return link.ask({ type: 'shrink', scenario, module, swarm, violation })
  }
}

function numberText(value: number): string {
  return value.toLocaleString('en-US')
}
