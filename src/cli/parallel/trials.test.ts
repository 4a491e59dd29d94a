/** The trials of a plan over threads that the test plays. */
import { EventEmitter } from 'node:events'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { PlannedTrial } from '../../protocols/index.ts'
import { EMPTY_TRIALS } from '../../workbench/sim/index.ts'
import { runTrials, type TrialReply, type TrialRequest, type TrialSource } from './trials.ts'

const threads = vi.hoisted(() => ({
  data: [] as unknown[],
  requests: [] as unknown[],
  terminated: 0,
  answer: (() => null) as (request: unknown) => unknown,
}))

vi.mock('node:worker_threads', () => ({
  Worker: class extends EventEmitter {
    constructor(_file: URL, { workerData }: { readonly workerData: unknown }) {
      super()
      threads.data.push(workerData)
      setImmediate(() => this.emit('message', { type: 'ready' }))
    }

    postMessage(request: unknown): void {
      threads.requests.push(request)
      // The later a request, the sooner its answer.
      setTimeout(
        () => this.emit('message', threads.answer(request)),
        10 - Math.min(9, threads.requests.length),
      )
    }

    terminate(): Promise<number> {
      threads.terminated += 1
      return Promise.resolve(0)
    }
  },
}))

const trial = (name: string, share: number): PlannedTrial =>
  ({ name, what: `${name} it`, share }) as unknown as PlannedTrial
const source = (seeds: number): TrialSource =>
  ({ protocol: 'local-leader', asked: { seeds }, options: {} }) as unknown as TrialSource

beforeEach(() => {
  threads.data.length = 0
  threads.requests.length = 0
  threads.terminated = 0
  threads.answer = (request): TrialReply => {
    const { trial: index, first, last } = request as TrialRequest
    return { type: 'done', trial: index, tally: { ...EMPTY_TRIALS, runs: last - first + 1, idle: index } }
  }
})

const sorted = (): readonly string[] =>
  (threads.requests as readonly TrialRequest[])
    .map(({ trial: index, first, last }) => `${index}: ${first}..${last}`)
    .toSorted()

describe('the runs of a plan', () => {
  it('are divided into requests of 25, for each trial by its share of the seeds', async () => {
    const tallies = await runTrials(source(60), [trial('kill', 1), trial('pause', 0.1)], 2)
    expect(sorted()).toEqual(['0: 1..25', '0: 26..50', '0: 51..60', '1: 1..6'])
    expect(tallies.map(({ runs }) => runs)).toEqual([60, 6])
    expect(threads.terminated).toBe(2)
  })

  it.each([1, 2, 3, 8])('have the same result on %i threads', async (count) => {
    const tallies = await runTrials(source(100), [trial('a', 1), trial('b', 0.5), trial('c', 0.01)], count)
    expect(tallies.map(({ runs, idle }) => [runs, idle])).toEqual([
      [100, 0],
      [50, 2],
      [1, 2],
    ])
    expect(threads.data).toHaveLength(Math.min(count, 7))
  })

  it('need no thread if there is nothing to try', async () => {
    expect(await runTrials(source(100), [], 4)).toEqual([])
    expect(threads.data).toEqual([])
  })

  it('are built in each thread from the same plan', async () => {
    const plan = source(10)
    await runTrials(plan, [trial('kill', 1)], 1)
    expect(threads.data).toEqual([{ source: plan, modules: [] }])
  })

  it('end when a thread fails', async () => {
    threads.answer = (): TrialReply => ({ type: 'failed', message: 'the trial is broken' })
    await expect(runTrials(source(60), [trial('kill', 1)], 2)).rejects.toThrow('the trial is broken')
    expect(threads.terminated).toBe(2)
  })
})
