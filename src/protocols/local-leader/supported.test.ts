/**
 * Scenarios that a campaign of 20,000 seeds found: a voter that was linked with the leader did not support it. Each is
 * shrunk, and named by its seed.
 */
import { describe, expect, it } from 'vitest'
import { broken } from '../../../test/support/local-leader.ts'
import type { PlainObject } from '../../core/index.ts'

/** In each of them a node of the best rank could not store its vote for a while, and failed as a candidate. */
const RESTORED: readonly PlainObject[] = [
  {
    seed: 8390,
    nodes: [1, 2, 3, 4, 5],
    options: { fastMs: 50, rhoPpm: 10 },
    network: { delayMs: 2.004 },
    clocks: { driftPpm: 0, lateMs: [0, 10] },
    events: [
      { atMs: 135.9, loss: 0.262 },
      { atMs: 139.9, crash: 5 },
      { atMs: 349.3, recover: 5 },
      { atMs: 616.8, unwritable: 2 },
      { atMs: 1718.6, command: { do: 'setPriority', priority: 1, node: 2 } },
      { atMs: 3783.5, writable: 2 },
      { atMs: 3784.5, loss: 0 },
    ],
    untilMs: 19578,
  },
  {
    seed: 10428,
    nodes: [1, 2, 3],
    options: { rhoPpm: 200, sticky: true, holdDownMs: 200 },
    network: { delayMs: 3.346 },
    events: [
      { atMs: 2, command: { do: 'setPriority', priority: 1, node: 3 } },
      {
        atMs: 142,
        links: [
          [1, 2],
          [2, 3],
        ],
      },
      { atMs: 151, suspend: 3, forMs: 94.707 },
      { atMs: 375, unwritable: 3 },
      { atMs: 1370, writable: 3 },
    ],
    untilMs: 7234,
  },
]

describe('a node that has its rank back', () => {
  it.each(RESTORED)('leads instead of refusing a leader that ignores it (seed $seed)', (scenario) => {
    expect(broken(scenario)).toEqual([])
  })
})

/** The timers of the leader are late, and no answers reach the first two nodes. */
const LATE: PlainObject = {
  seed: 15023,
  nodes: [1, 2, 3, 4, 5, 6],
  options: { holdDownMs: 200 },
  network: { delayMs: [0.02, 4.715] },
  clocks: { driftPpm: 0, lateMs: 10 },
  events: [
    { atMs: 433, crash: 4 },
    { atMs: 445, loss: 0.141 },
    { atMs: 536, loss: 0 },
    { atMs: 1750, recover: 4 },
    {
      atMs: 1750,
      rules: [
        { to: 2, kind: 'Reply', drop: true },
        { to: 1, kind: 'Reply', drop: true },
      ],
    },
  ],
  untilMs: 7895,
}

describe('a node of better rank that supported the last renewal', () => {
  it('makes sure that it could win before its candidacy, even if the lease that it knows of is over', () => {
    expect(broken(LATE)).toEqual([])
  })
})

