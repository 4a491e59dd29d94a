import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Command } from '../../../core/index.ts'
import { type ElectionBackend, type Lease, NO_VIEW } from '../election/election.ts'
import { REAL_TIMERS } from '../election/timers.ts'
import { LeadershipLostError } from './errors.ts'
import { TermManager } from './term-manager.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const DRAIN_MS = 500

/** A manager over a backend that records its calls. The lease ends at `until` on the fake clock. */
function lab() {
  const calls: string[] = []
  const state = { isFit: true, overdue: 0, until: Number.POSITIVE_INFINITY, token: null as number | null }
  const backend: ElectionBackend = {
    view: () => NO_VIEW,
    status() {
      throw new Error('the status is not used')
    },
    lease: (): Lease => ({
      until: state.token === null ? null : state.until * 1000,
      now: Date.now() * 1000,
      token: state.token,
      reason: null,
    }),
    async command({ willing, lapse }: Command) {
      calls.push(`candidate ${willing === true}${lapse === true ? ', lapse' : ''}`)
      return null
    },
    async stepDown(token) {
      calls.push(`release ${token}`)
    },
    injectFaults() {},
    announce() {},
    explain: () => null,
    handOverProblem: async () => null,
    async *trace() {},
    async close() {},
  }
  const manager = new TermManager({
    timers: REAL_TIMERS,
    drainMs: DRAIN_MS,
    backend: () => backend,
    isFit: () => state.isFit,
    onOverdue: () => (state.overdue += 1),
  })
  return {
    manager,
    state,
    calls,
    /** Elects this node with a lease of `leaseMs` milliseconds. */
    async elect(token: number, leaseMs = 1e9) {
      state.token = token
      state.until = Date.now() + leaseMs
      manager.handleElected(token)
      await vi.advanceTimersByTimeAsync(0)
      const { term } = manager
      if (term === null) throw new Error('there is no term')
      return term
    },
  }
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0)
/** Work that ends when the test says so, regardless of its term. */
function endless(): { readonly work: () => Promise<void>; end: () => void } {
  const handle: { end: () => void } = { end: () => {} }
  const ended = new Promise<void>((resolve) => {
    handle.end = resolve
  })
  return { work: () => ended, end: () => handle.end() }
}

describe('candidacy', () => {
  it('reaches the backend when it changes: wanted and fit', async () => {
    const { manager, state, calls } = lab()
    await manager.setWanted(true)
    await manager.setWanted(true)
    state.isFit = false
    await manager.updateCandidacy()
    state.isFit = true
    await manager.updateCandidacy()
    await manager.setWanted(false)
    expect(calls).toEqual(['candidate true', 'candidate false', 'candidate true', 'candidate false'])
    expect(manager.isWanted).toBe(false)
  })

  it('does not reach the backend before a node wants to lead', async () => {
    const { manager, calls } = lab()
    await manager.updateCandidacy()
    expect(calls).toEqual([])
  })

  it('stays while work runs in the current term, although the node became unfit', async () => {
    const { manager, state, calls, elect } = lab()
    await manager.setWanted(true)
    const term = await elect(1)
    const { work, end } = endless()
    const running = manager.runWork(term, work)
    state.isFit = false
    await manager.updateCandidacy()
    expect(calls).toEqual(['candidate true'])
    end()
    await running
    expect(calls).toEqual(['candidate true', 'candidate false', 'release 1'])
  })

  it('lapses while work of an earlier term runs: nothing is released', async () => {
    const { manager, calls, elect } = lab()
    await manager.setWanted(true)
    const term = await elect(1)
    const { work, end } = endless()
    const running = manager.runWork(term, work)
    manager.handleDemoted(1, { reason: 'outranked', detail: null })
    await settle()
    expect(calls).toEqual(['candidate true', 'candidate false, lapse'])
    expect([manager.isOverdue, manager.term, manager.workingTerm]).toEqual([true, null, term])
    end()
    await running
    expect(calls.slice(2)).toEqual(['candidate true', 'release 1'])
    expect([manager.isOverdue, manager.workingTerm]).toEqual([false, null])
  })
})

describe('work', () => {
  it('releases the lease when it returns, and the term ends by stepping down', async () => {
    const { manager, calls, elect } = lab()
    const term = await elect(3)
    await manager.runWork(term, () => {})
    expect(calls).toEqual(['release 3'])
    expect(term.ended).toEqual({ reason: 'stepped down', detail: null })
  })

  it('passes its error on, after the lease is released', async () => {
    const { manager, calls, elect } = lab()
    const term = await elect(3)
    await expect(manager.runWork(term, () => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
    expect(calls).toEqual(['release 3'])
  })

  it.each<[string, (signal: AbortSignal) => unknown]>([
    ['the reason of the signal', ({ reason }) => reason],
    ['a LeadershipLostError', () => new LeadershipLostError({ reason: 'expired', detail: null })],
    ['what Node.js makes of an abort', () => Object.assign(new Error('aborted'), { name: 'AbortError' })],
  ])('that fails with %s after its term ended has not failed', async (_what, errorOf) => {
    const { manager, elect } = lab()
    const term = await elect(3)
    const running = manager.runWork(
      term,
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(errorOf(signal)))
        }),
    )
    await manager.drain(term, 'stopped')
    await running
    expect(term.ended).toEqual({ reason: 'stopped', detail: null })
  })

  it('that fails with an AbortError of its own while it leads has failed', async () => {
    const { manager, elect } = lab()
    const term = await elect(3)
    const error = Object.assign(new Error('mine'), { name: 'AbortError' })
    await expect(manager.runWork(term, () => Promise.reject(error))).rejects.toBe(error)
  })
})

