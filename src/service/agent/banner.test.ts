import { describe, expect, it } from 'vitest'
import { describeGroup, type GroupCondition } from './banner.ts'
import { LeaderMonitor } from './leader-monitor.ts'

const FIVE: GroupCondition = {
  group: 'g',
  leader: { id: 'a', token: 4 },
  mode: 'majority',
  voters: [['a', 'b', 'c', 'd', 'e']],
  reachable: ['a', 'b', 'c', 'd', 'e'],
  leaderlessMs: null,
  alarm: null,
  membership: null,
}

describe('describeGroup', () => {
  it.each<[Partial<GroupCondition>, string]>([
    [{}, 'healthy: a leads g with token 4; all 5 voters are reachable; the group can survive 2 failures'],
    [
      { reachable: ['a', 'b', 'c', 'd'] },
      'degraded: a leads g with token 4; e is unreachable; the group can survive 1 more failure',
    ],
    [
      { reachable: ['a', 'b', 'c'] },
      'at risk: a leads g with token 4; d, e are unreachable; the group cannot survive another failure',
    ],
    [
      { voters: [['a', 'b']] },
      'at risk: a leads g with token 4; all 2 voters are reachable; the group cannot survive a failure',
    ],
    [
      {
        voters: [
          ['a', 'b', 'c'],
          ['a', 'b', 'c', 'd', 'e'],
        ],
        reachable: ['a', 'b', 'd', 'e'],
      },
      'at risk: a leads g with token 4; c is unreachable; the group cannot survive another failure',
    ],
    [
      { leader: null, leaderlessMs: 1234, reachable: ['a', 'b'] },
      'no leader in g for 1.2 s: 2 of 5 voters are reachable, 3 are needed',
    ],
    [
      { mode: 'local', leader: { id: 'a', token: null }, reachable: ['a', 'b'] },
      'degraded: a leads g; c, d, e are unreachable; the group can survive 1 more failure',
    ],
    [
      { unwritable: ['c'] },
      'degraded: a leads g with token 4; all 5 voters are reachable, but c cannot store its votes; the group can survive 1 more failure',
    ],
    [
      { reachable: ['a', 'b', 'c', 'd'], unwritable: ['a', 'e'] },
      'at risk: a leads g with token 4; e is unreachable, and a cannot store its votes; the group cannot survive another failure',
    ],
    [
      { leader: null, leaderlessMs: 1234, reachable: ['a', 'b', 'c'], unwritable: ['b', 'c'] },
      'no leader in g for 1.2 s: 3 of 5 voters are reachable, 3 are needed, but b, c cannot store their votes',
    ],
    [{ alarm: 'two lead' }, 'SAFETY ALARM in g: two lead'],
  ])('describes %j', (change, sentence) => {
    expect(describeGroup({ ...FIVE, ...change }).sentence).toBe(sentence)
  })
})

it.each<[string, Partial<GroupCondition>, string, number]>([
  ['a single voter', { voters: [['a']], reachable: ['a'] }, 'at-risk', 0],
  ['three of three', { voters: [['a', 'b', 'c']] }, 'healthy', 1],
  ['three of four', { voters: [['a', 'b', 'c', 'd']], reachable: ['a', 'b', 'c'] }, 'at-risk', 0],
  ['an alarm, regardless of the voters', { alarm: 'two lead', reachable: ['a', 'b', 'c'] }, 'alarm', 0],
  ['no leader, although all voters are reachable', { leader: null }, 'no-leader', 2],
  ['local mode: every reachable node but one may fail', { mode: 'local' }, 'healthy', 4],
])('the level and the tolerance of %s', (_what, change, level, failureTolerance) => {
  expect(describeGroup({ ...FIVE, ...change })).toMatchObject({ level, failureTolerance })
})

describe('a group in a store', () => {
  const STORE: GroupCondition = { ...FIVE, mode: 'store', voters: [], reachable: ['a', 'b'] }

  it.each<[Partial<GroupCondition>, string, string]>([
    [{}, 'healthy', 'healthy: a leads g with token 4; 2 nodes have a register'],
    [
      { reachable: ['a'] },
      'at-risk',
      'at risk: a leads g with token 4; 1 node has a register, so no other node can take over',
    ],
    [{ leader: null, leaderlessMs: 500 }, 'no-leader', 'no leader in g for 0.5 s: 2 nodes have a register'],
    [{ alarm: 'two lead' }, 'alarm', 'SAFETY ALARM in g: two lead'],
  ])('with %j is %s', (change, level, sentence) => {
    expect(describeGroup({ ...STORE, ...change })).toMatchObject({ level, sentence })
  })
})

