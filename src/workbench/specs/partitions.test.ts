/** Promises about nodes that have been connected for long: violating traces and near misses. */
import { describe, expect, it } from 'vitest'
import {
  connectivityAt,
  downAt,
  endedAt,
  followsAt,
  judgement,
  leadsAt,
  viewAt,
} from '../../../test/support/traces.ts'
import type { NodeId } from '../../core/index.ts'
import type { Connected, Observation } from '../trace/index.ts'
import type { Judgement, RunFacts } from './index.ts'

/** Both constants are 100 ms. */
const RUN: RunFacts = {
  nodes: [1, 2, 3, 4],
  prefers: 'lowest',
  constants: { kappaT: 100_000, kappaBI: 100_000 },
}
const judge = (name: string, ...observations: readonly Observation[]): Judgement =>
  judgement(name, RUN, observations)
const full = (ms: number): Observation => connectivityAt(ms, 'full', [RUN.nodes])
const halves = (ms: number): Observation =>
  connectivityAt(
    ms,
    [
      [1, 2],
      [3, 4],
    ],
    [
      [1, 2],
      [3, 4],
    ],
  )

describe('T', () => {
  const gap = (members: string, from: number, to: number): Judgement => ({
    violated: `no node in {${members}} led from ${from} to ${to} ms`,
  })
  it('rejects a stable partition without a leader in time', () => {
    expect(judge('T', full(0), leadsAt(100.001, 1, 200))).toEqual(gap('1, 2, 3, 4', 0, 100.001))
    expect(judge('T', full(0), endedAt(101))).toEqual(gap('1, 2, 3, 4', 0, 101))
    expect(judge('T', full(0), halves(101))).toEqual(gap('1, 2, 3, 4', 0, 101))
  })
  it('accepts a leader just in time, and partitions that did not last', () => {
    expect(judge('T', full(0), leadsAt(100, 1, 200), endedAt(150))).toBe('held')
    expect(judge('T', full(0), halves(99), full(198), endedAt(297))).toBe('not concerned')
  })
  it('requires a leader in every partition', () => {
    expect(judge('T', halves(0), leadsAt(10, 1, 999, [1, 2, 3, 4]), endedAt(150))).toEqual(
      gap('3, 4', 0, 150),
    )
    expect(judge('T', halves(0), leadsAt(10, 1, 999), leadsAt(20, 4, 999), endedAt(150))).toBe('held')
  })
  it('counts a gap from the end of the lease, noticed or not', () => {
    expect(judge('T', full(0), leadsAt(50, 1, 120), endedAt(221))).toEqual(gap('1, 2, 3, 4', 120, 221))
    expect(judge('T', full(0), leadsAt(50, 1, 120), followsAt(200, 1, null), endedAt(221))).toEqual(
      gap('1, 2, 3, 4', 120, 221),
    )
    expect(judge('T', full(0), leadsAt(50, 1, 120), endedAt(220))).toBe('held')
    expect(judge('T', full(0), leadsAt(50, 1, 900), followsAt(120, 1, null), leadsAt(221, 2, 300))).toEqual(
      gap('1, 2, 3, 4', 120, 221),
    )
  })
  it('detects a gap between two leases of one leader', () => {
    expect(judge('T', full(0), leadsAt(50, 1, 120), leadsAt(221, 1, 300))).toEqual(
      gap('1, 2, 3, 4', 120, 221),
    )
    expect(judge('T', full(0), leadsAt(50, 1, 120), leadsAt(119, 1, 300), endedAt(400))).toBe('held')
  })
  it('accepts rotating leaders', () => {
    const rotation = [1, 2, 3, 4].map((node) => leadsAt(node * 100, node, node * 100 + 10))
    expect(judge('T', full(0), ...rotation, endedAt(500))).toBe('held')
  })
  it('counts a node that led when the partition formed, for as long as it leads', () => {
    expect(judge('T', leadsAt(0, 1, 180), full(50), endedAt(280))).toBe('held')
    expect(judge('T', leadsAt(0, 1, 180), full(50), endedAt(281))).toEqual(gap('1, 2, 3, 4', 180, 281))
    expect(judge('T', leadsAt(0, 1, 20), full(50), endedAt(151))).toEqual(gap('1, 2, 3, 4', 50, 151))
  })
  it('restarts for a different partition, but not for the same one seen again', () => {
    const three = connectivityAt(60, 'full', [[1, 2, 3]])
    expect(judge('T', full(0), downAt(60, 4), three, endedAt(160))).toBe('held')
    expect(judge('T', full(0), full(60), endedAt(110))).toEqual(gap('1, 2, 3, 4', 0, 110))
  })
  it('ends a term at a crash', () => {
    const alone = connectivityAt(60, 'full', [[2, 3, 4]])
    expect(judge('T', full(0), leadsAt(10, 1, 500), downAt(60, 1), alone, endedAt(161))).toEqual(
      gap('2, 3, 4', 60, 161),
    )
  })
  it('treats a lease without an end as unlimited', () => {
    expect(judge('T', full(0), leadsAt(10, 1, null), endedAt(999))).toBe('held')
  })
  it('requires nothing of a partition of observers', () => {
    const observes = [3, 4].map((node) => viewAt(0, node, 'observer', {}))
    const led = [halves(0), leadsAt(10, 1, 999), ...observes]
    expect(judge('T', ...led, endedAt(150))).toBe('held')
    expect(judge('T', ...led, followsAt(20, 4, null), endedAt(150))).toEqual(gap('3, 4', 0, 150))
  })
  it('is not concerned without its constant, or where nothing is stable', () => {
    expect(judgement('T', { ...RUN, constants: {} }, [full(0), endedAt(999)])).toBe('not concerned')
    expect(judge('T', connectivityAt(0, [], []), endedAt(999))).toBe('not concerned')
  })

  describe('in majority mode', () => {
    const majority: RunFacts = { ...RUN, constants: { ...RUN.constants, majority: 1 } }
    const three = connectivityAt(0, [], [[1, 2, 3], [4]])
    const shows = (
      ms: number,
      node: NodeId,
      id: readonly number[],
      ...sets: readonly (readonly NodeId[])[]
    ): Observation => viewAt(ms, node, 'follower', { detail: { config: { id, sets } } })
    const started = RUN.nodes.map((node) => shows(0, node, [0, 0], RUN.nodes))
    const of = (...observations: readonly Observation[]): Judgement =>
      judgement('T', majority, [...started, ...observations])

    it('requires a leader only of partitions with a majority', () => {
      expect(of(halves(0), endedAt(200))).toBe('not concerned')
      expect(of(three, endedAt(200))).toEqual(gap('1, 2, 3', 0, 200))
    })
    it('uses the newest voters that a node inside shows', () => {
      const pair = connectivityAt(0, [], [[1, 2], [3], [4]])
      expect(of(pair, endedAt(200))).toBe('not concerned')
      expect(of(shows(0, 1, [1, 1], [1, 2, 3]), pair, endedAt(200))).toEqual(gap('1, 2', 0, 200))
      expect(of(shows(0, 3, [1, 1], [1, 2, 3]), pair, endedAt(200))).toBe('not concerned')
      const joint = shows(0, 2, [1, 2], [1, 2, 3], [1, 2, 3, 4])
      expect(of(shows(0, 1, [1, 1], [1, 2, 3]), joint, pair, endedAt(200))).toBe('not concerned')
    })
    it('counts from the moment the partition gains the majority', () => {
      const pair = connectivityAt(0, [], [[1, 2], [3], [4]])
      const fewer = shows(150, 1, [1, 1], [1, 2, 3])
      expect(of(pair, fewer, endedAt(250))).toBe('held')
      expect(of(pair, fewer, endedAt(251))).toEqual(gap('1, 2', 150, 251))
    })
    it('does not count nodes that cannot store a vote', () => {
      const ill = connectivityAt(0, [], [[1, 2, 3], [4]], { unwritable: [3] })
      expect(of(ill, endedAt(200))).toBe('not concerned')
      expect(of(ill, connectivityAt(150, [], [[1, 2, 3], [4]]), endedAt(250))).toBe('held')
      expect(of(ill, connectivityAt(150, [], [[1, 2, 3], [4]]), endedAt(251))).toEqual(
        gap('1, 2, 3', 150, 251),
      )
    })
  })
})

