import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LeadershipLostError } from '../../service/node/index.ts'
import { monotonicNow } from '../../service/runtime/index.ts'
import type { CommandExit } from '../../service/supervise/guardian-process.ts'
import { EXIT } from '../errors.ts'
import {
  type HeldTerm,
  type KillBefore,
  leaseFor,
  type RunSettings,
  resolveKillBefore,
  runInTerm,
} from './term.ts'

describe('resolveKillBefore', () => {
  const timing = { lengthMs: 100, marginMs: 40 }

  it('uses the default, and less for a short lease', () => {
    expect(resolveKillBefore(timing, null)).toEqual({ ms: 15, leaseMs: 100, mostMs: 15 })
    expect(resolveKillBefore({ lengthMs: 20, marginMs: 9 }, null)).toEqual({ ms: 6, leaseMs: 20, mostMs: 15 })
  })

  it('accepts up to two thirds of the margin', () => {
    expect(resolveKillBefore(timing, 26)).toEqual({ ms: 26, leaseMs: 100, mostMs: 26 })
    expect(() => resolveKillBefore(timing, 27)).toThrow(/^--kill-before-ms 27: must be at most 26;/)
  })

  it('knows the lease that would be long enough', () => {
    const lengthMs = leaseFor(timing, 52)
    expect(resolveKillBefore({ lengthMs, marginMs: lengthMs * 0.4 }, 52).ms).toBe(52)
    expect(leaseFor(timing, 5)).toBe(100)
  })

  it('refuses a lease that leaves no time to kill a command', () => {
    expect(() => resolveKillBefore({ lengthMs: 5, marginMs: 1 }, null)).toThrow(/use a longer lease/)
  })
})

/** A guardian that records calls, and a command that exits when the test says so. */
class FakeGuardian {
  readonly stops: number[] = []
  readonly deadlines: (readonly [number, number])[] = []
  started: { readonly command: readonly string[]; readonly env: { readonly [name: string]: string } } | null =
    null
  exit: (exit: CommandExit | null) => void = () => {}

  run(
    command: readonly string[],
    env: { readonly [name: string]: string },
    end: number,
    kill: number,
  ): Promise<CommandExit | null> {
    this.started = { command, env }
    this.deadlines.push([end, kill])
    return new Promise((resolve) => {
      this.exit = resolve
    })
  }

  setDeadline(end: number, kill: number): void {
    this.deadlines.push([end, kill])
  }

  stop(graceMs: number): void {
    this.stops.push(graceMs)
  }
}

type Controllers = { readonly [what in 'stop' | 'lost' | 'ending']: AbortController }

