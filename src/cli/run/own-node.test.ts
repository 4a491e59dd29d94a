/** A command during the terms of this process, with a node that the test plays. */
import { EventEmitter } from 'node:events'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { JoinOptions, Term } from '../../service/node/index.ts'
import { LeadershipLostError } from '../../service/node/index.ts'
import type { GuardianProcess } from '../../service/supervise/guardian-process.ts'
import { runWithNode } from './own-node.ts'
import type { HeldTerm, RunSettings } from './term.ts'

const world = vi.hoisted(() => ({
  joined: [] as unknown[],
  lead: (async () => {}) as (
    work: (term: unknown) => Promise<void>,
    options: { signal: AbortSignal },
  ) => Promise<void>,
  run: (async () => null) as (term: unknown, killBefore: unknown) => Promise<number | null>,
  closed: 0,
  node: null as unknown,
}))

vi.mock('../../service/node/index.ts', async (original) => ({
  ...(await original<object>()),
  join: async (options: unknown) => {
    world.joined.push(options)
    const node = Object.assign(new EventEmitter(), {
      id: 'a',
      group: 'g',
      lead: (work: (term: unknown) => Promise<void>, options_: { signal: AbortSignal }) =>
        world.lead(work, options_),
      close: async () => void (world.closed += 1),
      injectFaults() {},
    })
    world.node = node
    return node
  },
}))

vi.mock('./term.ts', () => ({
  runInTerm: (term: unknown, killBefore: unknown) => world.run(term, killBefore),
}))

const TERM: Term = { token: 7, signal: new AbortController().signal, remaining: () => 50, assertHeld() {} }

/** Leads until the caller ends it, in as many terms as that takes. */
const leadAgain: typeof world.lead = async (work, { signal }) => {
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one term after the other
    await work(TERM)
  }
}

let reports: string[] = []
beforeEach(() => {
  world.joined.length = 0
  world.closed = 0
  world.lead = leadAgain
  world.run = async () => 0
  reports = []
})

const KILL_BEFORE = { ms: 15, leaseMs: 100, mostMs: 15 }

function run(settings: Partial<RunSettings> = {}, options: Partial<JoinOptions> = {}): Promise<number> {
  const own = {
    options: { group: 'g', id: 'a', ...options } as JoinOptions,
    killBefore: KILL_BEFORE,
    supervisor: null,
  }
  return runWithNode(own, {} as GuardianProcess, {
    command: ['true'],
    stopSignal: new AbortController().signal,
    graceMs: 1000,
    killBeforeMs: null,
    once: false,
    report: (text) => reports.push(text),
    ...settings,
  })
}

describe('the command', () => {
  it('runs in a term with its group, id and token', async () => {
    const seen: [HeldTerm, unknown][] = []
    world.run = async (term, killBefore) => {
      seen.push([term as HeldTerm, killBefore])
      return 3
    }
    expect(await run()).toBe(3)
    const [[term, killBefore] = expect.fail('it did not run')] = seen
    expect(term).toMatchObject({ group: 'g', id: 'a', token: 7, ending: null })
    expect([term.remaining(), killBefore, seen.length]).toEqual([50, KILL_BEFORE, 1])
  })

  it('runs again in the next term if it was ended with the last one', async () => {
    const codes = [null, null, 0]
    let runs = 0
    world.run = async () => {
      runs += 1
      return codes[runs - 1] as number | null
    }
    expect([await run(), runs]).toEqual([0, 3])
  })

  it('runs in one term with --once, and its loss is exit code 7', async () => {
    let runs = 0
    world.run = async () => {
      runs += 1
      return null
    }
    expect([await run({ once: true }), runs]).toEqual([7, 1])
  })

  it('ends with exit code 0 when this process is stopped', async () => {
    const stop = new AbortController()
    world.run = async () => {
      stop.abort()
      return null
    }
    expect(await run({ stopSignal: stop.signal })).toBe(0)
  })

  it('does not run at all if this process was stopped before', async () => {
    let runs = 0
    world.run = async () => (runs += 1)
    expect([await run({ stopSignal: AbortSignal.abort() }), runs]).toEqual([0, 0])
  })
})

describe('the node', () => {
  it('runs in this thread unless the options say otherwise, and is closed at the end', async () => {
    await run()
    await run({}, { isolation: 'worker' })
    expect(world.joined).toEqual([
      { isolation: 'thread', group: 'g', id: 'a' },
      { isolation: 'worker', group: 'g', id: 'a' },
    ])
    expect(world.closed).toBe(2)
  })

  it('is closed although its election fails, and the error is passed on', async () => {
    world.lead = () => Promise.reject(new Error('the disk is gone'))
    await expect(run()).rejects.toThrow('the disk is gone')
    expect(world.closed).toBe(1)
  })

  it('may lose its term: that is no error', async () => {
    world.lead = () => Promise.reject(new LeadershipLostError({ reason: 'expired', detail: null }))
    expect(await run()).toBe(7)
  })

  it('has its warnings reported, and protocols without leases theirs', async () => {
    world.run = async () => {
      ;(world.node as EventEmitter).emit('warning', { what: 'clock', detail: 'was set' })
      return 0
    }
    await run()
    expect(reports).toEqual(['a joined g', 'clock: was set'])
    reports = []
    await run({}, { protocol: 'omega' })
    expect(reports).toHaveLength(3)
    expect(reports[1]).toMatch(/lease/)
  })
})
