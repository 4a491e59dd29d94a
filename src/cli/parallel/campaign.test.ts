/** Campaigns over threads that the test plays: how seeds are divided, added up and printed. */
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CampaignTally } from '../../workbench/sim/index.ts'
import {
  type CampaignFlags,
  campaign,
  type WorkerReply,
  type WorkerRequest,
  type WorkerTask,
} from './campaign.ts'

const threads = vi.hoisted(() => ({
  started: [] as { task: unknown; requests: { first: number; last: number }[]; isTerminated: boolean }[],
  answer: ((): unknown => null) as (request: { first: number; last: number }) => unknown,
  first: null as unknown,
}))

vi.mock('node:worker_threads', () => ({
  Worker: class extends EventEmitter {
    readonly #record
    constructor(_file: URL, { workerData }: { readonly workerData: unknown }) {
      super()
      this.#record = {
        task: workerData,
        requests: [],
        isTerminated: false,
      } as (typeof threads.started)[number]
      threads.started.push(this.#record)
      setImmediate(() => this.emit('message', threads.first ?? { type: 'ready' }))
    }

    postMessage(request: WorkerRequest): void {
      this.#record.requests.push(request)
      setImmediate(() => this.emit('message', threads.answer(request)))
    }

    terminate(): Promise<number> {
      this.#record.isTerminated = true
      return Promise.resolve(0)
    }
  },
}))

const FLAGS: CampaignFlags = {
  protocol: 'bully',
  nodes: '3..5',
  seeds: '1..40',
  faults: 'none',
  option: [],
  workers: '2',
}

/** What a thread reports after these seeds. */
function tallyOf({ first, last }: WorkerRequest, change: Partial<CampaignTally> = {}): CampaignTally {
  const seeds = last - first + 1
  return {
    seeds,
    steps: 100 * seeds,
    virtualMicros: 3_600_000_000 * seeds,
    violations: [],
    goals: [{ name: 'elected', reached: true, count: seeds }],
    judged: { 'one-leader': seeds },
    qos: null,
    ...change,
  }
}

const violation = (seed: number) => ({ seed, spec: 'one-leader', why: 'two lead', shrunk: null })

let [stdout, stderr] = ['', '']
beforeEach(() => {
  stdout = ''
  stderr = ''
  threads.started.length = 0
  threads.first = null
  threads.answer = (request): WorkerReply => ({ type: 'done', tally: tallyOf(request) })
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((stdout += String(text)), true))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((stderr += String(text)), true))
})
afterEach(() => void vi.restoreAllMocks())

const requests = (): readonly WorkerRequest[] =>
  threads.started.flatMap((thread) => thread.requests).toSorted((a, b) => a.first - b.first)

describe('the threads of a campaign', () => {
  it('get 16 seeds at a time, each seed once', async () => {
    expect(await campaign(FLAGS)).toBe(0)
    expect(requests()).toEqual([
      { first: 1, last: 16 },
      { first: 17, last: 32 },
      { first: 33, last: 40 },
    ])
    expect(threads.started).toHaveLength(2)
    expect(threads.started.every(({ isTerminated }) => isTerminated)).toBe(true)
  })

  it.each([
    ['1..1', '8', 1],
    ['1..16', '8', 1],
    ['1..17', '8', 2],
    ['1..1000', '3', 3],
    ['0..99', '1', 1],
  ])('for the seeds %s and --workers %s are %i', async (seeds, workers, expected) => {
    await campaign({ ...FLAGS, seeds, workers })
    expect(threads.started).toHaveLength(expected)
  })

  it('know the protocol and the settings of the drawn scenarios', async () => {
    await campaign({ ...FLAGS, option: ['answerTimeoutMs=700'] })
    expect(threads.started.map(({ task }) => task as WorkerTask)).toEqual(
      [1, 2].map(() => ({
        protocol: 'bully',
        load: undefined,
        settings: { nodes: [3, 5], options: { answerTimeoutMs: 700 }, faults: expect.anything() },
      })),
    )
  })

  it('are ended when one of them fails, and its error is passed on', async () => {
    threads.answer = (request): WorkerReply =>
      request.first === 17
        ? { type: 'failed', message: 'out of memory' }
        : { type: 'done', tally: tallyOf(request) }
    await expect(campaign(FLAGS)).rejects.toThrow('out of memory')
    expect(threads.started.every(({ isTerminated }) => isTerminated)).toBe(true)
  })

  it('may fail before they are ready', async () => {
    threads.first = { type: 'failed', message: 'no such protocol' }
    await expect(campaign(FLAGS)).rejects.toThrow('no such protocol')
    expect(requests()).toEqual([])
  })
})

describe('the report', () => {
  it('adds up seeds, steps, virtual time, goals and specifications', async () => {
    await campaign(FLAGS)
    const [first, ...rest] = stdout.trimEnd().split('\n')
    expect(first).toMatch(/^40 seeds, 4,000 steps, 40\.00 virtual hours \([\d,]+ steps\/s\)$/)
    expect(rest).toEqual([
      '',
      'goal elected  reached 40 times',
      'spec one-leader  judged 40 times',
      '',
      'no violation',
    ])
    expect(stderr).toBe('')
  })

  it('warns of specifications that were never judged, and of goals that were never reached', async () => {
    threads.answer = (request): WorkerReply => ({
      type: 'done',
      tally: tallyOf(request, {
        goals: [{ name: 'elected', reached: false, count: 0 }],
        judged: { 'one-leader': 0 },
      }),
    })
    expect(await campaign(FLAGS)).toBe(0)
    expect(stderr.trimEnd().split('\n')).toEqual([
      'warning: one-leader was never judged; this campaign does not test it',
      'warning: the goal elected was never reached; try more seeds or other faults',
    ])
  })

  it('is one JSON object with --json', async () => {
    await campaign({ ...FLAGS, json: true })
    expect(JSON.parse(stdout)).toEqual({
      protocol: 'bully',
      seeds: 40,
      steps: 4000,
      virtualHours: 40,
      violations: [],
      goals: [{ name: 'elected', reached: true, count: 40 }],
      vacuous: [],
    })
  })

  it('counts all violations, and ends with exit code 6', async () => {
    threads.answer = (request): WorkerReply => ({
      type: 'done',
      tally: tallyOf(request, { violations: request.first === 1 ? [violation(3)] : [] }),
    })
    // The seed does not really violate anything, so it cannot be shrunk.
    await expect(campaign({ ...FLAGS, json: true })).resolves.toBe(6)
    const { violations } = JSON.parse(stdout) as { violations: readonly { seed: number; replay: string }[] }
    expect(violations.map(({ seed }) => seed)).toEqual([3])
    expect(violations[0]?.replay).toBe(
      'conclave sim --protocol bully --nodes 3..5 --seeds 3..3 --faults none',
    )
  })
})

describe('bad flags', () => {
  it.each<[Partial<CampaignFlags>, string]>([
    [{ seeds: '5..1' }, '--seeds'],
    [{ nodes: '3..100000' }, 'nodes can be simulated'],
    [{ workers: '0' }, '--workers'],
    [{ protocol: 'raft' }, 'raft'],
    [{ option: ['nonsense=1'] }, 'nonsense'],
    [{ faults: 'meteor' }, 'meteor'],
  ])('%j are refused before any thread starts', async (change, message) => {
    await expect(campaign({ ...FLAGS, ...change })).rejects.toThrow(message)
    expect(threads.started).toEqual([])
  })
})
