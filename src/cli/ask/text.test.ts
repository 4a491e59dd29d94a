import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../service/client/index.ts'
import { NEW_LINE } from '../output.ts'
import { formatEvent, formatNodes, formatToken, formatView } from './text.ts'

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
    [{ event: 'revoked', token: 7, reason: 'expired' }, 'a no longer leads with token 7 (expired)'],
    [{}, 'a knows of no leader'],
    [{ leader: 'a', token: 8 }, 'a leads with token 8'],
    [{ leader: 'b' }, 'a follows b'],
    [{ event: 'view', view: VIEW }, 'a is in view 3.a: a, b (-c +b)'],
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
    ['b', 'voter', 'no', '1235 ms ago'],
    ['3', 'observer', 'yes', 'never'],
  ])
})
