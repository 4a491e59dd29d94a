import { describe, expect, it } from 'vitest'
import { describeFailovers, Failovers, formatMs } from './failover.ts'

const at = (ms: number): string => new Date(ms).toISOString()

describe('the time of a failover', () => {
  it('counts from the moment at which the leader is harmed, not from when it notices', () => {
    let now = 1000
    const failovers = new Failovers(() => now)
    expect(failovers.take('n1', { event: 'elected', token: 1, time: at(900) })).toBeNull()
    failovers.harm('n2', 'was killed')
    failovers.harm('n1', 'was paused')
    now = 1100
    expect(failovers.take('n2', { event: 'elected', token: 2, time: at(1080) })).toEqual({
      ms: 80,
      from: 'n1',
      to: 'n2',
      after: 'n1 was paused',
    })
    // The paused leader resumes and notices.
    expect(failovers.take('n1', { event: 'revoked', token: 1, time: at(2000) })).toBeNull()
    expect(failovers.take('n3', { event: 'elected', token: 3, time: at(2500) })).toMatchObject({
      ms: 0,
      after: 'n2 stopped leading',
    })
  })

  it('counts from the event by which the leader stops', () => {
    const failovers = new Failovers()
    failovers.take('n1', { event: 'elected', time: at(0) })
    failovers.take('n1', { event: 'revoked', time: at(500) })
    expect(failovers.take('n1', { event: 'elected', time: at(620) })).toMatchObject({ ms: 120, from: 'n1' })
    expect(failovers.take('n1', { event: 'change', time: at(700) })).toBeNull()
    // An unreadable time is replaced by the time at which the line arrives.
    expect(new Failovers(() => 5).take('n1', { event: 'elected', time: 'soon' })).toBeNull()
  })
})

it('is summed up in one sentence', () => {
  const failover = (ms: number, to: string) => ({ ms, from: 'n1', to, after: 'n1 was killed' })
  const describeAll = (...all: readonly ReturnType<typeof failover>[]) =>
    describeFailovers({ all: [...all], last: all.at(-1) ?? null })
  expect(describeAll()).toBeNull()
  expect(describeAll(failover(197, 'n2'))).toBe('last failover: n2 leads 197 ms after n1 was killed')
  expect(describeAll(failover(300, 'n2'), failover(100, 'n3'), failover(200, 'n2'))).toBe(
    'last failover: n2 leads 200 ms after n1 was killed; 3 failovers, median 200 ms, longest 300 ms',
  )
  expect(formatMs(12_345)).toBe('12.3 s')
})
