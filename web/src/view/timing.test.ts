import { describe, expect, it } from 'vitest'
import { parseEvent } from '../data/parse.ts'
import { statusWith } from './fixture.ts'
import { entryOf } from './log.ts'
import { timingOf } from './timing.ts'

const NEED = { level: 12, leaseMs: 119.2, cause: 'late', by: 'c', text: 'c handled timers up to 11 ms late' }
const TIMING = {
  level: 12,
  levels: [9, 21],
  leaseMs: 119.2,
  renewalMs: 47.5,
  marginMs: 47,
  leaseMinMs: 60,
  leaseMaxMs: 1000,
  failoverMs: { typical: 116.4, worst: 220.7 },
  need: NEED,
  evidence: [{ id: 'c', latenessMs: 11, delayMs: 1, loss: 0, msAgo: 20 }],
  refusals: [],
}
const viewOf = (change: object = {}, others: object = {}) =>
  timingOf(statusWith({ timing: { ...TIMING, ...change }, ...others }))

describe('the length of leases', () => {
  it('is not shown with fixed timing, or if the answer makes no sense', () => {
    expect(timingOf(statusWith())).toBeNull()
    expect(timingOf(statusWith({ timing: { level: 'high' } }))).toBeNull()
  })

  it('has its place between the bounds, the times that follow from it, and its reason', () => {
    expect(viewOf()).toEqual({
      level: 12,
      share: 0.25,
      neededShare: 0.25,
      bounds: ['60 ms', '1.0 s'],
      failover: { typical: '116 ms', worst: '221 ms' },
      why: 'c handled timers up to 11 ms late',
      page: null,
      refusals: [],
      text: 'Level 12: leases of 119 ms, between 60 ms and 1.0 s',
    })
  })

  it('shows what the measurements ask for beside the present level', () => {
    expect(viewOf({ need: { ...NEED, level: 9 } })).toMatchObject({ share: 0.25, neededShare: 0 })
  })

  it('has one place if the bounds leave one level', () => {
    expect(viewOf({ levels: [12, 12] })).toMatchObject({ share: 0, neededShare: 0 })
  })

  it('names the leader on a follower, with its page', () => {
    const nodes = [{ id: 'a', leader: true, page: 'http://127.0.0.1:7480/' }]
    expect(viewOf({ need: null }, { nodes })).toMatchObject({
      why: 'only the leader knows, a',
      page: 'http://127.0.0.1:7480/',
      neededShare: null,
    })
    expect(viewOf({ need: null }, { leader: null })).toMatchObject({
      why: 'a new leader chooses the length of its leases',
      page: null,
    })
  })

  it('lists the nodes that refuse leases of this length', () => {
    const refusals = [{ id: 'b', leaseMinMs: 200, leaseMaxMs: 9000 }, { id: 'c' }]
    expect(viewOf({ refusals })?.refusals).toEqual(['b only grants leases from 200 ms to 9.0 s'])
  })
})

it('a changed length is an event with its reason', () => {
  const level = { level: 12, leaseMs: 119.2, fromMs: 61, cause: 'late', by: 'c' }
  const reason = 'lease 61 ms -> 119 ms: c handled timers up to 11 ms late'
  const event = parseEvent({
    event: 'level',
    self: 'a',
    leader: 'a',
    at: '2030-01-02T03:04:05Z',
    reason,
    level,
  })
  expect(event?.level).toEqual(level)
  expect(event === null ? null : entryOf(event)).toMatchObject({ kind: 'level', node: 'a', text: reason })
})