/** A voter has promised a larger epoch to a candidate that failed. Its Release is lost, it is down, or the voter restarted. */
const OUTBID: readonly PlainObject[] = [
  {
    seed: 5105,
    nodes: [1, 2, 3, 6, 7],
    options: { fastMs: 25, rhoPpm: 200, holdDownMs: 200 },
    network: { delayMs: [0.02, 0.656] },
    events: [
      {
        atMs: 1087,
        links: [
          [1, 3],
          [1, 7],
          [2, 3],
          [2, 6],
          [2, 7],
        ],
      },
      {
        atMs: 1386,
        links: [
          [1, 2],
          [1, 3],
          [1, 6],
          [1, 7],
          [2, 3],
          [2, 6],
          [2, 7],
          [3, 6],
          [3, 7],
          [6, 7],
        ],
      },
      {
        atMs: 1386,
        partition: [
          [1, 2, 7],
          [3, 6],
        ],
      },
      { atMs: 1523, heal: 'all' },
    ],
    untilMs: 11389,
  },
  {
    seed: 7401,
    nodes: [1, 2, 3, 4, 5],
    options: { holdDownMs: 200 },
    network: { delayMs: 3.144 },
    events: [
      { atMs: 2.4, slow: [[4, 5]], delayMs: [0, 244.881] },
      {
        atMs: 47.6,
        partition: [
          [4, 5],
          [1, 2, 3],
        ],
      },
      { atMs: 49.7, loss: 0.172 },
      { atMs: 54.5, duplicate: 0.084 },
      { atMs: 120.9, duplicate: 0 },
      { atMs: 439.2, heal: 'all' },
      { atMs: 862.5, loss: 0 },
    ],
    untilMs: 7007,
  },
  {
    seed: 7679,
    nodes: [1, 2, 3, 4, 5],
    options: { fastMs: 25, rhoPpm: 200, sticky: true, holdDownMs: 200 },
    network: { delayMs: [0.02, 0.345] },
    events: [
      { atMs: 0.158, loss: 0.286 },
      { atMs: 26.39, loss: 0.099 },
      { atMs: 1452.462, loss: 0 },
    ],
    untilMs: 11890.042,
  },
  {
    seed: 16893,
    nodes: [1, 2, 3, 4, 5, 6],
    options: { rhoPpm: 200 },
    network: { delayMs: [0.02, 4.779] },
    clocks: { driftPpm: 0, lateMs: [0, 10] },
    events: [
      { atMs: 14.2, suspend: 4, forMs: 1105.758 },
      { atMs: 85.4, command: { do: 'setPriority', priority: 0, node: 3 } },
      {
        atMs: 983.9,
        links: [
          [1, 3],
          [1, 4],
          [1, 5],
          [1, 6],
          [2, 3],
          [2, 4],
          [2, 5],
          [2, 6],
          [3, 4],
          [3, 6],
          [4, 5],
          [4, 6],
          [5, 6],
        ],
      },
      {
        atMs: 1251.9,
        partition: [
          [1, 3, 6],
          [2, 4, 5],
        ],
      },
      { atMs: 1254, unwritable: 2 },
      { atMs: 1258.4, writable: 2 },
      { atMs: 1265, cut: [[1, 6]] },
      {
        atMs: 1566.3,
        partition: [
          [1, 5, 6],
          [2, 3, 4],
        ],
      },
      { atMs: 1897.4, heal: 'all' },
    ],
    untilMs: 8066,
  },
  {
    seed: 18319,
    nodes: [1, 2, 4, 5, 7],
    options: { sticky: true },
    network: { delayMs: 1.99 },
    events: [
      { atMs: 1, command: { do: 'setPriority', priority: 1, node: 7 } },
      {
        atMs: 676,
        links: [
          [1, 2],
          [1, 5],
          [2, 4],
          [2, 7],
          [4, 5],
          [4, 7],
        ],
      },
      {
        atMs: 2176,
        links: [
          [1, 4],
          [1, 5],
          [1, 7],
          [2, 4],
          [2, 5],
          [2, 7],
          [4, 7],
          [5, 7],
        ],
      },
      { atMs: 2177, crash: 1 },
    ],
    untilMs: 8021,
  },
  {
    seed: 19487,
    nodes: [1, 2, 3, 4, 5, 6, 7],
    options: { fastMs: 25, sticky: true },
    network: { delayMs: 0.658 },
    events: [
      { atMs: 0, cut: [[3, 1]] },
      { atMs: 1, loss: 0.091 },
      { atMs: 155, heal: 'all' },
      { atMs: 262, loss: 0 },
    ],
    untilMs: 10166,
  },
  {
    seed: 19793,
    nodes: [1, 2, 3, 4, 5],
    options: { fastMs: 50 },
    network: { delayMs: 3.637 },
    events: [
      {
        atMs: 3271,
        partition: [
          [1, 3, 5],
          [2, 4],
        ],
      },
      { atMs: 8215, crash: 4 },
      { atMs: 8216, heal: 'all' },
      { atMs: 8216, recover: 4 },
    ],
    untilMs: 24015,
  },
]

describe('a voter that promised a larger epoch to a candidate that failed', () => {
  it.each(OUTBID)('supports the leader again (seed $seed)', (scenario) => {
    expect(broken(scenario)).toEqual([])
  })
})
