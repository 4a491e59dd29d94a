import { describe, expect, it } from 'vitest'
import { simulate } from '../../../test/support/run.ts'
import { levelsOf, placeInTree, type Tree } from './tree.ts'

describe('a tree of answers', () => {
  const ORDER = ['root', 'a', 'b', 'c', 'd', 'e', 'f', 'g']
  const TREE: Tree = { fanout: 2, levels: 3, patience: 100 }

  it.each([
    [1, 2, 0],
    [3, 2, 1],
    [4, 2, 2],
    [7, 2, 2],
    [8, 2, 3],
    [5, 4, 1],
    [21, 4, 2],
    [22, 4, 3],
    [4, 1, 3],
  ])('of %i nodes with fan-out %i has %i levels', (nodes, fanout, levels) => {
    expect(levelsOf(nodes, fanout)).toBe(levels)
  })

  it('gives every node but the root one parent, and waits longer the higher a node is', () => {
    expect(placeInTree(ORDER, 'a', TREE)).toEqual({ parent: 'root', children: ['c', 'd'], wait: 200 })
    expect(placeInTree(ORDER, 'c', TREE)).toEqual({ parent: 'a', children: ['g'], wait: 100 })
    expect(placeInTree(ORDER, 'g', TREE)).toEqual({ parent: 'c', children: [], wait: 0 })
    expect(placeInTree(ORDER, 'root', TREE)).toBeNull()
    expect(placeInTree(ORDER, 'stranger', TREE)).toBeNull()
  })

  it('lists each node as the child of its parent, for any size and fan-out', () => {
    for (let size = 2; size <= 30; size++) {
      for (const fanout of [1, 2, 3, 5]) {
        const order = Array.from({ length: size }, (_, at) => `n${at}`)
        const tree = { fanout, levels: levelsOf(size, fanout), patience: 10 }
        for (const self of order.slice(1)) {
          const place = placeInTree(order, self, tree)
          const above = placeInTree(order, String(place?.parent), tree)
          const siblings = above?.children ?? order.slice(1, 1 + fanout)
          expect(siblings).toContain(self)
          expect(place?.wait).toBeGreaterThanOrEqual(0)
        }
      }
    }
  })
})

describe('a hundred nodes that answer over a tree', () => {
  /** A node that receives the answers of its children before the request passes each on alone, in a burst. */
  it.each([1, 2])(
    'lose no answer to the reordering of a burst: seed %i',
    (seed) => {
      const { specs } = simulate(
        {
          protocol: 'local-leader',
          seed,
          nodes: Array.from({ length: 100 }, (_, place) => place + 1),
          options: { mode: 'local' },
          clocks: { driftPpm: 100 },
          untilMs: 5000,
        },
        { strict: false },
      )
      expect(specs.filter(({ verdict }) => verdict === 'violated')).toEqual([])
      expect(specs.find(({ name }) => name === 'BI')).toMatchObject({ verdict: 'held' })
    },
    60_000,
  )
})
