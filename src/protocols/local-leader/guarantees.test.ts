import { describe, expect, it } from 'vitest'
import type { PlainObject } from '../../core/index.ts'
import { type Guarantees, guaranteesOf, shownMs } from './guarantees.ts'
import { localLeaderOptions } from './options.ts'

const NODES = [1, 2, 3, 4, 5]

function guarantees(options: PlainObject, nodes: readonly number[] = NODES): Guarantees {
  return guaranteesOf(localLeaderOptions(nodes).parse(options), nodes)
}

describe('the guarantees of five voters on a LAN in majority mode, computed by hand', () => {
  const card = guarantees({})
  // 2Δ = 20.2 ms, on any clock 20.203; a try with σ 30.203; the lease must last 40 + 2 × 30.203 = 100.406.
  const lock = 100_429
  const expires = 110_541 // (lock + Δ)(1 + ρ)
  const onASlowClock = (shown: number): number => Math.ceil(shown / 0.9999)

  it('follow from a lease that covers the renewal interval and both tries', () => {
    expect(card.timing).toMatchObject({ tryTime: 30_203, lockTime: lock, lease: 100_408, expires })
    expect(Math.ceil((lock + 10_100) * 1.0001)).toBe(expires)
  })

  it('include detection after the last message (δ), the silence, and σ', () => {
    expect(card.detection?.worst).toBe(5000 + onASlowClock(expires) + 10_000)
  })

  it('include a second try at most: 1.25 (3Δ + σ) later, and again σ; then a round trip of 2δ', () => {
    const pause = onASlowClock(Math.ceil(1.25 * (3 * 10_100 + 10_000)))
    expect(card.failOver?.worst).toBe(5000 + onASlowClock(expires) + pause + 10_000 + 10_000)
  })

  it('include a hand-over in three message delays', () => {
    expect(card.handOver?.worst).toBe(15_000)
  })

  it('stop an isolated leader when its lease ends, and never a leader that has a majority', () => {
    expect([card.leaseEnd, card.followerLoss]).toEqual([onASlowClock(100_408), 0])
  })

  it('include 8 datagrams per renewal, and 12 between followers in every fourth round', () => {
    const { elections, replies, heartbeats } = card.traffic
    const byHand = 8 / 0.040002 + 12 / (4 * 0.040002)
    expect(elections + replies + heartbeats).toBeCloseTo(byHand, 6)
    expect(byHand).toBeLessThan(280)
  })

  it('tolerate two failures', () => {
    expect([card.quorum, card.spare]).toEqual([3, 2])
  })
})

describe('other configurations', () => {
  it('wait for all answers in local mode, and until a lost node is unreachable', () => {
    const { failOver, handOver, followerLoss, timing, spare } = guarantees({ mode: 'local' })
    const collection = Math.ceil(timing.collection / 0.9999) + timing.lateness
    expect(handOver?.worst).toBe(timing.delay + collection)
    expect(followerLoss).toBe(failOver?.worst)
    expect(spare).toBe(4)
  })

  it('have no fail-over where no other node can lead', () => {
    expect(guarantees({}, [1, 2]).failOver).toBeNull()
    expect(guarantees({ witnesses: [2, 3] }, [1, 2, 3])).toMatchObject({
      failOver: null,
      handOver: null,
      spare: 0,
      eligible: 1,
    })
  })

  it('count voters only: observers receive messages, but neither vote nor send heartbeats', () => {
    const { voters, quorum, traffic } = guarantees({ observers: [4, 5] })
    expect([voters, quorum]).toEqual([3, 2])
    expect(traffic.replies / traffic.elections).toBeCloseTo(2 / 4, 9)
  })

  it('expect more answers under the equality rule, so failover usually takes longer', () => {
    const [quorum, equality] = [guarantees({}), guarantees({ rule: 'equality' })]
    expect(equality.failOver?.typical).toBeGreaterThan(quorum.failOver?.typical ?? 0)
    expect(equality.followerLoss).toBeGreaterThan(0)
  })

  it('are rounded up for display, so that a bound remains a bound', () => {
    expect([shownMs(125_553), shownMs(15_000)]).toEqual([125.56, 15])
  })
})
