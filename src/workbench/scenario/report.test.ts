import { describe, expect, it } from 'vitest'
import { CRASHED, countOf, type NodeReport, snapshot } from './report.ts'

const NOTHING = { total: 0, byKind: {} }
const node = (role: NodeReport['role'], leader: number | null, more: object = {}): NodeReport => ({
  up: true,
  role,
  leader,
  ...more,
})

const shown = (nodes: readonly (readonly [number, NodeReport])[]) => {
  const { leaders, groups } = snapshot(nodes, NOTHING, NOTHING)
  return { leaders, groups }
}

describe('a snapshot', () => {
  it('groups the nodes by their leader', () => {
    expect(
      shown([
        [10, node('follower', 3)],
        [9, node('leader', 9)],
        [3, node('leader', 3)],
        [2, node('follower', 9)],
      ]),
    ).toEqual({
      leaders: [3, 9],
      groups: [
        [2, 9],
        [3, 10],
      ],
    })
  })

  it('leaves out crashed nodes, and nodes without a leader', () => {
    expect(
      shown([
        [1, node('leader', 1)],
        [2, CRASHED],
        [3, node('candidate', null)],
      ]),
    ).toEqual({ leaders: [1], groups: [[1]] })
  })

  it('keeps the group of a leader that is not part of it', () => {
    expect(
      shown([
        [1, node('follower', 3)],
        [2, node('follower', 3)],
        [3, CRASHED],
      ]),
    ).toEqual({ leaders: [], groups: [[1, 2]] })
  })

  it('does not count the leader of a view without a quorum', () => {
    expect(shown([[1, node('leader', 1, { inQuorum: false })]])).toEqual({ leaders: [], groups: [[1]] })
    expect(shown([[1, node('leader', 1, { inQuorum: true })]])).toEqual({ leaders: [1], groups: [[1]] })
  })
})

it('counts messages by kind, without kinds that were never sent', () => {
  const sent: { readonly [kind: string]: number } = { vote: 3, beat: 4 }
  expect(countOf(['vote', 'ack', 'beat'], (kind) => sent[kind] ?? 0)).toEqual({
    total: 7,
    byKind: { vote: 3, beat: 4 },
  })
})
