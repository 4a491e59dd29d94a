/** The worker of the elections at one address, seen from the application's thread. The first election starts it, the last ends it. */
import { Worker } from 'node:worker_threads'
import type { Address } from '../../runtime/index.ts'
import { WorkerLostError } from '../api/errors.ts'
import { addressKey } from './shared-endpoint.ts'
import { type ElectionStart, GREETING, type WorkerControl } from './worker-requests.ts'
import { threadScript } from './worker-script.ts'

/** How long a worker may take to end before it is terminated. */
const MAX_CLOSING_MS = 2000

/** How long a worker may take to start: usually a third of a second, more on a busy machine. */
const MAX_START_MS = 30_000

/** By address. */
const running = new Map<string, ElectionThread>()

export class ElectionThread {
  readonly #key: string | null
  readonly #worker: Worker
  readonly #exited: Promise<void>
  /** The elections in it: each is notified when the worker is gone. */
  readonly #users = new Set<(error: Error) => void>()

  private constructor(key: string | null, file: URL, maxStartMs: number) {
    this.#key = key
    this.#worker = new Worker(file, {
      name: `conclave ${key ?? ''}`.trim(),
      // Node's own flags may name a script or a loader, which are not for this thread.
      execArgv: [],
      // Little of its garbage lives long, so a small young generation is enough.
      resourceLimits: { maxYoungGenerationSizeMb: 2 },
    })
    const starting = setTimeout(() => this.#giveUp(`it did not start within ${maxStartMs} ms`), maxStartMs)
    this.#worker.once('message', (greeting: unknown) => {
      clearTimeout(starting)
      if (greeting !== GREETING) this.#giveUp(`${file.href} is not its script`)
    })
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        clearTimeout(starting)
        this.#notify(new WorkerLostError(`it ended with code ${code}`))
        resolve()
      })
    })
    this.#worker.on('error', (error) => this.#notify(new WorkerLostError(error.message, { cause: error })))
  }

  /** The worker for an address; null: a worker of its own. `lost` is called when the worker is gone. */
  static at(
    listen: Address | null,
    lost: (error: Error) => void,
    { file = threadScript(), maxStartMs = MAX_START_MS } = {},
  ): ElectionThread {
    const key = listen === null ? null : addressKey(listen)
    const existing = key === null ? undefined : running.get(key)
    const thread = existing ?? new ElectionThread(key, file, maxStartMs)
    thread.#users.add(lost)
    if (key !== null) running.set(key, thread)
    return thread
  }

  open(start: ElectionStart): void {
    const control: WorkerControl = { control: 'open', start }
    this.#worker.postMessage(control, [start.port])
  }

  /**
   * Removes an election. With the last one it resolves when the worker has ended. `isHung`: the worker no longer
   * answers.
   */
  async leave(lost: (error: Error) => void, isHung = false): Promise<void> {
    this.#users.delete(lost)
    if (this.#users.size > 0) return
    if (this.#key !== null && running.get(this.#key) === this) running.delete(this.#key)
    if (isHung) void this.#worker.terminate()
    else this.#worker.postMessage({ control: 'end' } satisfies WorkerControl)
    const timer = setTimeout(() => void this.#worker.terminate(), MAX_CLOSING_MS)
    await this.#exited
    clearTimeout(timer)
  }

  #giveUp(why: string): void {
    this.#notify(new WorkerLostError(why))
    void this.#worker.terminate()
  }

  #notify(error: Error): void {
    if (this.#key !== null && running.get(this.#key) === this) running.delete(this.#key)
    for (const lost of this.#users) lost(error)
  }
}
