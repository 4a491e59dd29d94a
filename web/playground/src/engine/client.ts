/** The engine of the page: one worker that runs and explains, and workers of their own for searches. */

import { EngineError } from './engine-error.ts'
import type { Done, Progress, Request } from './messages.ts'
import { SeedSearch } from './seed-search.ts'
import { CANCELLED, WorkerLink, type WorkerPort } from './worker-link.ts'
import type { RequestOf, WorkerDone } from './worker-messages.ts'

type AskSettings = { readonly signal?: AbortSignal; readonly onProgress?: (progress: Progress) => void }

export type EngineClient = {
  ask<T extends keyof Done>(request: RequestOf<T>, settings?: AskSettings): Promise<Done[T]>
}

function startWorker(): WorkerPort {
  return new Worker(new URL('../worker/main.ts', import.meta.url), { type: 'module', name: 'engine' })
}

/** Searches leave one core to the page, and take no more than they can use. */
function searchWorkers(): number {
  return Math.min(4, Math.max(1, navigator.hardwareConcurrency - 1))
}

/** Loads the engine at once, so that the first run need not wait for it. */
export function startEngine(start: () => WorkerPort = startWorker, workers = searchWorkers()): EngineClient {
  return new Client(start, workers)
}

class Client {
  readonly #start: () => WorkerPort
  readonly #workers: number
  #main: WorkerLink
  /** What the page shows: a new worker repeats it before it answers questions about it. */
  #shown: RequestOf<'run' | 'open'> | null = null

  constructor(start: () => WorkerPort, workers: number) {
    this.#start = start
    this.#workers = workers
    this.#main = new WorkerLink(start())
  }

  async ask<T extends keyof Done>(request: RequestOf<T>, settings: AskSettings = {}): Promise<Done[T]> {
    const { signal } = settings
    if (signal?.aborted === true) throw new EngineError([CANCELLED])
    return (await this.#dispatch(request, settings)) as Done[T]
  }

  #dispatch(request: Request, settings: AskSettings): Promise<Done[keyof Done]> {
    switch (request.type) {
      case 'tryseeds':
        return new SeedSearch(() => new WorkerLink(this.#start()), this.#workers).run(request, settings)
      case 'explore':
        return this.#alone(request, settings)
      default:
        return this.#inMain(request, settings)
    }
  }

  /** In a worker that ends with the request. */
  async #alone(request: RequestOf<'explore'>, { signal, onProgress }: AskSettings): Promise<Done['explore']> {
    const link = new WorkerLink(this.#start())
    const cancel = (): void => link.end(CANCELLED)
    signal?.addEventListener('abort', cancel)
    try {
      return await link.ask(request, onProgress)
    } finally {
      signal?.removeEventListener('abort', cancel)
      link.end(CANCELLED)
    }
  }

  /** Cancelling only forgets the result: the worker keeps its last run for questions. */
  async #inMain(
    request: Exclude<Request, { readonly type: 'tryseeds' | 'explore' }>,
    { signal, onProgress }: AskSettings,
  ): Promise<Done[keyof Done]> {
    if (this.#main.hasEnded) this.#restart()
    const asked = this.#main.ask(request, onProgress) as Promise<WorkerDone[keyof Done]>
    const result = await (signal === undefined ? asked : Promise.race([asked, aborted(signal)]))
    if (request.type === 'run' || request.type === 'open') this.#shown = request
    return result
  }

  #restart(): void {
    this.#main = new WorkerLink(this.#start())
    const shown = this.#shown
    // A run that ended well before ends well again; if not, the next question says so.
    if (shown !== null) this.#main.ask(shown as never).catch(() => {})
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new EngineError([CANCELLED])), { once: true })
  })
}
