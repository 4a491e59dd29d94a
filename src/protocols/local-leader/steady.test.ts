/**
 * Scenarios that a campaign of 20,000 seeds found: terms ended again and again, although nothing changed. Each is
 * shrunk, and named by its seed.
 */
import { describe, expect, it } from 'vitest'
import { broken } from '../../../test/support/local-leader.ts'
import type { PlainObject } from '../../core/index.ts'

/** In each of them a node of better rank hears a majority only together with a voter that cannot store its vote. */
const UNWRITABLE: readonly PlainObject[] = [
  {
    seed: 4483,
    nodes: [1, 2, 3, 4],
    options: { fastMs: 25, sticky: true },
    network: { delayMs: 3.948 },
    events: [
      { atMs: 2218, command: { do: 'setPriority', priority: 1, node: 2 } },
      {
        atMs: 2346,
        links: [
          [1, 2],
          [1, 3],
          [2, 4],
          [3, 4],
        ],
      },
      { atMs: 2347, unwritable: 4 },
    ],
    untilMs: 11909,
  },
  {
    seed: 6782,
    nodes: [1, 2, 3, 4],
    options: { fastMs: 50 },
    network: { delayMs: 0.922 },
    events: [
      {
        atMs: 894,
        links: [
          [1, 2],
          [1, 3],
          [1, 4],
          [2, 3],
          [3, 4],
        ],
      },
      { atMs: 1865, crash: 1 },
      { atMs: 1865, recover: 1 },
      { atMs: 1865, unwritable: 1 },
    ],
    untilMs: 17663,
  },
  {
    seed: 6887,
    nodes: [1, 2, 4, 6, 7],
    options: { fastMs: 25, rhoPpm: 200, holdDownMs: 200 },
    network: { delayMs: 0.635 },
    events: [
      {
        atMs: 1027,
        cutOneWay: [
          [2, 1],
          [4, 1],
          [6, 1],
          [7, 1],
        ],
      },
      { atMs: 1027, unwritable: 7 },
      { atMs: 1027, cutOneWay: [[2, 4]] },
    ],
    untilMs: 10891,
  },
  {
    seed: 6987,
    nodes: [1, 2, 3, 4],
    options: { fastMs: 25 },
    network: { delayMs: 4.499 },
    events: [
      {
        atMs: 24,
        links: [
          [1, 3],
          [1, 4],
          [2, 3],
          [2, 4],
        ],
      },
      { atMs: 1479, crash: 4 },
      { atMs: 1479, recover: 4 },
      { atMs: 1479, unwritable: 4 },
    ],
    untilMs: 11040,
  },
  {
    seed: 7816,
    nodes: [2, 3, 4, 5],
    options: { holdDownMs: 200 },
    network: { delayMs: 3.552 },
    events: [
      {
        atMs: 460,
        links: [
          [2, 3],
          [2, 4],
          [3, 4],
          [3, 5],
          [4, 5],
        ],
      },
      { atMs: 1664, crash: 4 },
      { atMs: 1664, recover: 4 },
      { atMs: 1664, unwritable: 3 },
    ],
    untilMs: 7808,
  },
  {
    seed: 8659,
    nodes: [1, 2, 3, 4, 5],
    options: { fastMs: 25 },
    network: { delayMs: 4.215 },
    events: [
      {
        atMs: 1001,
        links: [
          [1, 2],
          [1, 4],
          [1, 5],
          [2, 3],
          [2, 4],
          [2, 5],
          [3, 5],
          [4, 5],
        ],
      },
      {
        atMs: 1210,
        cutOneWay: [
          [1, 2],
          [1, 3],
          [1, 4],
          [1, 5],
        ],
      },
      { atMs: 1210, unwritable: 2 },
    ],
    untilMs: 10771,
  },
  {
    seed: 9125,
    nodes: [1, 2, 4, 5],
    options: { fastMs: 25, rhoPpm: 10 },
    network: { delayMs: 3.447 },
    events: [
      {
        atMs: 10,
        links: [
          [1, 2],
          [2, 5],
          [4, 5],
        ],
      },
      { atMs: 2967, crash: 2 },
      { atMs: 8307, recover: 2 },
      { atMs: 8307, unwritable: 1 },
    ],
    untilMs: 17865,
  },
  {
    seed: 9389,
    nodes: [1, 2, 3, 4],
    options: { fastMs: 12, holdDownMs: 200 },
    network: { delayMs: 1.155 },
    events: [
      { atMs: 1183, crash: 3 },
      {
        atMs: 1183,
        links: [
          [1, 3],
          [1, 4],
          [2, 3],
          [2, 4],
        ],
      },
      { atMs: 1283, recover: 3 },
      { atMs: 1284, unwritable: 3 },
    ],
    untilMs: 7902,
  },
  {
    seed: 13072,
    nodes: [1, 2, 3, 4, 5, 6, 7],
    options: { rhoPpm: 200 },
    network: { delayMs: 1.96 },
    events: [
      {
        atMs: 187,
        links: [
          [1, 7],
          [2, 4],
          [2, 6],
          [2, 7],
          [3, 5],
          [3, 6],
          [5, 6],
        ],
      },
      { atMs: 188, unwritable: 7 },
    ],
    untilMs: 5674,
  },
  {
    seed: 13158,
    nodes: [1, 2, 3, 4],
    options: { rhoPpm: 10 },
    network: { delayMs: 2.349 },
    events: [
      {
        atMs: 4,
        links: [
          [1, 3],
          [1, 4],
          [2, 3],
          [2, 4],
        ],
      },
      { atMs: 716, command: { do: 'setPriority', priority: 1, node: 3 } },
      { atMs: 717, unwritable: 2 },
    ],
    untilMs: 6560,
  },
  {
    seed: 15375,
    nodes: [2, 3, 4, 5],
    network: { delayMs: 4.301 },
    events: [
      {
        atMs: 1813,
        links: [
          [2, 3],
          [2, 4],
          [3, 4],
          [3, 5],
        ],
      },
      {
        atMs: 2025,
        partition: [
          [2, 3],
          [4, 5],
        ],
      },
      { atMs: 2381, heal: 'all' },
      { atMs: 2381, unwritable: 4 },
    ],
    untilMs: 8226,
  },
  {
    seed: 17705,
    nodes: [1, 2, 3, 4],
    network: { delayMs: 1.612 },
    events: [
      {
        atMs: 961,
        links: [
          [1, 2],
          [1, 3],
          [2, 3],
          [2, 4],
          [3, 4],
        ],
      },
      { atMs: 962, crash: 2 },
      { atMs: 962, recover: 2 },
      { atMs: 962, unwritable: 3 },
    ],
    untilMs: 6807,
  },
  {
    seed: 19661,
    nodes: [1, 2, 3, 4],
    options: { rhoPpm: 10 },
    network: { delayMs: 1.252 },
    events: [
      {
        atMs: 615,
        links: [
          [1, 2],
          [1, 3],
          [1, 4],
          [2, 3],
          [3, 4],
        ],
      },
      { atMs: 720, rules: [{ from: 1, to: 3, loss: 0.773 }] },
      { atMs: 721, suspend: 2, forMs: 0.863 },
      { atMs: 768, crash: 4, afterEffects: 2 },
      { atMs: 778, rules: [] },
      { atMs: 1023, loss: 0.299 },
      { atMs: 1168, loss: 0 },
      { atMs: 1169, recover: 4 },
      { atMs: 1169, unwritable: 1 },
    ],
    untilMs: 7012,
  },
  {
    seed: 19675,
    nodes: [1, 2, 3, 4, 5],
    options: { rhoPpm: 10 },
    network: { delayMs: 2.454 },
    events: [
      {
        atMs: 752,
        links: [
          [1, 5],
          [2, 3],
          [2, 4],
          [3, 5],
          [4, 5],
        ],
      },
      { atMs: 777, unwritable: 4 },
    ],
    untilMs: 6619,
  },
]

