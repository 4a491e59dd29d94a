import { describe, expect, it } from 'vitest'
import { at, every, LOCAL, leadersOf, MAJORITY, type Pairs, run } from '../../../test/support/local-leader.ts'
import { ids } from '../../../test/support/run.ts'
import type { NodeId, Plain, PlainObject } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'

describe('local mode in graphs that do not change', () => {
  const cases: readonly (readonly [string, number, Pairs | 'full', readonly NodeId[], readonly Plain[]])[] = [
    ['one alone', 1, [], [1], [1]],
    ['all connected: the lowest id leads all', 5, 'full', [1], [1, 1, 1, 1, 1]],
    ['no links: each node leads itself', 3, [], [1, 2, 3], [1, 2, 3]],
    [
      // 3 is blocked by 2, which is bound to 1. But 3 is a candidate, so 4 does not support 5.
      'a path: a candidate blocks its neighbours even when it is blocked itself',
      5,
      [
        [1, 2],
        [2, 3],
        [3, 4],
        [4, 5],
      ],
      [1],
      [1, 1, null, null, null],
    ],
    [
      'a path 1-4-2-3: 4 supports 1, so 2 is blocked, and 3 hears candidate 2',
      4,
      [
        [1, 4],
        [2, 4],
        [2, 3],
      ],
      [1],
      [1, null, null, 1],
    ],
    [
      'a star around the lowest: the centre leads all',
      5,
      [
        [1, 2],
        [1, 3],
        [1, 4],
        [1, 5],
      ],
      [1],
      [1, 1, 1, 1, 1],
    ],
    [
      'a star around the highest: one leaf leads the centre, the others have no leader',
      5,
      [
        [5, 1],
        [5, 2],
        [5, 3],
        [5, 4],
      ],
      [1],
      [1, null, null, null, 1],
    ],
    [
      'a cycle of five',
      5,
      [
        [1, 2],
        [2, 3],
        [3, 4],
        [4, 5],
        [5, 1],
      ],
      [1],
      [1, 1, null, null, 1],
    ],
    [
      'a cycle of six in which the two lowest are opposite',
      6,
      [
        [1, 3],
        [3, 4],
        [4, 2],
        [2, 5],
        [5, 6],
        [6, 1],
      ],
      [1, 2],
      [1, 2, 1, 2, 2, 1],
    ],
    [
      'two cliques, bridged between their followers: two leaders',
      6,
      [
        [1, 2],
        [1, 3],
        [2, 3],
        [4, 5],
        [4, 6],
        [5, 6],
        [3, 6],
      ],
      [1, 4],
      [1, 1, 1, 4, 4, 4],
    ],
    [
      'two cliques, bridged at the lowest of the second: it lacks a vote, and no node leads there',
      6,
      [
        [1, 2],
        [1, 3],
        [2, 3],
        [4, 5],
        [4, 6],
        [5, 6],
        [3, 4],
      ],
      [1],
      [1, 1, 1, null, null, null],
    ],
  ]

  it.each(cases)('%s', (_name, count, links, leaders, leaderOf) => {
    const moments = every(150, 1500, 3000)
    const report = run({ nodes: ids(count), options: LOCAL, links, checkpointsMs: moments })
    for (const moment of moments) expect(leadersOf(at(report, moment))).toEqual([leaders, leaderOf])
  })

  it('ids may be any numbers or words, in any order', () => {
    const numbers = run({ nodes: [40, 7, 19], options: LOCAL })
    expect(leadersOf(numbers)).toEqual([[7], [7, 7, 7]])
    const words = run({ nodes: ['pear', 'apple', 'fig'], options: LOCAL })
    expect(leadersOf(words)).toEqual([['apple'], ['apple', 'apple', 'apple']])
  })

  it('splits with its network and merges again', () => {
    const report = run({
      nodes: ids(6),
      options: LOCAL,
      events: [
        {
          atMs: 1500,
          partition: [
            [1, 2, 3],
            [4, 5, 6],
          ],
        },
        { atMs: 3000, heal: 'all' },
      ],
      checkpointsMs: [1499, 2999],
      untilMs: 4500,
    })
    expect(leadersOf(at(report, 1499))).toEqual([[1], [1, 1, 1, 1, 1, 1]])
    expect(leadersOf(at(report, 2999))).toEqual([
      [1, 4],
      [1, 1, 1, 4, 4, 4],
    ])
    expect(leadersOf(report)).toEqual([[1], [1, 1, 1, 1, 1, 1]])
    expect(report.groups).toEqual([ids(6)])
  })

  it('links slower than Δ separate nodes as much as cut links', () => {
    const across: Pairs = [
      [1, 3],
      [1, 4],
      [2, 3],
      [2, 4],
    ]
    const report = run({
      nodes: ids(4),
      options: LOCAL,
      events: [{ atMs: 1500, slow: across, delayMs: [15, 20] }],
    })
    expect(leadersOf(report)).toEqual([
      [1, 3],
      [1, 1, 3, 3],
    ])
  })
})

describe('links that work one way', () => {
  const withOneWay = (cut: Pairs, more: PlainObject = {}): Report =>
    run({
      options: LOCAL,
      events: [
        { atMs: 1000, cutOneWay: cut },
        { atMs: 3000, heal: 'all' },
      ],
      checkpointsMs: [2999],
      untilMs: 4500,
      ...more,
    })

  it('with a one-way link each of two nodes leads itself, and one leads both when it heals', () => {
    for (const cut of [[[2, 1]], [[1, 2]]] as const) {
      const report = withOneWay(cut, { nodes: [1, 2] })
      expect(leadersOf(at(report, 2999))).toEqual([
        [1, 2],
        [1, 2],
      ])
      expect(leadersOf(report)).toEqual([[1], [1, 1]])
    }
  })

  it('a node neither follows nor supports a leader that does not hear it', () => {
    // 3 hears 1, but 1 hears only 2. 2 is bound to 1, so 3 cannot win.
    const report = withOneWay([[3, 1]], { nodes: ids(3) })
    expect(leadersOf(at(report, 2999))).toEqual([[1], [1, 1, null]])
    expect(leadersOf(report)).toEqual([[1], [1, 1, 1]])
  })

  it('a node may support a leader that hears it instead', () => {
    const report = withOneWay(
      [
        [3, 1],
        [2, 1],
      ],
      { nodes: ids(3) },
    )
    expect(leadersOf(at(report, 2999))).toEqual([
      [1, 2],
      [1, 2, 2],
    ])
    expect(leadersOf(report)).toEqual([[1], [1, 1, 1]])
  })

  it('in majority mode a node that all hear but that hears no node does not block an election', () => {
    const report = withOneWay(
      [
        [2, 1],
        [3, 1],
      ],
      { nodes: ids(3), options: MAJORITY },
    )
    expect(leadersOf(at(report, 2999))).toEqual([[2], [null, 2, 2]])
    expect(leadersOf(report)).toEqual([[1], [1, 1, 1]])
  })
})
