import { describe, expect, it } from 'vitest'
import type { AgentEvent, TimingResponse } from '../../service/client/index.ts'
import { NEW_LINE } from '../output.ts'
import { formatAge, formatEvent, formatNodes, formatTiming, formatToken, formatView } from './text.ts'

const EVENT: AgentEvent = {
  at: '2026-01-01T00:00:00.000Z',
  group: 'g',
  self: 'a',
  event: 'change',
  leader: null,
  token: null,
  term: null,
  reason: null,
}
const VIEW = { id: [3, 'a'] as const, members: ['a', 'b'], incarnations: [1, 2], joined: ['b'], left: ['c'] }

describe('formatEvent', () => {
  it.each<[Partial<AgentEvent>, string]>([
    [{ event: 'elected', token: 7, reason: 'won' }, 'a is elected with token 7 (won)'],
    [{ event: 'elected', token: 7, reason: 'elected' }, 'a is elected with token 7'],
    [{ event: 'revoked', token: 7, reason: 'expired' }, 'a no longer leads with token 7 (expired)'],
    [{}, 'a knows of no leader'],
    [
      { cause: { kind: 'partitioned', node: 'a', text: 'a reaches only 1 of 3 voters' } },
      'a knows of no leader (a reaches only 1 of 3 voters)',
    ],
    [{ leader: 'a', token: 8 }, 'a leads with token 8'],
    [{ leader: 'b' }, 'a follows b'],
    [{ event: 'view', view: VIEW }, 'a is in view 3.a: a, b (-c +b)'],
    [
      { event: 'level', reason: 'lease 61 ms -> 119 ms: n3 handled timers up to 48 ms late' },
      'a changed the lease 61 ms -> 119 ms: n3 handled timers up to 48 ms late',
    ],
    [{ event: 'alarm', reason: 'two leaders' }, 'alarm at a: two leaders'],
  ])('formats %j', (fields, text) => {
    expect(formatEvent({ ...EVENT, ...fields })).toBe(text)
  })
})

it('formatView lists members without changes', () => {
  expect(formatView({ ...VIEW, joined: [], left: [] })).toBe('a, b')
  expect(formatView(undefined)).toBe('')
})

it('formatToken omits the token of local mode', () => {
  expect([formatToken({ token: 0 }), formatToken({ token: null })]).toEqual([' with token 0', ''])
})

describe('formatTiming', () => {
  const leader = { id: 'n2', token: 3, expiresInMs: 40 }
  const timing: TimingResponse = {
    level: 9,
    levels: [4, 24],
    leaseMs: 61.037,
    renewalMs: 24,
    marginMs: 24,
    leaseMinMs: 20,
    leaseMaxMs: 2000,
    failoverMs: { typical: 58.2, worst: 131 },
    need: { level: 9, leaseMs: 61.037, cause: 'late', by: 'n3', text: 'n3 handled timers up to 18 ms late' },
    evidence: [],
    refusals: [],
  }
  const first = 'leases of 61 ms (bounds 20 to 2000 ms); failover takes 58 ms, at most 131 ms'

  it('says how long leases are, what that gives, and why', () => {
    expect(formatTiming({ timing, leader })).toEqual([first, '  because n3 handled timers up to 18 ms late'])
  })

  it('refers to the leader, and names the nodes that refuse leases', () => {
    const refusals = [{ id: 'n1', leaseMinMs: 3000, leaseMaxMs: 5000 }]
    expect(formatTiming({ timing: { ...timing, need: null, refusals }, leader })).toEqual([
      first,
      '  the agent of n2, which leads, knows why',
      '  n1 grants only 3000 to 5000 ms',
    ])
    expect(formatTiming({ timing: { ...timing, need: null, failoverMs: null }, leader: null })).toEqual([
      'leases of 61 ms if this node leads next (bounds 20 to 2000 ms)',
    ])
  })

  it('is empty where the timing is fixed', () => {
    expect(formatTiming({ leader })).toEqual([])
  })
})

it('formatNodes shows the role, the reachability and the age of the last message', () => {
  const common = { voter: true, leader: false, reachable: true, evidenceMsAgo: null, heardMsAgo: null }
  const lines = formatNodes([
    { ...common, id: 'a', leader: true, evidenceMsAgo: 0, heardMsAgo: 0 },
    { ...common, id: 'b', reachable: false, heardMsAgo: 1234.6 },
    { ...common, id: 3, voter: false },
  ]).split(NEW_LINE)
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['id', 'role', 'reachable', 'last message'],
    ['a', 'leader', 'yes (evidence 0 ms old)', '0 ms ago'],
    ['b', 'voter', 'no', '1.2 s ago'],
    ['3', 'observer', 'yes', 'never'],
  ])
})

it.each([
  [0, '0 ms'],
  [998.6, '999 ms'],
  [999.6, '1.0 s'],
  [59_940, '59.9 s'],
  [59_960, '1 min'],
  [200_400, '3 min 20 s'],
  [7_500_000, '2 h 5 min'],
  [273_600_000, '3 d 4 h'],
])('formatAge(%d) is %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text)
})
