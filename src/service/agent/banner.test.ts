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

describe('the banner', () => {
  it.each<[Partial<GroupCondition>, string]>([
    [{}, 'healthy: a leads g with token 4; all 5 voters are there, 2 may fail'],
    [
      { reachable: ['a', 'b', 'c', 'd'] },
      'degraded: a leads g with token 4; 1 of 5 voters is missing (e), 1 more may fail',
    ],
    [
      { reachable: ['a', 'b', 'c'] },
      'at risk: a leads g with token 4; 2 of 5 voters are missing (d, e), none may fail',
    ],
    [{ voters: [['a', 'b']] }, 'at risk: a leads g with token 4; all 2 voters are there, none may fail'],
    [
      {
        voters: [
          ['a', 'b', 'c'],
          ['a', 'b', 'c', 'd', 'e'],
        ],
        reachable: ['a', 'b', 'd', 'e'],
      },
      'at risk: a leads g with token 4; 1 of 5 voters is missing (c), none may fail',
    ],
    [
      { leader: null, leaderlessMs: 1234, reachable: ['a', 'b'] },
      'no leader in g for 1.2 s: 2 of 5 voters are there, 3 are needed',
    ],
    [
      { mode: 'local', leader: { id: 'a', token: null }, reachable: ['a', 'b'] },
      'degraded: a leads g; 3 of 5 voters are missing (c, d, e), 1 more may fail',
    ],
    [{ alarm: 'two lead' }, 'SAFETY ALARM in g: two lead'],
  ])('of %j', (change, sentence) => {
    expect(describeGroup({ ...FIVE, ...change }).sentence).toBe(sentence)
  })
})

describe('an observer', () => {
  const watched = (...tokens: readonly (readonly [string, number] | null)[]): LeaderMonitor => {
    const observer = new LeaderMonitor(() => {})
    for (const each of tokens) observer.observeLeader(each === null ? null : { id: each[0], token: each[1] })
    return observer
  }

  it('is content with tokens that grow, and with a leader that is seen again', () => {
    expect(watched(['a', 1], null, ['a', 1], ['b', 2], ['a', 3]).alarm).toBeNull()
  })

  it.each([
    [watched(['a', 1], ['b', 2], ['a', 1]), 'a leads with token 1 after b led with token 2'],
    [watched(['a', 1], ['b', 1]), 'a and b both lead with token 1'],
    [watched(['a', 2], ['b', 1], ['b', 5]), 'b leads with token 1 after a led with token 2'],
  ])('raises an alarm, which stays', (observer, alarm) => {
    expect(observer.alarm).toBe(alarm)
  })

  it('tells once of an alarm, and for how long nobody has led', () => {
    const told: string[] = []
    let now = 0
    const observer = new LeaderMonitor(
      (problem) => told.push(problem),
      () => now,
    )
    now = 40
    expect(observer.leaderlessMs()).toBe(40)
    for (const token of [3, 2, 1]) observer.observeLeader({ id: 'a', token })
    expect(told).toHaveLength(1)
    expect(observer.leaderlessMs()).toBeNull()
    observer.observeLeader(null)
    now = 50
    observer.observeLeader(null)
    expect(observer.leaderlessMs()).toBe(10)
  })
})