describe('BI', () => {
  const without = (leader: NodeId, process: NodeId, since: number): Judgement => ({
    violated: `${leader} led without the support of ${process}, with which it was connected since ${since} ms`,
  })
  it('rejects a leader without the support of a node it has long been connected with', () => {
    expect(judge('BI', full(0), leadsAt(110, 1, 200, [1, 2, 3]), endedAt(120))).toEqual(without(1, 4, 0))
  })
  it('rejects only the part of a lease after κ', () => {
    const lease = [full(0), leadsAt(50, 1, 150, [1, 2, 3])]
    expect(judge('BI', ...lease, leadsAt(101, 1, 200, [1, 2, 3, 4]))).toEqual(without(1, 4, 0))
    expect(judge('BI', ...lease, leadsAt(100, 1, 200, [1, 2, 3, 4]))).toBe('held')
    expect(judge('BI', full(0), leadsAt(50, 1, 100, [1, 2, 3]), leadsAt(160, 1, 200, [1, 2, 3, 4]))).toBe(
      'held',
    )
    expect(judge('BI', ...lease, downAt(100, 1), endedAt(300))).toBe('not concerned')
    expect(judge('BI', ...lease, followsAt(101, 1, null))).toEqual(without(1, 4, 0))
  })
  it('judges connected pairs, in a stable partition or not', () => {
    const path: Connected = [
      [1, 2],
      [2, 3],
    ]
    const graph = connectivityAt(0, path, [])
    expect(judge('BI', graph, leadsAt(110, 1, 300, [1, 2]), leadsAt(150, 1, 300, [1, 2, 3]))).toBe('held')
    expect(judge('BI', graph, leadsAt(110, 1, 300, [1, 3]), endedAt(150))).toEqual(without(1, 2, 0))
    expect(judge('BI', graph, leadsAt(110, 2, 300, [2, 3]), endedAt(150))).toEqual(without(2, 1, 0))
  })
  it('restarts for a pair that was separated, and continues for the others', () => {
    const lease = (ms: number): Observation => leadsAt(ms, 1, 500, [1, 2])
    expect(judge('BI', full(0), halves(50), full(60), leadsAt(160, 1, 500, [1, 2]), full(160))).toBe(
      'not concerned',
    )
    expect(judge('BI', full(0), halves(50), full(60), lease(60), endedAt(160.001))).toEqual(without(1, 3, 60))
    expect(judge('BI', full(0), halves(50), full(60), leadsAt(90, 1, 500, [1, 3, 4]), endedAt(110))).toEqual(
      without(1, 2, 0),
    )
  })
  it('checks past leases before links change', () => {
    expect(judge('BI', full(0), leadsAt(50, 1, 500, [1, 2]), halves(120))).toEqual(without(1, 3, 0))
    expect(judge('BI', full(0), leadsAt(50, 1, 500, [1, 2]), halves(100), endedAt(400))).toBe('not concerned')
  })
  it('does not count paused nodes, though all running nodes are connected', () => {
    const threeRun = connectivityAt(0, 'full', [[1, 2, 3]])
    expect(judge('BI', threeRun, leadsAt(110, 1, 300, [1, 2, 3]), leadsAt(200, 1, 400, [1, 2, 3]))).toBe(
      'held',
    )
  })
  it('does not require the support of an observer, until κ after it stops being one', () => {
    const observed = [full(0), viewAt(0, 4, 'observer', {}), leadsAt(110, 1, 900, [1, 2, 3])]
    expect(judge('BI', ...observed, leadsAt(300, 1, 900, [1, 2, 3]))).toBe('held')
    const ceased = [...observed, followsAt(300, 4, 1)]
    expect(judge('BI', ...ceased, leadsAt(400, 1, 900, [1, 2, 3]))).toBe('held')
    expect(judge('BI', ...ceased, endedAt(401))).toEqual(without(1, 4, 300))
    const turned = [full(0), leadsAt(10, 1, 900, [1, 2, 3]), viewAt(150, 4, 'observer', {})]
    expect(judge('BI', ...turned)).toEqual(without(1, 4, 0))
  })
  it('is not concerned by young connections, and without its constant', () => {
    expect(judge('BI', full(0), leadsAt(99, 1, 200, [1]))).toBe('not concerned')
    const lacking = [full(0), leadsAt(110, 1, 200, [1]), endedAt(300)]
    expect(judgement('BI', { ...RUN, constants: {} }, lacking)).toBe('not concerned')
  })
})

