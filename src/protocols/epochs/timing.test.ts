import { describe, expect, it } from 'vitest'
import { leastLease, leastPeriod, timingOf } from './timing.ts'

describe('the constants of a configuration', () => {
  it('follow from the period and the access time, without drift', () => {
    expect(timingOf({ period: 8000, access: 100, drift: 0, lease: null })).toEqual({
      period: 8000,
      access: 100,
      lease: 8600,
      wait: 8600,
      poll: 1000,
      patience: 9600,
      full: 600,
      stagger: 1400,
      settle: 200,
      deference: 200 + 200 + 600 + 1000,
    })
  })

  it('grow with the drift of clocks, rounded up', () => {
    const timing = timingOf({ period: 8000, access: 100, drift: 0.01, lease: null })
    expect(timing.lease).toBe(8606)
    expect(timing.wait).toBe(Math.ceil(8606 * 1.01 ** 2))
    expect(timing.full).toBe(613)
    expect(timing.settle).toBe(202)
  })

  it('keep a lease that is given', () => {
    expect(timingOf({ period: 8000, access: 100, drift: 0, lease: 9000 })).toMatchObject({
      lease: 9000,
      wait: 9000,
      patience: 10_000,
    })
  })

  it('let a wait on the fastest clock outlast a lease on the slowest', () => {
    for (const drift of [0, 1e-4, 1e-3, 0.05, 0.1]) {
      const { lease, wait } = timingOf({ period: 7919, access: 31, drift, lease: null })
      expect(wait / (1 + drift)).toBeGreaterThanOrEqual(lease * (1 + drift) - 1e-6)
    }
  })
})

describe('the least values', () => {
  it('of a period are three writes and three rounds', () => {
    expect([leastPeriod(100, 0), leastPeriod(100, 0.01)]).toEqual([600, 613])
  })
  it('of a lease are a period and two renewals', () => {
    expect([leastLease(8000, 100, 0), leastLease(8000, 100, 0.01)]).toEqual([8400, 8404])
  })
})
