import { describe, expect, it } from 'vitest'
import { measured, statusWith } from './fixture.ts'
import { certainShare, type LeaseView, leaseOf, leaseText, marginTexts } from './lease.ts'

const leaseWith = (change: object): LeaseView => {
  const lease = leaseOf(statusWith(change))
  if (lease === null) throw new Error('there is no lease')
  return lease
}

describe('the lease bar', () => {
  it('shows what was left, and what is certainly left without news', () => {
    const lease = leaseWith({})
    expect([lease.observedShare, lease.marginShare]).toEqual([0.6, 0.4])
    expect([certainShare(lease, 0), certainShare(lease, 20), certainShare(lease, 61)]).toEqual([0.6, 0.4, 0])
  })

  it('never leaves its frame', () => {
    const lease = leaseWith({ leader: { id: 'a', token: 1, expiresInMs: 130 } })
    expect([lease.observedShare, certainShare(lease, -50)]).toEqual([1, 1])
  })

  it('has the measured margin beside the expected one', () => {
    const lease = leaseWith({ measured })
    expect(lease.measuredShare).toBe(0.35)
    expect(marginTexts(lease)).toEqual({
      expected: 'renewed with at least 40 ms left',
      measured: 'least measured 35 ms',
    })
    expect(marginTexts(leaseWith({})).measured).toBeNull()
    expect(leaseText(lease)).toBe('60 ms left of 100 ms')
  })

  it.each([
    ['without a leader', { leader: null }],
    ['under a protocol without leases', { leader: { id: 'a', token: 1, expiresInMs: null } }],
  ])('does not exist %s', (_when, change) => {
    expect(leaseOf(statusWith(change))).toBeNull()
  })
})