describe('a group with views', () => {
  type Membership = NonNullable<GroupCondition['membership']>
  const MEMBERSHIP: Membership = {
    view: { id: [3, 'a'], members: ['a', 'b', 'c', 'd', 'e'], incarnations: [1, 1, 1, 1, 1] },
    incarnation: 1,
    inQuorum: true,
    failureTolerance: 2,
    waitingFor: null,
  }
  const inView = (...members: readonly string[]): Partial<Membership> => ({
    view: { id: [3, 'a'], members, incarnations: members.map(() => 1) },
  })

  it.each<[string, Partial<Membership>, Partial<GroupCondition>, string]>([
    [
      'all nodes',
      {},
      {},
      'healthy: a leads g with token 4; all 5 nodes are in view 3.a; the group can survive 2 failures',
    ],
    [
      'one node outside',
      { ...inView('a', 'b', 'c', 'd'), failureTolerance: 1 },
      {},
      'degraded: a leads g with token 4; e is not in view 3.a; the group can survive 1 more failure',
    ],
    [
      'two nodes outside',
      { ...inView('a', 'b', 'c'), failureTolerance: 0 },
      {},
      'at risk: a leads g with token 4; d, e are not in view 3.a; the group cannot survive another failure',
    ],
    [
      'a leader that may not lead',
      {},
      { leader: null, leaderlessMs: 0 },
      'no leader in g for 0.0 s: the leader of view 3.a is ineligible',
    ],
    [
      'a leader that has just died',
      {},
      { leader: null, leaderlessMs: 0, reachable: ['b', 'c', 'd', 'e'] },
      'no leader in g for 0.0 s: a, the leader of view 3.a, is unreachable',
    ],
    [
      'no quorum',
      { inQuorum: false },
      { leader: null, leaderlessMs: 2000 },
      'no leader in g for 2.0 s: no majority of view 3.a responds',
    ],
    ['no view', { view: null, inQuorum: false }, {}, 'no leader in g for 0.0 s: this node is in no view'],
    [
      'a majority missing before the first view',
      {
        view: null,
        waitingFor: {
          view: null,
          members: ['a', 'b', 'c', 'd', 'e'],
          mayHaveFormed: false,
          unreachable: ['c', 'd', 'e'],
        },
      },
      { leader: null },
      'no leader in g for 0.0 s: 3 of the 5 nodes are needed, but c, d, e are unreachable',
    ],
    [
      'a node missing before a first view of all nodes',
      {
        view: null,
        waitingFor: { view: null, members: ['a', 'b', 'c'], mayHaveFormed: false, unreachable: ['c'] },
      },
      { leader: null },
      'no leader in g for 0.0 s: all 3 nodes are needed, but c is unreachable',
    ],
    [
      'a majority missing of the view',
      { waitingFor: { view: [3, 'a'], members: ['a', 'b'], mayHaveFormed: false, unreachable: ['b'] } },
      { leader: null },
      'no leader in g for 0.0 s: 2 of the 2 members of view 3.a are needed, but b is unreachable',
    ],
    [
      'a view that others may have formed',
      { waitingFor: { view: [4, 'b'], members: ['b', 'c'], mayHaveFormed: true, unreachable: ['b', 'c'] } },
      { leader: null },
      'no leader in g for 0.0 s: b, c may have formed view 4.b; waiting for one of them to return',
    ],
    [
      'a view that one other may have formed',
      { waitingFor: { view: [4, 'b'], members: ['b'], mayHaveFormed: true, unreachable: ['b'] } },
      { leader: null },
      'no leader in g for 0.0 s: b may have formed view 4.b; waiting for it to return',
    ],
  ])('with %s', (_what, membership, change, sentence) => {
    const condition = { ...FIVE, membership: { ...MEMBERSHIP, ...membership }, ...change }
    expect(describeGroup(condition).sentence).toBe(sentence)
  })
})

describe('LeaderMonitor', () => {
  const monitorOf = (...tokens: readonly (readonly [string, number] | null)[]): LeaderMonitor => {
    const monitor = new LeaderMonitor(() => {})
    for (const each of tokens) monitor.observeLeader(each === null ? null : { id: each[0], token: each[1] })
    return monitor
  }

  it('accepts growing tokens, and a leader that is observed again', () => {
    expect(monitorOf(['a', 1], null, ['a', 1], ['b', 2], ['a', 3]).alarm).toBeNull()
  })

  it.each([
    [monitorOf(['a', 1], ['b', 2], ['a', 1]), 'a leads with token 1 after b led with token 2'],
    [monitorOf(['a', 1], ['b', 1]), 'a and b both lead with token 1'],
    [monitorOf(['a', 2], ['b', 1], ['b', 5]), 'b leads with token 1 after a led with token 2'],
  ])('raises a permanent alarm: %#', (monitor, alarm) => {
    expect(monitor.alarm).toBe(alarm)
  })

  it('reports an alarm once, and the time without a leader', () => {
    const alarms: string[] = []
    let now = 0
    const monitor = new LeaderMonitor(
      (problem) => alarms.push(problem),
      () => now,
    )
    now = 40
    expect(monitor.leaderlessMs()).toBe(40)
    for (const token of [3, 2, 1]) monitor.observeLeader({ id: 'a', token })
    expect(alarms).toHaveLength(1)
    expect(monitor.leaderlessMs()).toBeNull()
    monitor.observeLeader(null)
    now = 50
    monitor.observeLeader(null)
    expect(monitor.leaderlessMs()).toBe(10)
  })
})
