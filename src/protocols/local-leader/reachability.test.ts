/**
 * What operators learn of peers that are down or cut off: the longest time for which they are reported as reachable.
 */
import { describe, expect, it } from 'vitest'
import { violations } from '../../../test/support/local-leader.ts'
import { Bench, beacon, timing } from '../../../test/support/local-leader-alone.ts'
import { ids, simulate } from '../../../test/support/run.ts'
import type { PlainObject } from '../../core/index.ts'

const { expires } = timing

describe('a peer', () => {
  it('is reported as reachable for `expires` after its last message, even if no further step happens', () => {
    const node = new Bench(3)
    node.now = 1000
    node.gets(2, { kind: 'Heartbeat', beacon: beacon(0) })
    expect(node.there).toEqual([2])
    node.now = 1000 + expires - 1
    expect(node.there).toEqual([2])
    node.now += 1
    expect(node.there).toEqual([])
  })
})

describe('the bound of `reachability`', () => {
  /**
   * A lease of 0.7 s as on a busy host. Then no node suppresses heartbeats, and peers are forgotten only at heartbeats.
   */
  const slow = { sigmaMs: 300 }
  const cases: readonly (readonly [string, PlainObject, readonly PlainObject[]])[] = [
    ['the leader crashes', {}, [{ atMs: 3000, crash: 1 }]],
    ['the leader crashes, on a busy host', slow, [{ atMs: 3000, crash: 1 }]],
    ['a follower crashes', {}, [{ atMs: 3000, crash: 3 }]],
    ['a follower crashes, on a busy host', slow, [{ atMs: 3000, crash: 3 }]],
    ['a follower crashes in local mode', { mode: 'local' }, [{ atMs: 3000, crash: 3 }]],
    [
      'two followers are cut off from each other, and the leader vouches for both',
      {},
      [{ atMs: 3000, cut: [[3, 4]] }],
    ],
    [
      'a follower is no longer heard',
      {},
      [
        {
          atMs: 3000,
          cutOneWay: [
            [4, 1],
            [4, 3],
          ],
        },
      ],
    ],
    ['a follower hangs', {}, [{ atMs: 3000, pause: 4, forMs: 2000 }]],
    ['a follower sleeps', { fastMs: 50 }, [{ atMs: 3000, suspend: 4, forMs: 2000 }]],
    [
      'the node itself sleeps, and another crashes meanwhile',
      {},
      [
        { atMs: 3000, suspend: 2, forMs: 1000 },
        { atMs: 3500, crash: 4 },
      ],
    ],
    [
      'links become slow',
      {},
      [
        {
          atMs: 3000,
          slow: [
            [4, 1],
            [4, 3],
          ],
          delayMs: [15, 20],
        },
      ],
    ],
  ]

  it.each(cases)('holds when %s', (_name, options, events) => {
    for (let seed = 1; seed <= 3; seed++) {
      const report = simulate(
        {
          protocol: 'local-leader',
          nodes: ids(5),
          seed,
          options,
          network: { delayMs: [0.1, 2] },
          clocks: { driftPpm: 100, lateMs: 5 },
          events,
          untilMs: 6000,
        },
        { strict: false },
      )
      expect(violations(report)).toEqual([])
      expect(report.specs.find(({ name }) => name === 'reachability')?.verdict).toBe('held')
    }
  })

  it('counts what a node sent after a pause, before it crashed in the same instant', () => {
    const report = simulate({
      protocol: 'local-leader',
      nodes: ids(5),
      options: { fastMs: 50, rhoPpm: 200 },
      network: { delayMs: 1.363 },
      events: [
        { atMs: 63, pause: 5, forMs: 2472.352 },
        { atMs: 1674, crash: 5, afterEffects: 4 },
      ],
      untilMs: 5000,
    })
    expect(violations(report)).toEqual([])
  })
})
