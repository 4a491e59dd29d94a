import { describe, expect, it } from 'vitest'
import type { NumberedRequest, WorkerReply } from '../worker/main.ts'
import { startEngine } from './client.ts'
import type { Problem, Progress } from './messages.ts'
import { problemsOf as describeError } from './problems.ts'
import { createSession, Session } from './session.ts'
import type { WorkerPort } from './worker-link.ts'

/** A worker in this thread. It counts what is asked of it. */
class LocalWorker {
  static readonly all: LocalWorker[] = []
  readonly requests: NumberedRequest['request'][] = []
  hasEnded = false
  readonly #session = new Session()
  #listener: (event: { readonly data: WorkerReply }) => void = () => {}
  #onError: (event: never) => void = () => {}

  constructor() {
    LocalWorker.all.push(this)
    void Promise.resolve().then(() => this.#reply({ type: 'ready' }))
  }

  addEventListener(type: string, listener: (event: { readonly data: WorkerReply }) => void): void {
    if (type === 'message') this.#listener = listener
    else this.#onError = listener
  }

  postMessage({ id, request }: NumberedRequest): void {
    this.requests.push(request)
    void this.#session
      .answer(request, (progress) => this.#reply({ id, type: 'progress', progress }))
      .then(
        (result) => this.#reply({ id, type: 'done', result }),
        (error: unknown) => this.#reply({ id, type: 'failed', problems: describeError(error) }),
      )
  }

  terminate(): void {
    this.hasEnded = true
  }

  fail(message: string): void {
    this.#onError({ message } as never)
  }

  #reply(data: WorkerReply): void {
    if (!this.hasEnded) this.#listener({ data })
  }
}

function engineWith(workers: number) {
  LocalWorker.all.length = 0
  return startEngine(() => new LocalWorker() as unknown as WorkerPort, workers)
}

const problemsOf = (asked: Promise<unknown>): Promise<readonly Problem[]> =>
  asked.then(
    () => [],
    (error: { readonly problems: readonly Problem[] }) => error.problems,
  )

const BULLY = { protocol: 'bully', nodes: [1, 2, 3], untilMs: 500 }
const BROKEN = { protocol: 'bully', nodes: [1, 2, 3, 4], options: { repaired: false }, untilMs: 100 }
const SEEDS = { type: 'tryseeds', scenario: BROKEN, module: null, seeds: 400, swarm: true } as const

describe('the engine of the page', () => {
  it('answers questions about its last run in one worker', async () => {
    const engine = engineWith(2)
    await engine.ask({ type: 'run', scenario: BULLY, module: null })
    expect(await engine.ask({ type: 'trace' })).toMatch(/^\{"trace":1,"protocol":"bully"/)
    expect(LocalWorker.all).toHaveLength(1)
  })

  it('finds the same violation with any number of workers', async () => {
    const alone = await createSession().ask(SEEDS)
    const progress: Progress[] = []
    const found = await engineWith(3).ask(SEEDS, { onProgress: (each) => progress.push(each) })
    expect(found.found).toEqual(alone.found)
    expect(progress.at(-1)?.text).toMatch(/^seed \d+ violates \w+; looking for a smaller scenario$/)
    expect(LocalWorker.all.slice(1).every(({ hasEnded }) => hasEnded)).toBe(true)
  })

  it('ends the workers of a search that is cancelled, and goes on', async () => {
    const engine = engineWith(2)
    const aborting = new AbortController()
    const asked = problemsOf(engine.ask(SEEDS, { signal: aborting.signal }))
    aborting.abort()
    expect(await asked).toEqual([{ place: null, message: 'cancelled' }])
    expect(LocalWorker.all.slice(1).every(({ hasEnded }) => hasEnded)).toBe(true)
    expect((await engine.ask({ type: 'run', scenario: BULLY, module: null })).picture.protocol).toBe('bully')
  })

  it('does not begin what is cancelled already', async () => {
    const asked = engineWith(1).ask(SEEDS, { signal: AbortSignal.abort() })
    expect(await problemsOf(asked)).toEqual([{ place: null, message: 'cancelled' }])
    expect(LocalWorker.all).toHaveLength(1)
  })

  it('explores in a worker that ends with the search', async () => {
    const settings = {
      protocol: 'bully',
      nodes: [1, 2, 3],
      options: { repaired: false },
      crashes: 1,
      recoveries: 1,
      cuts: 0,
      depth: 100,
      maxStates: 10_000,
    }
    const { found } = await engineWith(1).ask({ type: 'explore', settings, module: null })
    expect(found).not.toBeNull()
    expect(LocalWorker.all.map(({ hasEnded }) => hasEnded)).toEqual([false, true])
  })

  it('repeats what the page shows when its worker has to be replaced', async () => {
    const engine = engineWith(1)
    await engine.ask({ type: 'run', scenario: BULLY, module: null })
    const trace = await engine.ask({ type: 'trace' })
    LocalWorker.all[0]?.fail('out of memory')
    expect(await engine.ask({ type: 'trace' })).toBe(trace)
    expect(LocalWorker.all.map(({ requests }) => requests.map(({ type }) => type))).toEqual([
      ['run', 'trace'],
      ['run', 'trace'],
    ])
  })
})
