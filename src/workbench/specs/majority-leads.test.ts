/** Progress in majority mode: violating traces and near misses. */
import { describe, expect, it } from 'vitest'
import {
  commandedAt,
  connectivityAt,
  downAt,
  endedAt,
  followsAt,
  judgement,
  leadsAt,
  outputAt,
  upAt,
  viewAt,
} from '../../../test/support/traces.ts'
import type { NodeId } from '../../core/index.ts'
import type { Observation, Reach } from '../trace/index.ts'
import type { Judgement, RunFacts } from './index.ts'

/** A node leads within 100 ms and keeps leading after 200 ms; node 5 never leads. */
const RUN: RunFacts = {
  nodes: [1, 2, 3, 4, 5],
  prefers: 'lowest',
  constants: { leadsWithin: 100_000, keepsAfter: 200_000, retirement: 300_000 },
  neverLead: [5],
}
const CONFIG = { id: [0, 0], sets: [[1, 2, 3, 4, 5]] } as const
const CONSTANTS_OF_TURNS = { leadsWithin: 100_000, retirement: 300_000 }

/** All nodes are up and show the same voters. */
const started = (configs: { readonly [node: number]: typeof CONFIG | object } = {}): readonly Observation[] =>
  RUN.nodes.flatMap((node) => [
    upAt(0, node),
    viewAt(0, node, 'follower', { detail: { config: configs[Number(node)] ?? CONFIG } as never }),
  ])
const reach = (ms: number, change: Partial<Reach> = {}): Observation =>
  connectivityAt(ms, 'full', [], { running: RUN.nodes, ...change })
const elected = (ms: number, node: NodeId, untilMs: number): readonly Observation[] => [
  outputAt(ms, node, { type: 'elected', token: 1, cause: 'elected' }),
  leadsAt(ms, node, untilMs, RUN.nodes, 1, { config: CONFIG }),
]
const demoted = (ms: number, node: NodeId, cause: string): readonly Observation[] => [
  outputAt(ms, node, { type: 'demoted', token: 1, cause }),
  followsAt(ms, node, null),
]
const judge = (...observations: readonly (Observation | readonly Observation[])[]): Judgement =>
  judgement('majority-leads', RUN, [...started(), ...observations.flat()])
const noLeader = (from: number, to: number, node: number, votes: string): Judgement => ({
  violated: `no node led from ${from} to ${to} ms, though ${node} could with the votes of {${votes}}`,
})
const stopped = (node: number, at: number, since: number): Judgement => ({
  violated: `${node} stopped leading at ${at} ms, though nothing has changed since ${since} ms`,
})
/** Both directions between a node and each of the other nodes. */
const star = (centre: number, ...others: readonly number[]): Reach['timely'] =>
  others.flatMap((other) => [[centre, other] as const, [other, centre] as const])

