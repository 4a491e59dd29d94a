/** Whether the node to which a leader hands over leads next: violating traces and near misses. */
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

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'lowest', constants: { handsOverWithin: 15_000 } }
const CONFIG = { id: [1, 1], sets: [[1, 2, 3]] }

const reach = (ms: number, change: Partial<Reach> = {}): Observation =>
  connectivityAt(ms, 'full', [], { running: RUN.nodes, ...change })
const shown: readonly Observation[] = RUN.nodes.map((node) =>
  viewAt(1, node, 'follower', { detail: { config: CONFIG } }),
)
const elected = (ms: number, node: NodeId): Observation => outputAt(ms, node, { type: 'elected', token: ms })
/** 1 is asked to hand over to `to`, and steps down. */
const handOver = (ms: number, to: NodeId): readonly Observation[] => [
  commandedAt(ms, 1, { do: 'stepDown', to }),
  outputAt(ms, 1, { type: 'demoted', cause: 'stepped down' }),
]
/** The leader renews its lease with the support of these voters. */
const round = (ms: number, members: readonly NodeId[] = RUN.nodes): Observation =>
  leadsAt(ms, 1, ms + 100, members, 10, { config: CONFIG })
const CALM: readonly Observation[] = [reach(0), ...shown, elected(10, 1), round(10), round(50)]

const judge = (...observations: readonly Observation[]): Judgement =>
  judgement('chosen-successor', RUN, observations)
const wrong = (why: string): Judgement => ({ violated: why })

describe('chosen-successor', () => {
  it('holds when the chosen node leads next, within the bound', () => {
    expect(judge(...CALM, ...handOver(200, 3), elected(206, 3))).toBe('held')
    expect(judge(...CALM, ...handOver(200, 3), elected(215, 3))).toBe('held')
  })

  it('holds while connectivity is reported without a change', () => {
    expect(judge(...CALM, reach(199), ...handOver(200, 3), reach(200), elected(206, 3))).toBe('held')
  })

  it('is violated when another node leads next, or the same again', () => {
    for (const node of [1, 2])
      expect(judge(...CALM, ...handOver(200, 3), elected(206, node))).toEqual(
        wrong(`${node} leads after 1 handed over to 3`),
      )
  })

  it('is violated when the chosen node leads too late, or never', () => {
    const late = wrong('3 does not lead 16 ms after 1 handed over to it')
    expect(judge(...CALM, ...handOver(200, 3), elected(216, 3))).toEqual(late)
    expect(judge(...CALM, ...handOver(200, 3), endedAt(216))).toEqual(late)
    expect(judge(...CALM, ...handOver(200, 3), endedAt(215))).toBe('not concerned')
  })

  it('is not concerned with a leader that refuses, loses its lease, or steps down for any node', () => {
    const refused = commandedAt(200, 1, { do: 'stepDown', to: 3 })
    expect(judge(...CALM, refused, endedAt(900))).toBe('not concerned')
    const expired = outputAt(200, 1, { type: 'demoted', cause: 'expired' })
    expect(judge(...CALM, refused, expired, elected(300, 2))).toBe('not concerned')
    const later = outputAt(201, 1, { type: 'demoted', cause: 'stepped down' })
    expect(judge(...CALM, refused, later, elected(300, 2))).toBe('not concerned')
    const anyone = commandedAt(200, 1, { do: 'stepDown' })
    const down = outputAt(200, 1, { type: 'demoted', cause: 'stepped down' })
    expect(judge(...CALM, anyone, down, elected(206, 2))).toBe('not concerned')
  })

  it('judges the next hand-over after a refused one', () => {
    const refused = commandedAt(150, 1, { do: 'stepDown', to: 2 })
    expect(judge(...CALM, refused, ...handOver(200, 3), elected(206, 2))).toEqual(
      wrong('2 leads after 1 handed over to 3'),
    )
  })

  it.each<[string, readonly Observation[]]>([
    ['a fault', [reach(204, { running: [1, 2] })]],
    ['another command', [commandedAt(204, 2, { do: 'setPriority', priority: 1 })]],
    ['a crash', [downAt(204, 3)]],
  ])('ends with %s: then any node may lead', (_what, change) => {
    expect(judge(...CALM, ...handOver(200, 3), ...change, elected(206, 2), endedAt(900))).toBe(
      'not concerned',
    )
  })

  it.each<[string, Partial<Reach>]>([
    ['a link is not timely', { timely: [[1, 2]] }],
    ['chance decides', { byChance: true }],
    ['the chosen node does not run', { running: [1, 2] }],
    ['the chosen node cannot store its vote', { unwritable: [3] }],
    ['too few voters can store their votes', { unwritable: [1, 2] }],
  ])('does not judge a hand-over while %s', (_why, change) => {
    const calm = [reach(0, change), ...CALM.slice(1)]
    expect(judge(...calm, ...handOver(200, 3), elected(206, 2))).toBe('not concerned')
  })

  it('waits after a change and a new term until all running voters have supported two renewals', () => {
    const then = [...handOver(200, 3), elected(206, 2)]
    const violated = wrong('2 leads after 1 handed over to 3')
    const start = [reach(0), ...shown, elected(10, 1)]
    expect(judge(...start, round(10), ...then)).toBe('not concerned')
    // A view that does not move the end of the lease is no renewal.
    expect(judge(...start, round(10), round(10), ...then)).toBe('not concerned')
    expect(judge(...start, round(10), round(50, [1, 2]), ...then)).toBe('not concerned')
    expect(judge(...start, round(10), round(50), ...then)).toEqual(violated)
    const blink = [reach(60, { running: [1, 3] }), reach(61)]
    for (const change of [blink, [downAt(60, 2)], [elected(60, 1)]]) {
      expect(judge(...CALM, ...change, round(70), ...then)).toBe('not concerned')
      expect(judge(...CALM, ...change, round(70), round(80), ...then)).toEqual(violated)
    }
    // A voter that does not run need not support the leader.
    expect(
      judge(...CALM, reach(60, { running: [1, 3] }), round(70, [1, 3]), round(80, [1, 3]), ...then),
    ).toEqual(violated)
  })

  it('is not concerned where the protocol has no bound, and with nodes that never lead', () => {
    const trace = [...CALM, ...handOver(200, 3), elected(206, 2)]
    expect(judgement('chosen-successor', { ...RUN, constants: {} }, trace)).toBe('not concerned')
    expect(judgement('chosen-successor', { ...RUN, neverLead: [3] }, trace)).toBe('not concerned')
  })
})