describe('a voter that cannot store its vote', () => {
  it.each(UNWRITABLE)(
    'does not make a node depose a leader that it cannot replace (seed $seed)',
    (scenario) => {
      expect(broken(scenario)).toEqual([])
    },
  )
})

/** A path 1 - 2 - 4 to a triangle of 3, 4 and 5. Node 1 cannot store its vote, so 2 cannot win; and 2 does not hear 3. */
const UNHEARD: PlainObject = {
  seed: 7291,
  nodes: [1, 2, 3, 4, 5],
  network: { delayMs: 0.65 },
  events: [
    { atMs: 0.2, duplicate: 0.112 },
    { atMs: 0.9, duplicate: 0 },
    { atMs: 332.3, loss: 0.142 },
    { atMs: 332.4, duplicate: 0.114 },
    {
      atMs: 583,
      links: [
        [1, 2],
        [2, 4],
        [3, 4],
        [3, 5],
        [4, 5],
      ],
    },
    { atMs: 644.8, duplicate: 0 },
    { atMs: 1384.6, loss: 0 },
    { atMs: 1384.6, unwritable: 1 },
  ],
  untilMs: 7229,
}

describe('a node that has failed, and does not hear the leader', () => {
  it('makes sure that it could win before voters refuse the leader in its favour', () => {
    expect(broken(UNHEARD)).toEqual([])
  })
})