describe('runInTerm', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())

  function setUp(
    killBefore: KillBefore = { ms: 15, leaseMs: 100, mostMs: 15 },
    remaining = () => 90.7,
    prepare: (given: Controllers) => void = () => {},
  ) {
    const stop = new AbortController()
    const lost = new AbortController()
    const ending = new AbortController()
    const guardian = new FakeGuardian()
    const reported: string[] = []
    const term: HeldTerm = {
      group: 'g',
      id: 'a',
      token: 7,
      signal: lost.signal,
      ending: ending.signal,
      remaining,
    }
    const settings: RunSettings = {
      command: ['worker', '--all'],
      stopSignal: stop.signal,
      graceMs: 500,
      killBeforeMs: null,
      once: false,
      report: (text) => reported.push(text),
    }
    prepare({ stop, lost, ending })
    const result = runInTerm(term, killBefore, guardian, settings)
    return { stop, lost, ending, guardian, reported, result }
  }

  it('starts the command with the term in its environment, and returns its exit code', async () => {
    const { guardian, reported, result } = setUp()
    expect(guardian.started).toEqual({
      command: ['worker', '--all'],
      env: { CONCLAVE_GROUP: 'g', CONCLAVE_ID: 'a', CONCLAVE_TOKEN: '7', CONCLAVE_EXPIRES_MS: '90' },
    })
    guardian.exit({ code: 3, signal: null, isTerminated: false })
    expect(await result).toBe(3)
    expect(reported).toEqual(['a leads with token 7: starting worker', 'worker ended with 3'])
  })

  it.each<[string, (given: Controllers) => AbortController, number | null]>([
    ['this process received a signal to stop', ({ stop }) => stop, EXIT.ok],
    ['the term was lost', ({ lost }) => lost, null],
    ['the agent ends the term', ({ ending }) => ending, null],
  ])('does not start the command when %s before', async (_when, controllerOf, code) => {
    const { guardian, result } = setUp(undefined, undefined, (given) => controllerOf(given).abort())
    expect(await result).toBe(code)
    expect(guardian.started).toBeNull()
  })

  it('returns 128 plus the number of the signal that ended the command', async () => {
    const { guardian, reported, result } = setUp()
    guardian.exit({ code: null, signal: 'SIGKILL', isTerminated: false })
    expect(await result).toBe(137)
    expect(reported.at(-1)).toBe('worker ended by SIGKILL')
  })

  it('sends SIGTERM at most 15 ms before SIGKILL, and SIGKILL 15 ms before the lease ends', () => {
    const { guardian } = setUp()
    const [[end, kill] = [0, 0]] = guardian.deadlines
    expect(kill - end).toBe(15_000)
  })

  it('kills earlier before the end of a longer lease, up to the default', () => {
    const gapOf = (killBefore: KillBefore): number => {
      const [[end, kill] = [0, 0]] = setUp(killBefore).guardian.deadlines
      return Math.round((kill - end) / 100) / 10
    }
    expect(gapOf({ ms: 4, leaseMs: 45.35, mostMs: 15 })).toBe(8)
    expect(gapOf({ ms: 4, leaseMs: 9.07, mostMs: 15 })).toBe(15)
    expect(gapOf({ ms: 4, leaseMs: 200, mostMs: 15 })).toBe(4)
  })

  it('reads the clock before the lease, so that a pause in between makes the deadline earlier', () => {
    let readAt = 0
    const { guardian } = setUp(undefined, () => {
      readAt = monotonicNow()
      return 90.7
    })
    const [[, kill] = [0, 0]] = guardian.deadlines
    expect(kill + 15_000 - 90_700).toBeLessThanOrEqual(readAt)
  })

  it('waits for the next term if the lease ended before the command was started', async () => {
    const { guardian, lost, reported, result } = setUp()
    lost.abort(new LeadershipLostError({ reason: 'expired', detail: null }))
    guardian.exit(null)
    expect(await result).toBeNull()
    expect(reported.at(-1)).toBe('worker was not started: this node no longer leads: expired')
  })

  it('moves the deadlines while the lease is renewed, and stops when the term is lost', async () => {
    const { guardian, lost, result } = setUp()
    vi.advanceTimersByTime(50)
    expect(guardian.deadlines).toHaveLength(11)
    lost.abort()
    expect(guardian.stops).toEqual([0])
    vi.advanceTimersByTime(50)
    expect(guardian.deadlines).toHaveLength(11)
    guardian.exit({ code: null, signal: 'SIGTERM', isTerminated: true })
    expect(await result).toBeNull()
  })

  it('logs the cause when it has ended the command; the log adds the time', async () => {
    const { guardian, lost, reported, result } = setUp()
    // The guardian ends the command a little before the term is lost.
    guardian.exit({ code: null, signal: 'SIGTERM', isTerminated: true })
    await new Promise((resolve) => setImmediate(resolve))
    expect(reported.at(-1)).toBe('worker ended by SIGTERM')
    lost.abort(
      new LeadershipLostError({ reason: 'expired', detail: 'this node was late by 93 ms (sigmaMs is 30)' }),
    )
    expect(await result).toBeNull()
    expect(reported.at(-1)).toBe(
      'worker was ended: this node no longer leads: expired: this node was late by 93 ms (sigmaMs is 30)',
    )
  })

  it('gives the command its grace period when this process or the agent stops', async () => {
    const byAgent = setUp()
    byAgent.ending.abort()
    expect(byAgent.guardian.stops).toEqual([500])
    byAgent.guardian.exit({ code: 0, signal: null, isTerminated: true })
    expect(await byAgent.result).toBeNull()
    const bySignal = setUp()
    bySignal.stop.abort()
    expect(bySignal.guardian.stops).toEqual([500])
    bySignal.guardian.exit({ code: 9, signal: null, isTerminated: true })
    expect(await bySignal.result).toBe(0)
  })

  it('leaves no timer and no listener behind', async () => {
    const { guardian, stop, lost, result } = setUp()
    guardian.exit({ code: 0, signal: null, isTerminated: false })
    await result
    expect(vi.getTimerCount()).toBe(0)
    stop.abort()
    lost.abort()
    expect(guardian.stops).toEqual([])
  })
})
