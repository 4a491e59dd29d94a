import { describe, expect, it } from 'vitest'
import type { GroupStatus } from '../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../runtime/index.ts'
import { LeaderMonitor } from './leader-monitor.ts'
import { leaderResponse, membersResponse, statusResponse } from './responses.ts'
import { createServedGroup, type ServedGroup, warnOfAgent } from './served-group.ts'

const NODE = { group: 'g', id: 'b' }
const STATUS: GroupStatus = {
  role: 'follower',
  leader: { id: 'a', token: 12 },
  members: null,
  mode: 'majority',
  leaseMs: 83.1,
  voters: [['a', 'b', 'c']],
  nodes: [
    { id: 'a', reachable: true, evidenceMsAgo: 3, heardMsAgo: 2, ...NO_DETAILS },
    { id: 'b', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0, ...NO_DETAILS },
    { id: 'd', reachable: false, evidenceMsAgo: null, heardMsAgo: 900, ...NO_DETAILS },
  ],
  evidenceForMs: 110,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 0, received: 0, dropped: 0 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
}
const MEMBERSHIP: NonNullable<GroupStatus['membership']> = {
  view: { id: [4, 'a'], members: ['a', 'b'], incarnations: [1, 2] },
  incarnation: 2,
  inQuorum: true,
  failureTolerance: 0,
  waitingFor: null,
}

function served(status: Partial<GroupStatus>, monitor = new LeaderMonitor(() => {})): ServedGroup {
  return createServedGroup({
    node: {
      ...NODE,
      lease: { lengthMs: 100, marginMs: 40 },
      status: () => ({ ...STATUS, ...status }),
      stepDown: () => Promise.resolve(true),
      handOver: () => Promise.reject(new Error('must not be called')),
      removeVoter: () => Promise.resolve(),
      setLeaseBounds: () => Promise.resolve(),
      async *trace() {},
    },
    monitor,
  })
}

it('the warnings of the agent are among those of its node, the newest first, and are counted', () => {
  const old = { at: '2020-01-01T00:00:00.000Z', what: 'late', detail: 'x', count: 3 }
  const group = served({ warnings: [old] })
  warnOfAgent(group, 'otlp', 'cannot send')
  warnOfAgent(group, 'otlp', 'cannot send at all')
  expect(statusResponse(group).warnings).toEqual([
    { at: expect.any(String), what: 'otlp', detail: 'cannot send at all', count: 2 },
    old,
  ])
  expect(group.monitor.warnings).toBe(2)
})

describe('leaderResponse', () => {
  it.each<[string, Partial<GroupStatus>, ReturnType<typeof leaderResponse>['leader']]>([
    ['a lease', {}, { id: 'a', token: 12, expiresInMs: 83.1 }],
    ['a lease that is over', { leaseMs: null }, { id: 'a', token: 12, expiresInMs: 0 }],
    [
      'no lease, under a protocol with views',
      { membership: MEMBERSHIP },
      { id: 'a', token: 12, expiresInMs: null },
    ],
    [
      'no token, in local mode',
      { leader: { id: 'a', token: null } },
      { id: 'a', token: null, expiresInMs: 83.1 },
    ],
    ['no leader', { leader: null, leaseMs: null }, null],
  ])('has a leader with %s', (_what, status, leader) => {
    expect(leaderResponse(NODE, { ...STATUS, ...status })).toEqual({
      group: 'g',
      leader,
      self: { id: 'b', role: 'follower' },
    })
  })
})

it('lists each node with its vote, its leadership and its evidence', () => {
  expect(membersResponse(NODE, STATUS)).toEqual({
    group: 'g',
    self: { id: 'b', role: 'follower' },
    nodes: [
      { id: 'a', voter: true, leader: true, reachable: true, evidenceMsAgo: 3, heardMsAgo: 2 },
      { id: 'b', voter: true, leader: false, reachable: true, evidenceMsAgo: 0, heardMsAgo: 0 },
      { id: 'd', voter: false, leader: false, reachable: false, evidenceMsAgo: null, heardMsAgo: 900 },
    ],
  })
})

