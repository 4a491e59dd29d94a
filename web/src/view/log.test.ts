import { describe, expect, it } from 'vitest'
import type { LogEntry } from '../data/event-log.ts'
import type { AgentEvent } from '../data/types.ts'
import { entryOf, filterLog, placeFor, visibleRows } from './log.ts'

const event = (change: Partial<AgentEvent>): AgentEvent => ({
  at: '2030-01-02T03:04:05.678Z',
  group: 'g',
  self: 'b',
  event: 'change',
  leader: null,
  token: null,
  term: null,
  reason: null,
  ...change,
})
const cause = { kind: 'crashed', node: 'a', text: 'a crashed' } as const

describe('the words for an event', () => {
  it.each<[string, Partial<AgentEvent>]>([
    ['b leads with token 4', { event: 'elected', token: 4, leader: 'b' }],
    ['b no longer leads: a crashed', { event: 'revoked', cause }],
    ['b no longer leads: expired', { event: 'revoked', reason: 'expired' }],
    ['a leads with token 5', { leader: 'a', token: 5 }],
    ['a leads', { leader: 'a' }],
    ['no leader known: a crashed', { cause }],
    ['no leader known', {}],
    ['the key differs', { event: 'warning', reason: 'the key differs' }],
    [
      'view 4.a: a, b (b joined; c left)',
      {
        event: 'view',
        view: { id: [4, 'a'], members: ['a', 'b'], incarnations: [], joined: ['b'], left: ['c'] },
      },
    ],
  ])('%s', (text, change) => {
    expect(entryOf(event(change)).text).toBe(text)
  })
})

describe('the filter', () => {
  const entries: readonly LogEntry[] = [
    { number: 1, atMs: 1, kind: 'elected', node: 'a', text: 'a leads with token 1' },
    { number: 2, atMs: 2, kind: 'warning', node: 'b', text: 'Late timers' },
    { number: 3, atMs: 3, kind: 'page', node: null, text: 'connection lost' },
  ]
  const found = (kind: 'all' | 'warning', words: string): readonly number[] =>
    filterLog(entries, { kind, words }).map(({ number }) => number)

  it('shows the newest first', () => {
    expect(found('all', '')).toEqual([3, 2, 1])
  })

  it('finds all of the words, in any case', () => {
    expect(found('all', 'TIMERS late')).toEqual([2])
    expect(found('all', 'late token')).toEqual([])
    expect(found('all', 'b')).toEqual([2])
  })

  it('finds a kind of event', () => {
    expect(found('warning', '')).toEqual([2])
  })
})

it('keeps only rows near the visible ones', () => {
  expect(visibleRows(10_000, { top: 26_000, height: 260, row: 26 })).toEqual({ first: 992, end: 1018 })
  expect(visibleRows(3, { top: 0, height: 260, row: 26 })).toEqual({ first: 0, end: 3 })
  // The list became shorter than the place where it was scrolled to.
  expect(visibleRows(3, { top: 26_000, height: 260, row: 26 })).toEqual({ first: 0, end: 3 })
})

it('scrolls no further than a row needs', () => {
  const view = { top: 260, height: 260, row: 26 }
  expect([
    placeFor(0, view),
    placeFor(9, view),
    placeFor(10, view),
    placeFor(19, view),
    placeFor(20, view),
  ]).toEqual([0, 234, 260, 260, 286])
})
