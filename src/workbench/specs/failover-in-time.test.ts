/** Whether another node leads within the bound of the lease in force: violating traces and near misses. */
import { describe, expect, it } from 'vitest'
import {
  commandedAt,
  connectivityAt,
  downAt,
  endedAt,
  judgement,
  leadsAt,
  outputAt,
  viewAt,
} from '../../../test/support/traces.ts'
import type { NodeId } from '../../core/index.ts'
import type { Observation, Reach } from '../trace/index.ts'
import type { Judgement, RunFacts } from './index.ts'

/** A failover takes at most two locks. Messages may take a twentieth of the lock, timers a tenth. */
const TERMS = { failoverPerMille: 2000, delayPerMille: 50, latenessPerMille: 100 }
const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { ...TERMS, lock: 100_000 } }
const CONFIG = { id: [1, 1], sets: [[1, 2, 3]] }

const reach = (ms: number, change: Partial<Reach> = {}): Observation =>
  connectivityAt(ms, 'full', [], { running: RUN.nodes, ...change })
const shown: readonly Observation[] = RUN.nodes.map((node) =>
  viewAt(1, node, 'follower', { detail: { config: CONFIG } }),
)
const elected = (ms: number, node: NodeId): Observation => outputAt(ms, node, { type: 'elected', token: ms })
const level = (ms: number, lockMs: number, formerMs: number): Observation =>
  outputAt(ms, 1, { type: 'level', lock: lockMs * 1000, former: formerMs * 1000 })
/** The world as the crash of node 1 leaves it. */
const crash = (ms: number, change: Partial<Reach> = {}): readonly Observation[] => [
  downAt(ms, 1),
  world(ms),
  reach(ms, { running: [2, 3], ...change }),
]
const world = (ms: number, delayMs = 4, lateMs = 8): Observation => ({
  type: 'disturbed',
  at: ms * 1000,
  delay: Math.max(delayMs, lateMs) * 1000,
  messageDelay: delayMs * 1000,
  lateness: lateMs * 1000,
  stalled: [],
})
/** The leader renews its lease with the support of these voters. */
const round = (ms: number, members: readonly NodeId[] = RUN.nodes): Observation =>
  leadsAt(ms, 1, ms + 100, members, 10, { config: CONFIG })
/** As many renewals as the specification needs, until that time. */
const rounds = (ms: number, members?: readonly NodeId[]): readonly Observation[] =>
  Array.from({ length: 34 }, (_, index) => round(ms - 33 + index, members))
const CALM: readonly Observation[] = [world(0), reach(0), ...shown, elected(10, 1), ...rounds(50)]

const judge = (...observations: readonly Observation[]): Judgement =>
  judgement('failover-in-time', RUN, observations)
const late = (ms: number, lockMs: number): Judgement => ({
  violated: `no node leads ${ms} ms after 1, with locks of ${lockMs} ms, has crashed`,
})

describe('failover-in-time', () => {
  it('holds when another node leads within the bound', () => {
    expect(judge(...CALM, ...crash(200), elected(300, 2))).toBe('held')
    expect(judge(...CALM, ...crash(200), elected(400, 3))).toBe('held')
  })

  it('is violated when no node leads in time', () => {
    expect(judge(...CALM, ...crash(200), elected(401, 2))).toEqual(late(201, 100))
    expect(judge(...CALM, ...crash(200), endedAt(401))).toEqual(late(201, 100))
    expect(judge(...CALM, ...crash(200), endedAt(400))).toBe('not concerned')
  })

  it('judges by the lock that the leader announced last', () => {
    const shorter = [...CALM, level(60, 80, 100), round(100)]
    expect(judge(...shorter, ...crash(300), elected(461, 2))).toEqual(late(161, 80))
    const longer = [...CALM, level(60, 400, 100), round(100)]
    expect(judge(...longer, ...crash(300), elected(900, 2))).toBe('held')
  })

  it('waits for longer locks from before', () => {
    const lowered = [...CALM, level(60, 80, 1000), round(100)]
    // The lock from before ends at 60 + 1100 ms.
    expect(judge(...lowered, ...crash(300), elected(1320, 2))).toBe('held')
    expect(judge(...lowered, ...crash(300), elected(1321, 2))).toEqual(late(1021, 80))
  })

  it('is not concerned with a world that is slower than the lease allows', () => {
    for (const slow of [world(60, 5.1, 10), world(60, 5, 10.1)])
      expect(judge(...CALM, slow, ...crash(200), endedAt(900))).toBe('not concerned')
  })

  it('is not concerned with groups that are not calm', () => {
    const unsupported = [...CALM, round(100, [1, 2])]
    expect(judge(...unsupported, ...crash(200), endedAt(900))).toBe('not concerned')
    const lossy = [...CALM, reach(60, { byChance: true }), ...rounds(140)]
    expect(judge(...lossy, ...crash(200), endedAt(900))).toBe('not concerned')
    const commanded = [...CALM, commandedAt(60, 2, { do: 'setPriority', priority: 1 })]
    expect(judge(...commanded, ...rounds(140).slice(1), ...crash(200), endedAt(900))).toBe('not concerned')
    expect(judge(...commanded, ...rounds(140), ...crash(200), endedAt(900))).toEqual(late(700, 100))
  })

  it('is not concerned with the crash of a follower', () => {
    expect(judge(...CALM, downAt(200, 2), endedAt(900))).toBe('not concerned')
  })

  it('needs a majority that can store votes', () => {
    const unwritable = [...CALM, reach(60, { unwritable: [3] }), ...rounds(140)]
    expect(judge(...unwritable, ...crash(200), endedAt(900))).toBe('not concerned')
    const two = [world(0), reach(0, { running: [1, 2] }), ...shown, elected(10, 1)]
    const pair = [...two, ...rounds(50, [1, 2])]
    expect(judge(...pair, ...crash(200, { running: [2] }), endedAt(900))).toBe('not concerned')
  })

  it('ends the judgement with another change', () => {
    for (const change of [
      downAt(210, 2),
      reach(210, { running: [2] }),
      commandedAt(210, 2, { do: 'stepDown' }),
    ])
      expect(judge(...CALM, ...crash(200), change, endedAt(900))).toBe('not concerned')
  })

  it('is not concerned with protocols without such a bound', () => {
    const facts: RunFacts = { ...RUN, constants: {} }
    expect(judgement('failover-in-time', facts, [...CALM, ...crash(200), endedAt(900)])).toBe('not concerned')
  })
})
