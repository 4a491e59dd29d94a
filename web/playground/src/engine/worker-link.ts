/**
 * The page's side of one worker. A watchdog ends a worker that does not answer: a module of the user's own may never
 * return. Every message of the worker shows that it is alive.
 */
import type { NumberedRequest, WorkerReply } from '../worker/main.ts'
import { EngineError } from './engine-error.ts'
import type { Problem, Progress } from './messages.ts'
import type { RequestOf, WorkerDone, WorkerRequest } from './worker-messages.ts'

/** How long a worker may be silent while it works, and while it loads. */
export const SILENCE_MS = 6000
const LOADING_MS = 30_000
/** These run no code of the user in one piece. A large trace takes long, and so does the search for livelocks. */
const LONG_SILENCE_MS = 60_000
const LONG: readonly WorkerRequest['type'][] = ['open', 'explore']

/** How long messages may wait that came while the page stood still. */
export const GRACE_MS = 250

export const CANCELLED: Problem = { place: null, message: 'cancelled' }

type Pending = {
  readonly request: WorkerRequest
  readonly onProgress: (progress: Progress) => void
  resolve(result: WorkerDone[keyof WorkerDone]): void
  reject(error: EngineError): void
}

/** What is needed of a Worker; tests give another. */
export type WorkerPort = Pick<Worker, 'postMessage' | 'terminate'> & {
  addEventListener(type: 'message', listener: (event: MessageEvent<WorkerReply>) => void): void
  addEventListener(type: 'error', listener: (event: ErrorEvent) => void): void
}

export class WorkerLink {
  readonly #worker: WorkerPort
  readonly #pending = new Map<number, Pending>()
  #watchdog: ReturnType<typeof setTimeout> | undefined
  #isReady = false
  #ids = 0
  #end: Problem | null = null

  constructor(worker: WorkerPort) {
    this.#worker = worker
    worker.addEventListener('message', ({ data }) => this.#receive(data))
    worker.addEventListener('error', ({ message }) =>
      this.end({ place: null, message: `the worker failed: ${message || 'it could not start'}` }),
    )
    this.#watch()
  }

  /** Whether it was ended. A link that has ended rejects every request. */
  get hasEnded(): boolean {
    return this.#end !== null
  }

  ask<T extends WorkerRequest['type']>(
    request: RequestOf<T>,
    onProgress: (progress: Progress) => void = () => {},
  ): Promise<WorkerDone[T]> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) {
        reject(new EngineError([this.#end]))
        return
      }
      this.#ids += 1
      const id = this.#ids
      const settle = resolve as (result: WorkerDone[keyof WorkerDone]) => void
      this.#pending.set(id, { request, onProgress, resolve: settle, reject })
      this.#worker.postMessage({ id, request } satisfies NumberedRequest)
      this.#watch()
    })
  }

  /** Ends the worker. Every request that waits is rejected with this problem. */
  end(problem: Problem): void {
    if (this.#end !== null) return
    this.#end = problem
    clearTimeout(this.#watchdog)
    this.#worker.terminate()
    for (const { reject } of this.#pending.values()) reject(new EngineError([problem]))
    this.#pending.clear()
  }

  #receive(reply: WorkerReply): void {
    if (this.#end !== null) return
    if (reply.type === 'ready') this.#isReady = true
    else {
      const pending = this.#pending.get(reply.id)
      if (reply.type === 'progress') pending?.onProgress(reply.progress)
      else {
        this.#pending.delete(reply.id)
        if (reply.type === 'done') pending?.resolve(reply.result)
        else pending?.reject(new EngineError(reply.problems))
      }
    }
    this.#watch()
  }

  /** Starts to wait for the next message, if one is due. */
  #watch(): void {
    clearTimeout(this.#watchdog)
    if (this.#pending.size === 0 && this.#isReady) return
    const isLong = [...this.#pending.values()].some(({ request }) => LONG.includes(request.type))
    const working = isLong ? LONG_SILENCE_MS : SILENCE_MS
    const limit = this.#isReady ? working : LOADING_MS
    this.#watchdog = setTimeout(() => {
      // If the page itself stood still, messages of the worker may wait: they come first.
      this.#watchdog = setTimeout(() => this.end(this.#silence(limit)), GRACE_MS)
    }, limit)
  }

  #silence(limit: number): Problem {
    const seconds = Math.round(limit / 1000)
    if (!this.#isReady)
      return { place: null, message: `the engine did not load within ${seconds} s: reload the page` }
    const [pending] = this.#pending.values()
    const module = pending !== undefined && 'module' in pending.request ? pending.request.module : null
    const cause = module === null ? '' : `; a loop in ${module.name} may never end`
    return { place: null, message: `the engine was stopped: nothing happened for ${seconds} s${cause}` }
  }
}
