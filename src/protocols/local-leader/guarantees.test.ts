import { describe, expect, it } from 'vitest'
import type { PlainObject } from '../../core/index.ts'
import { type Guarantees, guaranteesOf, shownMs } from './guarantees.ts'
import { localLeaderOptions } from './options.ts'

const NODES = [1, 2, 3, 4, 5]

function guarantees(options: PlainObject, nodes: readonly number[] = NODES): Guarantees {
  return guaranteesOf(localLeaderOptions(nodes).parse(options), nodes)
}

describe('what five voters on a LAN guarantee in majority mode, by hand', () => {
  const card = guarantees({})
  // 2Δ = 20.2 ms, on any clock 20.203; a try with σ 30.203; the lease must last 40 + 2 × 30.203 = 100.406.
  const lock = 100_429
  const expires = 110_541 // (lock + Δ)(1 + ρ)
  const onASlowClock = (shown: number): number => Math.ceil(shown / 0.9999)

  it('is derived from a lease that covers the renewal interval and both tries', () => {
    expect(card.timing).toMatchObject({ tryTime: 30_203, lockTime: lock, lease: 100_408, expires })
    expect(Math.ceil((lock + 10_100) * 1.0001)).toBe(expires)
  })

  it('notices a crash after the last message (δ), the silence, and σ', () => {
    expect(card.detection?.worst).toBe(5000 + onASlowClock(expires) + 10_000)
  })

  it('needs a second try at most: 1.25 (3Δ + σ) later, and again σ; then a round trip of 2δ', () => {
    const pause = onASlowClock(Math.ceil(1.25 * (3 * 10_100 + 10_000)))
    expect(card.failOver?.worst).toBe(5000 + onASlowClock(expires) + pause + 10_000 + 10_000)
  })

  it('hands over in three message delays', () => {
    expect(card.handOver?.worst).toBe(15_000)
  })

  it('leaves an isolated leader its lease, and never stops one that has a majority', () => {
    expect([card.leaseEnd, card.followerLoss]).toEqual([onASlowClock(100_408), 0])
  })

  it('sends 8 datagrams a renewal, and 12 between its followers in every fourth round', () => {
    const { elections, replies, heartbeats } = card.traffic
    const byHand = 8 / 0.040002 + 12 / (4 * 0.040002)
    expect(elections + replies + heartbeats).toBeCloseTo(byHand, 6)
    expect(byHand).toBeLessThan(280)
  })

  it('bears two failures', () => {
    expect([card.quorum, card.spare]).toEqual([3, 2])
  })
})

describe('other configurations', () => {
  it('wait for all answers in local mode, and for whoever is lost to be given up', () => {
    const { failOver, handOver, followerLoss, timing, spare } = guarantees({ mode: 'local' })
    const collection = Math.ceil(timing.collection / 0.9999) + timing.lateness
    expect(handOver?.worst).toBe(timing.delay + collection)
    expect(followerLoss).toBe(failOver?.worst)
    expect(spare).toBe(4)
  })

  it('have no fail-over where nobody else can lead', () => {
    expect(guarantees({}, [1, 2]).failOver).toBeNull()
    expect(guarantees({ witnesses: [2, 3] }, [1, 2, 3])).toMatchObject({
      failOver: null,
      handOver: null,
      spare: 0,
      eligible: 1,
    })
  })

  it('count voters only: observers are sent to, but neither vote nor beat', () => {
    const { voters, quorum, traffic } = guarantees({ observers: [4, 5] })
    expect([voters, quorum]).toEqual([3, 2])
    expect(traffic.replies / traffic.elections).toBeCloseTo(2 / 4, 9)
  })

  it('expect more answers with the rule of equality, so it usually takes longer', () => {
    const [quorum, equality] = [guarantees({}), guarantees({ rule: 'equality' })]
    expect(equality.failOver?.typical).toBeGreaterThan(quorum.failOver?.typical ?? 0)
    expect(equality.followerLoss).toBeGreaterThan(0)
  })

  it('are shown rounded up, so that a bound stays one', () => {
    expect([shownMs(125_553), shownMs(15_000)]).toEqual([125.56, 15])
  })
})
