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
    [{ alarm: 'two lead' }, 'SAFETY ALARM in g: two lead'],
  ])('describes %j', (change, sentence) => {
    expect(describeGroup({ ...FIVE, ...change }).sentence).toBe(sentence)
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