it('counts a node as voter if either set has it, while one set replaces the other', () => {
  const status = { ...STATUS, voters: [['a'], ['a', 'd']] }
  expect(membersResponse(NODE, status).nodes.map(({ voter }) => voter)).toEqual([true, false, true])
  expect(
    statusResponse(
      served({
        voters: [
          ['a', 'b'],
          ['b', 'd'],
        ],
      }),
    ).voters,
  ).toEqual(['a', 'b', 'd'])
})

describe('statusResponse', () => {
  it('has the banner, its level and the constants of the lease', () => {
    expect(statusResponse(served({}))).toMatchObject({
      banner: 'at risk: a leads g with token 12; c is unreachable; the group cannot survive another failure',
      level: 'at-risk',
      mode: 'majority',
      failureTolerance: 0,
      evidenceTtlMs: 110,
      leaderlessMs: null,
      lease: { lengthMs: 100, marginMs: 40 },
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
  })

  it('has the fields of a view only under a protocol with views', () => {
    const names = ['view', 'incarnation', 'inQuorum', 'waitingFor']
    const plain = statusResponse(served({}))
    expect(names.filter((name) => name in plain)).toEqual([])
    expect(statusResponse(served({ membership: MEMBERSHIP }))).toMatchObject({
      view: MEMBERSHIP.view,
      incarnation: 2,
      inQuorum: true,
      waitingFor: null,
    })
  })

  it('says why there is no leader, if that is known', () => {
    const group = served({})
    statusResponse(group)
    const cause = { kind: 'late', node: 'a', text: 'a was late by 93 ms (σ is 30 ms)' } as const
    const without: GroupStatus = {
      ...STATUS,
      leader: null,
      nodes: STATUS.nodes.map((node) =>
        node.id === 'a' ? { ...node, lastTerm: { token: 12, cause, endedMsAgo: 5 } } : node,
      ),
    }
    const { banner } = statusResponse({ ...group, node: { ...group.node, status: () => without } })
    expect(banner).toMatch(
      /^no leader in g for \d\.\d s: 2 of 3 voters are reachable, 2 are needed; a was late by 93 ms \(σ is 30 ms\)$/,
    )
  })

  it.each<[readonly string[], string]>([
    [
      ['cannot reach the store; no decision is made until the store answers'],
      '; cannot reach the store; no decision is made until the store answers',
    ],
    [
      ['the store of g answers again', 'cannot reach the store; no decision is made until the store answers'],
      '',
    ],
  ])('says that there is no leader because the store does not answer: %j', (details, why) => {
    const warnings = details.map((detail) => ({
      at: '2026-01-01T00:00:00Z',
      what: 'store',
      detail,
      count: 1,
    }))
    const { banner } = statusResponse(served({ mode: 'store', leader: null, warnings }))
    expect(banner).toMatch(/^no leader in g for \d\.\d s: 2 nodes have a register/)
    expect(banner.replace(/^.* have a register/, '')).toBe(why)
  })

  it('says whether it is the primary only where that is known', () => {
    expect('primary' in statusResponse(served({}))).toBe(false)
    expect(statusResponse(served({ primary: false })).primary).toBe(false)
  })

  it('measures the time without a leader, and finds violations by being asked', () => {
    let now = 0
    const alarms: string[] = []
    const monitor = new LeaderMonitor(
      (problem) => alarms.push(problem),
      () => now,
    )
    now = 1500
    const without = statusResponse(served({ leader: null }, monitor))
    expect([without.leaderlessMs, without.level]).toEqual([1500, 'no-leader'])
    expect(without.banner).toContain('no leader in g for 1.5 s')
    statusResponse(served({}, monitor))
    const bad = statusResponse(served({ leader: { id: 'c', token: 12 } }, monitor))
    expect(bad).toMatchObject({
      level: 'alarm',
      banner: 'SAFETY ALARM in g: a and c both lead with token 12',
    })
    expect(alarms).toHaveLength(1)
  })
})
