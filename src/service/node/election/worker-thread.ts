/**
 * A thread for the elections at one address, seen from the application's thread. The first election starts it, and the
 * last ends it.
 */
import { Worker } from 'node:worker_threads'
import type { Address } from '../../runtime/index.ts'
import { WorkerLostError } from '../api/errors.ts'
import { addressKey } from './shared-endpoint.ts'
import { type ElectionStart, GREETING, type WorkerControl } from './worker-requests.ts'
import { threadScript } from './worker-script.ts'

/** How long a thread may take to end before it is ended. */
const LONGEST_FAREWELL_MS = 2000

/** How long a thread may take to say that it is there: a third of a second as a rule, more on a busy machine. */
const LONGEST_START_MS = 30_000

/** By address. */
const running = new Map<string, ElectionThread>()

export class ElectionThread {
  readonly #place: string | null
  readonly #worker: Worker
  readonly #exited: Promise<void>
  /** The elections in it: each is told when the thread is gone. */
  readonly #users = new Set<(error: Error) => void>()

  private constructor(place: string | null, file: URL, longestStartMs: number) {
    this.#place = place
    this.#worker = new Worker(file, {
      name: `conclave ${place ?? ''}`.trim(),
      // What Node itself was told is not for this thread: it may name a script or a loader.
      execArgv: [],
      // It makes little that lasts: there is no need to let garbage heap up.
      resourceLimits: { maxYoungGenerationSizeMb: 2 },
    })
    const starting = setTimeout(
      () => this.#giveUp(`it did not start within ${longestStartMs} ms`),
      longestStartMs,
    )
    this.#worker.once('message', (greeting: unknown) => {
      clearTimeout(starting)
      if (greeting !== GREETING) this.#giveUp(`${file.href} is not its script`)
    })
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        clearTimeout(starting)
        this.#tell(new WorkerLostError(`it ended with ${code}`))
        resolve()
      })
    })
    this.#worker.on('error', (error) => this.#tell(new WorkerLostError(error.message, { cause: error })))
  }

  /** The thread for an address, or one of its own (null); an election that is to begin in it says so before anything else happens. */
  static at(
    listen: Address | null,
    lost: (error: Error) => void,
    { file = threadScript(), longestStartMs = LONGEST_START_MS } = {},
  ): ElectionThread {
    const place = listen === null ? null : addressKey(listen)
    const there = place === null ? undefined : running.get(place)
    const thread = there ?? new ElectionThread(place, file, longestStartMs)
    thread.#users.add(lost)
    if (place !== null) running.set(place, thread)
    return thread
  }

  open(begin: ElectionStart): void {
    const order: WorkerControl = { order: 'open', begin }
    this.#worker.postMessage(order, [begin.port])
  }

  /**
   * One of its elections is over. Kept when nothing of it is left: with the last one that is the thread too. `isHung`:
   * it does not answer any more.
   */
  async leave(lost: (error: Error) => void, isHung = false): Promise<void> {
    this.#users.delete(lost)
    if (this.#users.size > 0) return
    if (this.#place !== null && running.get(this.#place) === this) running.delete(this.#place)
    if (isHung) void this.#worker.terminate()
    else this.#worker.postMessage({ order: 'end' } satisfies WorkerControl)
    const timer = setTimeout(() => void this.#worker.terminate(), LONGEST_FAREWELL_MS)
    await this.#exited
    clearTimeout(timer)
  }

  #giveUp(why: string): void {
    this.#tell(new WorkerLostError(why))
    void this.#worker.terminate()
  }

  #tell(error: Error): void {
    if (this.#place !== null && running.get(this.#place) === this) running.delete(this.#place)
    for (const lost of this.#users) lost(error)
  }
}
