import { describe, expect, it } from 'vitest'
import type { Lease } from '../election/election.ts'
import { LeadershipLostError } from './errors.ts'
import { LOSS_REASONS, lossFrom } from './loss-reason.ts'
import { CurrentTerm } from './term.ts'

/** A term with token 7 whose lease the test changes by hand. Instants are in microseconds. */
function lab(lease: Partial<Lease> = {}) {
  const state: { lease: Lease } = { lease: { until: 50_000, now: 0, token: 7, reason: null, ...lease } }
  const term = new CurrentTerm(7, () => state.lease)
  return { term, set: (change: Partial<Lease>) => (state.lease = { ...state.lease, ...change }) }
}

function lossOf(call: () => void): string {
  try {
    call()
  } catch (error) {
    if (error instanceof LeadershipLostError) return error.message
    throw error
  }
  return 'held'
}

describe('a term', () => {
  it('lasts as long as its lease, in milliseconds', () => {
    const { term, set } = lab()
    expect(term.remaining()).toBe(50)
    set({ now: 48_500 })
    expect(term.remaining()).toBe(1.5)
    set({ until: 90_000 })
    expect([term.remaining(), term.signal.aborted, term.ended]).toEqual([41.5, false, null])
  })

  it.each<[string, Partial<Lease>]>([
    ['the clock reaches its end', { now: 50_000 }],
    ['the clock has passed it', { now: 50_001 }],
    ['the node does not lead', { until: null }],
    ['the lease is that of another term', { token: 8 }],
  ])('is over when %s, and does not come back', (_when, change) => {
    const { term, set } = lab()
    set(change)
    expect(term.remaining()).toBe(0)
    set({ until: 1_000_000, now: 0, token: 7 })
    expect(term.remaining()).toBe(0)
    expect(lossOf(() => term.assertHeld())).toBe('this node no longer leads: expired')
  })

  it('asserts that it is held, and for how much longer', () => {
    const { term, set } = lab()
    expect(lossOf(() => term.assertHeld())).toBe('held')
    expect(lossOf(() => term.assertHeld(50))).toBe('held')
    expect(lossOf(() => term.assertHeld(50.1))).toBe(
      'this node no longer leads: lease too short: 50.0 ms are left, 50.1 ms are needed',
    )
    // A lease that is too short for one thing is long enough for another.
    expect(lossOf(() => term.assertHeld(10))).toBe('held')
    set({ now: 60_000 })
    expect(lossOf(() => term.assertHeld(0))).toBe('this node no longer leads: expired')
  })

  it('refuses a negative time before it looks at the lease', () => {
    const { term } = lab({ until: null })
    expect(() => term.assertHeld(-1)).toThrow('leastMs: -1 must be a number of milliseconds, 0 or more')
  })

  it('ends once, and aborts its signal with the first reason', () => {
    const { term } = lab()
    term.end('stepped down')
    term.end('closed')
    term.endWith({ reason: 'failed', detail: 'too late' })
    expect(term.ended).toEqual({ reason: 'stepped down', detail: null })
    expect(term.remaining()).toBe(0)
    expect(term.signal.reason).toBeInstanceOf(LeadershipLostError)
    expect(term.signal.reason).toMatchObject({
      code: 'ERR_CONCLAVE_LEADERSHIP_LOST',
      reason: 'stepped down',
      detail: null,
    })
  })

  it('that the application ends after the lease was over has expired', () => {
    const { term, set } = lab()
    set({ now: 50_000 })
    term.end('stepped down')
    expect(term.ended).toEqual({ reason: 'expired', detail: null })
  })

  it('that the election ends has the reason of the election, even after the lease', () => {
    const { term, set } = lab()
    set({ now: 50_000 })
    term.endWith({ reason: 'outranked', detail: null })
    expect(term.ended).toEqual({ reason: 'outranked', detail: null })
  })

  it('takes the reason that the backend knows before its event arrives', () => {
    const { term, set } = lab()
    expect(term.expiry(0)).toEqual({ reason: 'expired', detail: null })
    set({ reason: 'stalled', until: null })
    expect(term.expiry(0)).toEqual({ reason: 'stalled', detail: null })
    expect(lossOf(() => term.assertHeld())).toBe('this node no longer leads: stalled')
  })

  it('that ends while its lease is read has the reason of that message', () => {
    const term: CurrentTerm = new CurrentTerm(7, () => {
      term.endWith({ reason: 'no longer a voter', detail: null })
      return { until: null, now: 0, token: null, reason: null }
    })
    expect(term.remaining()).toBe(0)
    expect(lossOf(() => term.assertHeld())).toBe('this node no longer leads: no longer a voter')
  })
})

describe('a cause of the protocol', () => {
  it.each([...LOSS_REASONS])('%s is a reason of its own', (reason) => {
    expect(lossFrom(reason)).toEqual({ reason, detail: null })
  })

  it('that is not known is a deposition, with the cause as detail', () => {
    expect(lossFrom('the moon is full')).toEqual({ reason: 'deposed', detail: 'the moon is full' })
    expect(new LeadershipLostError(lossFrom('x')).message).toBe('this node no longer leads: deposed: x')
  })
})
