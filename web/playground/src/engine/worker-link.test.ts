import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { NumberedRequest, WorkerReply } from '../worker/main.ts'
import type { Problem } from './messages.ts'
import { CANCELLED, GRACE_MS, SILENCE_MS, WorkerLink } from './worker-link.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A worker that answers when the test says so. */
class ManualWorker {
  readonly requests: NumberedRequest[] = []
  hasEnded = false
  readonly #listeners = new Map<string, (event: never) => void>()

  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, listener)
  }

  postMessage(request: NumberedRequest): void {
    this.requests.push(request)
  }

  terminate(): void {
    this.hasEnded = true
  }

  reply(data: WorkerReply): void {
    this.#listeners.get('message')?.({ data } as never)
  }

  fail(message: string): void {
    this.#listeners.get('error')?.({ message } as never)
  }
}

function started(): { readonly worker: ManualWorker; readonly link: WorkerLink } {
  const worker = new ManualWorker()
  return { worker, link: new WorkerLink(worker) }
}

const problemsOf = (asked: Promise<unknown>): Promise<readonly Problem[]> =>
  asked.then(
    () => [],
    (error: { readonly problems: readonly Problem[] }) => error.problems,
  )

const RUN = { type: 'run', scenario: {}, module: { name: 'mine.mjs', text: '' } } as const

describe('WorkerLink', () => {
  it('resolves each request with its own answer', async () => {
    const { worker, link } = started()
    worker.reply({ type: 'ready' })
    const first = link.ask({ type: 'trace' })
    const second = link.ask({ type: 'why', moment: 1 })
    worker.reply({ id: 2, type: 'done', result: [] })
    worker.reply({ id: 1, type: 'done', result: 'trace' })
    expect(await Promise.all([first, second])).toEqual(['trace', []])
  })

  it('passes progress on, and rejects with the problems of the worker', async () => {
    const { worker, link } = started()
    const progress: string[] = []
    const asked = problemsOf(link.ask(RUN, ({ text }) => progress.push(text)))
    worker.reply({ id: 1, type: 'progress', progress: { done: 1, of: null, text: 'one' } })
    worker.reply({ id: 1, type: 'failed', problems: [{ place: 'line 1', message: 'bad' }] })
    expect(await asked).toEqual([{ place: 'line 1', message: 'bad' }])
    expect(progress).toEqual(['one'])
  })

  it('ends a worker that is silent, and names the module that may be the cause', async () => {
    const { worker, link } = started()
    worker.reply({ type: 'ready' })
    const asked = problemsOf(link.ask(RUN))
    vi.advanceTimersByTime(SILENCE_MS + GRACE_MS - 1)
    expect(worker.hasEnded).toBe(false)
    vi.advanceTimersByTime(1)
    expect(worker.hasEnded).toBe(true)
    expect(await asked).toEqual([
      {
        place: null,
        message: 'the engine was stopped: nothing happened for 6 s; a loop in mine.mjs may never end',
      },
    ])
    expect(await problemsOf(link.ask({ type: 'trace' }))).toHaveLength(1)
  })

  it('takes a message that came while the page stood still for a sign of life', () => {
    const { worker, link } = started()
    worker.reply({ type: 'ready' })
    void problemsOf(link.ask(RUN))
    vi.advanceTimersByTime(SILENCE_MS)
    worker.reply({ id: 1, type: 'progress', progress: { done: 1, of: null, text: '' } })
    vi.advanceTimersByTime(GRACE_MS)
    expect(worker.hasEnded).toBe(false)
  })

  it('waits longer for a large trace', () => {
    const { worker, link } = started()
    worker.reply({ type: 'ready' })
    void problemsOf(link.ask({ type: 'open', files: [] }))
    vi.advanceTimersByTime(60_000 + GRACE_MS - 1)
    expect(worker.hasEnded).toBe(false)
    vi.advanceTimersByTime(1)
    expect(worker.hasEnded).toBe(true)
  })

  it('lets a worker go on as long as it reports progress', () => {
    const { worker, link } = started()
    worker.reply({ type: 'ready' })
    void problemsOf(link.ask(RUN))
    for (let index = 0; index < 10; index++) {
      vi.advanceTimersByTime(SILENCE_MS - 1)
      worker.reply({ id: 1, type: 'progress', progress: { done: index, of: null, text: '' } })
    }
    expect(worker.hasEnded).toBe(false)
    worker.reply({ id: 1, type: 'done', result: '' })
    vi.advanceTimersByTime(10 * SILENCE_MS)
    expect(worker.hasEnded).toBe(false)
  })

  it('waits longer while the worker loads, but not for ever', async () => {
    const { worker, link } = started()
    const asked = problemsOf(link.ask(RUN))
    vi.advanceTimersByTime(SILENCE_MS)
    expect(worker.hasEnded).toBe(false)
    vi.advanceTimersByTime(30_000 + GRACE_MS)
    expect((await asked)[0]?.message).toBe('the engine did not load within 30 s: reload the page')
  })

  it('says so when the worker fails, and when a request is cancelled', async () => {
    const failed = started()
    const asked = problemsOf(failed.link.ask(RUN))
    failed.worker.fail('no memory')
    expect(await asked).toEqual([{ place: null, message: 'the worker failed: no memory' }])
    const cancelled = started()
    const other = problemsOf(cancelled.link.ask(RUN))
    cancelled.link.end(CANCELLED)
    expect(await other).toEqual([{ place: null, message: 'cancelled' }])
  })
})