describe('stable-inside-logical', () => {
  const name = 'stable-inside-logical'
  it('rejects a leader that omits some of its stable partition', () => {
    expect(judge(name, halves(0), leadsAt(50, 1, 500, [1, 3]), endedAt(101))).toEqual({
      violated: '1 led without 2, though both were in one stable partition since 0 ms',
    })
    expect(judge(name, halves(0), leadsAt(50, 1, 500, [1, 3]), endedAt(100))).toBe('not concerned')
  })
  it('accepts a leader that omits an observer', () => {
    const observes = viewAt(0, 2, 'observer', {})
    const led = [halves(0), observes, leadsAt(50, 1, 500, [1])]
    expect(judge(name, ...led, leadsAt(300, 1, 500, [1]))).toBe('held')
  })
  it('accepts a logical partition larger than the stable one', () => {
    expect(judge(name, halves(0), leadsAt(110, 1, 300, [1, 2, 3]), leadsAt(200, 1, 400, [1, 2, 3]))).toBe(
      'held',
    )
  })
  it('rejects overlapping logical partitions, stable or not', () => {
    const nothing = connectivityAt(0, [], [])
    expect(judge(name, nothing, leadsAt(1, 1, 100, [1, 3]), leadsAt(2, 2, 100, [2, 3]))).toEqual({
      violated: '3 is in the logical partitions of both 2 and 1',
    })
    expect(judge(name, nothing, leadsAt(1, 1, 100, [1, 3]), leadsAt(2, 2, 100, [2, 4]))).toBe('held')
    expect(judge(name, nothing, leadsAt(1, 1, 100, [1, 3]), leadsAt(100, 2, 200, [2, 3]))).toBe(
      'not concerned',
    )
  })
  it('restarts with another partition', () => {
    const lease = leadsAt(10, 1, 500, [1, 2])
    expect(judge(name, full(0), lease, halves(90), endedAt(300))).toBe('not concerned')
    expect(judge(name, halves(0), lease, full(90), endedAt(190))).toBe('not concerned')
    expect(judge(name, halves(0), lease, full(90), endedAt(191))).not.toBe('not concerned')
  })
})
