import { describe, expect, it } from 'vitest'
import type { Role } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import { EpochWinners } from './epoch-winners.ts'
import { countOf, snapshot } from './report.ts'
import { TermRecorder } from './terms.ts'

const view = (
  atMs: number,
  node: number,
  role: Role,
  token: number | null = null,
  untilMs: number | null = null,
) =>
  ({
    type: 'view',
    at: atMs * 1000,
    node,
    until: untilMs === null ? null : untilMs * 1000,
    view: { role, leader: null, token, until: null, members: null, detail: null },
  }) satisfies Observation
const output = (atMs: number, node: number, event: { type: string; [field: string]: string | number }) =>
  ({ type: 'output', at: atMs * 1000, node, event }) satisfies Observation

function termsOf(...observations: readonly Observation[]) {
  const recorder = new TermRecorder()
  for (const seen of observations) recorder.observe(seen)
  return recorder.list()
}

describe('terms', () => {
  it('start with a leader view and its cause, and end with a demotion and its cause', () => {
    expect(
      termsOf(
        output(10, 1, { type: 'elected', cause: 'timeout' }),
        view(10, 1, 'leader', 3),
        output(50, 1, { type: 'demoted', cause: 'lease-expired' }),
        view(50, 1, 'follower'),
      ),
    ).toEqual([{ node: 1, token: 3, fromMs: 10, untilMs: 50, cause: 'timeout', ended: 'lease-expired' }])
  })

  it('have the cause "initial" if no election was seen', () => {
    expect(termsOf(view(0, 1, 'leader'))).toMatchObject([{ cause: 'initial', ended: null, untilMs: null }])
  })

  it('move their end with each renewal', () => {
    expect(termsOf(view(0, 1, 'leader', 1, 20), view(10, 1, 'leader', 1, 30))).toMatchObject([
      { fromMs: 0, untilMs: 30, ended: null },
    ])
  })

  it('are superseded by a term of the same node with another token', () => {
    expect(termsOf(view(0, 1, 'leader', 1), view(10, 1, 'leader', 2))).toMatchObject([
      { token: 1, untilMs: 10, ended: 'superseded' },
      { token: 2, fromMs: 10, ended: null },
    ])
  })

  it('end at a crash, and are listed in the order of their starts', () => {
    expect(
      termsOf(view(0, 2, 'leader'), view(5, 1, 'leader'), { type: 'down', at: 9000, node: 2 }),
    ).toMatchObject([
      { node: 2, untilMs: 9, ended: 'crashed' },
      { node: 1, ended: null },
    ])
  })
})

describe('the winners of epochs', () => {
  it('are the nodes that report their own victory; the first one counts', () => {
    const winners = new EpochWinners()
    winners.observe(output(1, 2, { type: 'learned', epoch: 7, leader: 2 }))
    winners.observe(output(2, 1, { type: 'learned', epoch: 7, leader: 1 }))
    winners.observe(output(3, 1, { type: 'learned', epoch: 6, leader: 2 }))
    winners.observe(output(4, 1, { type: 'elected', epoch: 5, leader: 1 }))
    expect(winners.byEpoch()).toEqual({ 7: 2 })
  })
})

describe('a snapshot', () => {
  it('lists acting leaders and groups of nodes with a common leader', () => {
    const node = (role: Role, leader: number | null) => ({ up: true, role, leader })
    const none = { total: 0, byKind: {} }
    const { leaders, groups } = snapshot(
      [
        [3, node('leader', 3)],
        [1, node('follower', 3)],
        [2, node('candidate', null)],
        [4, { ...node('leader', 4), inQuorum: false }],
      ],
      none,
      none,
    )
    expect(leaders).toEqual([3])
    expect(groups).toEqual([[1, 3], [4]])
  })

  it('counts the kinds of messages that were sent', () => {
    expect(countOf(['a', 'b', 'c'], (kind) => (kind === 'b' ? 0 : 2))).toEqual({
      total: 4,
      byKind: { a: 2, c: 2 },
    })
  })
})