describe('drain', () => {
  it('without work releases the lease at once', async () => {
    const { manager, calls, elect } = lab()
    const term = await elect(5)
    expect(await manager.drain(term, 'closed')).toBe(true)
    expect([calls, term.ended?.reason]).toEqual([['release 5'], 'closed'])
  })

  it('waits for work that ends in time', async () => {
    const { manager, calls, elect, state } = lab()
    const term = await elect(5)
    const { work, end } = endless()
    const running = manager.runWork(term, work)
    const drained = manager.drain(term, 'stopped')
    expect(term.signal.aborted).toBe(true)
    await vi.advanceTimersByTimeAsync(DRAIN_MS - 1)
    expect(calls).toEqual([])
    end()
    expect(await drained).toBe(true)
    await running
    expect([calls, state.overdue]).toEqual([['release 5'], 0])
  })

  it('reports work that does not end in time, once, and lets the lease expire', async () => {
    const { manager, calls, elect, state } = lab()
    await manager.setWanted(true)
    const term = await elect(5)
    const { work, end } = endless()
    const running = manager.runWork(term, work)
    const drained = Promise.all([manager.drain(term, 'stopped'), manager.drain(term, 'closed')])
    await vi.advanceTimersByTimeAsync(DRAIN_MS)
    expect(await drained).toEqual([false, false])
    expect([state.overdue, manager.isOverdue, term.ended?.reason]).toEqual([1, true, 'stopped'])
    expect(calls).toEqual(['candidate true', 'candidate false, lapse'])
    end()
    await running
    expect(calls.slice(2)).toEqual(['candidate true', 'release 5'])
  })

  it('does not wait after its signal was aborted', async () => {
    const { manager, elect } = lab()
    const term = await elect(5)
    const { work, end } = endless()
    const running = manager.runWork(term, work)
    expect(await manager.drain(term, 'closed', AbortSignal.abort())).toBe(false)
    end()
    await running
  })
})

describe('the end of a lease', () => {
  it('ends the term 5 ms early, so that the work stops before another node leads', async () => {
    const { manager, elect } = lab()
    const term = await elect(1, 100)
    await vi.advanceTimersByTimeAsync(94)
    expect(term.ended).toBeNull()
    await vi.advanceTimersByTimeAsync(1)
    expect(term.ended).toEqual({ reason: 'expired', detail: null })
    expect(manager.term).toBe(term)
  })

  it('moves with every renewal', async () => {
    const { state, elect } = lab()
    const term = await elect(1, 100)
    await vi.advanceTimersByTimeAsync(90)
    state.until = Date.now() + 100
    await vi.advanceTimersByTimeAsync(90)
    expect(term.ended).toBeNull()
    await vi.advanceTimersByTimeAsync(5)
    expect(term.ended?.reason).toBe('expired')
  })

  it('found by this thread alone releases the lease that the election still renews', async () => {
    const { calls, elect } = lab()
    await elect(1, 100)
    await vi.advanceTimersByTimeAsync(95)
    expect(calls).toEqual(['release 1'])
  })
})

describe('a demotion', () => {
  it('ends the term for its reason and releases the lease', async () => {
    const { manager, calls, elect } = lab()
    const term = await elect(2)
    expect(manager.handleDemoted(2, { reason: 'outranked', detail: null })).toEqual({
      reason: 'outranked',
      detail: null,
    })
    await settle()
    expect([term.signal.aborted, manager.term, calls]).toEqual([true, null, ['release 2']])
  })

  it('returns the reason for which the term ended before', async () => {
    const { manager, elect } = lab()
    const term = await elect(2)
    term.end('unhealthy')
    expect(manager.handleDemoted(2, { reason: 'withdrew', detail: null })).toEqual({
      reason: 'unhealthy',
      detail: null,
    })
  })

  it('after a withdrawal releases nothing: the node leads again when its work has ended', async () => {
    const { manager, calls, elect } = lab()
    await elect(2)
    manager.handleDemoted(2, { reason: 'withdrew', detail: null })
    await settle()
    expect(calls).toEqual([])
  })

  it('without a term has the reason that it is given', () => {
    const { manager } = lab()
    expect(manager.handleDemoted(null, { reason: 'closed', detail: null }).reason).toBe('closed')
  })
})