describe('majority-leads', () => {
  it('requires a leader within the bound', () => {
    expect(judge(reach(0), endedAt(100.001))).toEqual(noLeader(0, 100.001, 1, '1, 2, 3, 4, 5'))
    expect(judge(reach(0), elected(100, 1, 300), endedAt(250))).toBe('held')
    expect(judge(reach(0), elected(100.001, 1, 300))).toEqual(noLeader(0, 100.001, 1, '1, 2, 3, 4, 5'))
  })

  it('requires a leader if one node is linked both ways with a majority', () => {
    expect(judge(reach(0, { timely: star(4, 1, 2) }), endedAt(101))).toEqual(noLeader(0, 101, 4, '1, 2, 4'))
    expect(judge(reach(0, { timely: star(4, 1) }), endedAt(101))).toBe('not concerned')
    const oneWay = [...(star(4, 1) as []), [2, 4] as const]
    expect(judge(reach(0, { timely: oneWay }), endedAt(101))).toBe('not concerned')
  })

  it('does not count nodes that cannot store a vote, do not run, or are unwilling to lead', () => {
    const timely = star(4, 1, 2)
    expect(judge(reach(0, { timely, unwritable: [4] }), endedAt(101))).toBe('not concerned')
    expect(judge(reach(0, { timely, unwritable: [1] }), endedAt(101))).toBe('not concerned')
    expect(judge(reach(0, { timely, unwritable: [3] }), endedAt(101))).toEqual(noLeader(0, 101, 4, '1, 2, 4'))
    expect(judge(reach(0, { timely, running: [1, 3, 4, 5] }), endedAt(101))).toBe('not concerned')
    expect(judge(reach(0, { timely: star(5, 1, 2) }), endedAt(101))).toBe('not concerned')
    const unwilling = commandedAt(0, 4, { do: 'campaign', willing: false, lapse: false })
    expect(judge(unwilling, reach(0, { timely }), endedAt(101))).toBe('not concerned')
    const restarted = [downAt(0, 4), upAt(0, 4)]
    expect(judge(unwilling, restarted, reach(0, { timely }), endedAt(101))).toEqual(
      noLeader(0, 101, 4, '1, 2, 4'),
    )
  })

  it('uses the newest voters that the relevant nodes show', () => {
    const few = { id: [1, 1], sets: [[1, 2, 3]] }
    const seen = (configs: { readonly [node: number]: object }, ...more: readonly Observation[]) =>
      judgement('majority-leads', RUN, [...started(configs), ...more])
    const two = reach(0, { timely: star(1, 2) })
    expect(seen({}, two, endedAt(101))).toBe('not concerned')
    expect(seen({ 1: few }, two, endedAt(101))).toEqual(noLeader(0, 101, 1, '1, 2'))
    const joint = {
      id: [1, 2],
      sets: [
        [1, 2, 3],
        [1, 2, 3, 4],
      ],
    } as const
    expect(seen({ 1: few, 2: joint }, two, endedAt(101))).toBe('not concerned')
    expect(seen({ 1: few, 3: joint }, two, endedAt(101))).toEqual(noLeader(0, 101, 1, '1, 2'))
    const wrong = { id: [0, 0], sets: [[1, 2, 3]] }
    expect(seen({ 2: wrong }, reach(0, { timely: star(3, 1, 2) }), endedAt(101))).toBe('not concerned')
  })

  it('counts only a leader whose application was notified, and only during its lease', () => {
    const silent = leadsAt(50, 1, 900, RUN.nodes, 1, { config: CONFIG })
    expect(judge(reach(0), silent, endedAt(101))).toEqual(noLeader(0, 101, 1, '1, 2, 3, 4, 5'))
    expect(judge(reach(0), elected(50, 1, 150), endedAt(251))).toEqual(noLeader(150, 251, 1, '1, 2, 3, 4, 5'))
    expect(judge(reach(0), elected(50, 1, 150), endedAt(250))).toBe('held')
  })

  it('requires the leader to stay while nothing changes', () => {
    expect(judge(reach(0), elected(50, 1, 900), demoted(201, 1, 'outranked'))).toEqual(stopped(1, 201, 0))
    expect(judge(reach(0), elected(50, 1, 900), demoted(200, 1, 'outranked'), elected(210, 2, 900))).toBe(
      'held',
    )
    expect(judge(reach(0), elected(50, 1, 250), endedAt(260))).toEqual(stopped(1, 250, 0))
  })

  it('accepts the end of a term soon after a change', () => {
    expect(judge(reach(0), elected(50, 1, 900), downAt(500, 1), reach(500), endedAt(510))).toBe(
      'not concerned',
    )
    const command = commandedAt(500, 1, { do: 'setPriority', priority: -1 })
    expect(judge(reach(0), elected(50, 1, 900), command, demoted(500, 1, 'outranked'), endedAt(510))).toBe(
      'not concerned',
    )
    expect(judge(reach(0), elected(50, 1, 999), command, demoted(701, 1, 'outranked'))).toEqual(
      stopped(1, 701, 500),
    )
  })

  it('accepts the end of a term when a node returns from its retirement', () => {
    const command = commandedAt(60, 1, { do: 'stepDown' })
    const begin = [
      reach(0),
      elected(50, 1, 900),
      command,
      demoted(60, 1, 'stepped down'),
      elected(65, 2, 990),
    ].flat()
    expect(judge(begin, demoted(560, 2, 'outranked'), elected(570, 1, 990), endedAt(571))).toBe('held')
    expect(judge(begin, demoted(561, 2, 'outranked'))).toEqual(stopped(2, 561, 360))
  })

  it('accepts the end of a term where chance decides, but not a long gap', () => {
    const chancy = reach(0, { byChance: true })
    expect(judge(chancy, elected(50, 1, 900), demoted(400, 1, 'expired'), elected(410, 2, 999))).toBe('held')
    expect(judge(chancy, elected(50, 1, 900), demoted(400, 1, 'expired'), endedAt(501))).toEqual(
      noLeader(400, 501, 1, '1, 2, 3, 4, 5'),
    )
  })

  it('accepts rotating leaders if the protocol rotates them', () => {
    const run = { ...RUN, constants: CONSTANTS_OF_TURNS }
    const rotation = [
      reach(0),
      ...elected(50, 1, 900),
      ...demoted(500, 1, 'term over'),
      ...elected(510, 2, 900),
    ]
    expect(judgement('majority-leads', run, [...started(), ...rotation, endedAt(511)])).toBe('held')
    expect(judgement('majority-leads', run, [...started(), ...rotation.slice(0, -2), endedAt(601)])).toEqual(
      noLeader(500, 601, 1, '1, 2, 3, 4, 5'),
    )
  })

  it('says nothing where the protocol states no bound', () => {
    const run = { ...RUN, constants: {} }
    expect(judgement('majority-leads', run, [...started(), reach(0), endedAt(999)])).toBe('not concerned')
  })
})
