import { describe, expect, it } from 'vitest'
import {
  at,
  every,
  field,
  histories,
  LOCAL,
  leadersIn,
  leadersOf,
  MAJORITY,
  type Pairs,
  run,
} from '../../../test/support/local-leader.ts'
import { ids } from '../../../test/support/run.ts'
import type { NodeId, Plain } from '../../core/index.ts'

describe('majority mode in a network that splits', () => {
  const splits: readonly (readonly [Plain, number, readonly NodeId[], readonly Plain[]])[] = [
    [
      [
        [1, 2],
        [3, 4, 5],
      ],
      5,
      [3],
      [null, null, 3, 3, 3],
    ],
    [
      [
        [1, 4, 5],
        [2, 3],
      ],
      5,
      [1],
      [1, null, null, 1, 1],
    ],
    [[[1, 2], [3, 4], [5]], 5, [], [null, null, null, null, null]],
    [
      [
        [1, 2],
        [3, 4],
      ],
      4,
      [],
      [null, null, null, null],
    ],
    [[[1], [2, 3, 4]], 4, [2], [null, 2, 2, 2]],
    [[[1], [2]], 2, [], [null, null]],
    [[[1], [2], [3]], 3, [], [null, null, null]],
  ]

  for (const [blocks, count, leaders, leaderOf] of splits) {
    it(`${JSON.stringify(blocks)}: ${leaders[0] ?? 'no node'} leads, then 1 leads all`, () => {
      const report = run({
        nodes: ids(count),
        options: MAJORITY,
        events: [
          { atMs: 1500, partition: blocks },
          { atMs: 3000, heal: 'all' },
        ],
        checkpointsMs: [1499, 2999],
        untilMs: 4500,
      })
      const all = [[1], ids(count).map(() => 1)]
      expect(leadersOf(at(report, 1499))).toEqual(all)
      expect(leadersOf(at(report, 2999))).toEqual([leaders, leaderOf])
      expect(leadersOf(report)).toEqual(all)
    })
  }

  it('a node that was cut off supports the leader again, so the next crash does no harm', () => {
    const report = run({
      nodes: ids(3),
      options: MAJORITY,
      events: [
        { atMs: 500, partition: [[1, 2], [3]] },
        { atMs: 1500, heal: 'all' },
        { atMs: 2000, crash: 2 },
      ],
      checkpointsMs: [1499, 1999],
    })
    expect(field(at(report, 1499), 1, 'members')).toEqual([1, 2])
    expect(field(at(report, 1999), 1, 'members')).toEqual([1, 2, 3])
    expect(histories(report)).toEqual([[1, 'elected', null]])
  })

  const pendant: Pairs = [
    [1, 5],
    [2, 3],
    [2, 4],
    [2, 5],
    [3, 4],
    [3, 5],
    [4, 5],
  ]

  it('a lower id that only one voter hears does not prevent a leader under the quorum rule', () => {
    const moments = every(100, 500, 4000)
    const report = run({
      nodes: ids(5),
      options: MAJORITY,
      links: pendant,
      untilMs: 4000,
      checkpointsMs: moments,
    })
    for (const moment of moments) expect(at(report, moment).leaders).toEqual([2])
    expect(field(report, 1, 'leader')).toBeNull()
    expect(report.leaderships).toHaveLength(1)
  })

  it('nor where the majority needs that voter, because the lower id hears too few to be a candidate', () => {
    for (const nodes of [4, 5]) {
      // 2, 3 and 4 hear each other; 2 also hears 1; 5 hears no node.
      const links = [
        [1, 2],
        [2, 3],
        [2, 4],
        [3, 4],
      ]
      const report = run({ nodes: ids(nodes), options: MAJORITY, events: [{ atMs: 500, links }] })
      expect(report.leaders).toEqual([2])
      expect(report.leaderships.at(-1)?.fromMs).toBeLessThan(1000)
    }
  })

  it('under the equality rule of the paper there is no leader for ever', () => {
    const options = { ...MAJORITY, rule: 'equality' }
    const report = run({ nodes: ids(5), options, links: pendant, untilMs: 10_000 }, false)
    // At boot 2 may lead for one lease, before a node has heard 1.
    expect(report.leaderships.filter(({ fromMs }) => fromMs > 100)).toEqual([])
    expect(report.leaders).toEqual([])
  })
})

describe('crashes and restarts', () => {
  it('the next node leads, and the lowest again after its restart', () => {
    for (const options of [LOCAL, MAJORITY]) {
      const report = run({
        nodes: ids(4),
        options,
        events: [
          { atMs: 1000, crash: 1 },
          { atMs: 2500, recover: 1 },
        ],
        checkpointsMs: [2499],
        untilMs: 4000,
      })
      expect(leadersOf(at(report, 2499))).toEqual([[2], [null, 2, 2, 2]])
      expect(leadersOf(report)).toEqual([[1], [1, 1, 1, 1]])
    }
  })

  it('a crash of a follower does not affect the leader of a majority', () => {
    const report = run({ nodes: ids(3), options: MAJORITY, events: [{ atMs: 1000, crash: 3 }] })
    expect(histories(report)).toEqual([[1, 'elected', null]])
    expect(field(report, 1, 'members')).toEqual([1, 2])
  })

  it('a local leader waits until the crashed follower is unreachable, as in the paper, and leads again', () => {
    const report = run({ nodes: ids(3), options: LOCAL, events: [{ atMs: 1000, crash: 3 }] })
    expect(histories(report)).toEqual([
      [1, 'elected', 'expired'],
      [1, 'elected', null],
    ])
    const [first, second] = report.leaderships
    // `expires` is 280 ms, the lease 100 ms, EP 120 ms.
    expect((second?.fromMs ?? 0) - (first?.untilMs ?? 0)).toBeLessThan(280 + 120)
    expect(field(report, 1, 'members')).toEqual([1, 2])
  })

  it('no restart of a node with a higher id ends the term of the lowest', () => {
    // The lease and `expires` are about 100 ms each: every phase is tried.
    for (const options of [LOCAL, MAJORITY]) {
      for (const phase of every(9, 0, 108)) {
        const report = run(
          {
            nodes: ids(3),
            options,
            seed: phase,
            events: [
              { atMs: 1000, crash: 3 },
              { atMs: 2000 + phase, recover: 3 },
            ],
            checkpointsMs: [1999],
          },
          false,
        )
        const before = at(report, 1999)
        expect(before.leaders).toEqual([1])
        expect(report.leaderships.filter(({ fromMs }) => fromMs > 2000)).toEqual([])
        expect(field(report, 1, 'members')).toEqual([1, 2, 3])
      }
    }
  })

  it('a voter that restarts within a millisecond is silent until its locks have expired', () => {
    // The leader is cut off right after 3 supported it; 3 restarts, and 2 asks for its vote at once.
    for (const phase of every(7, 0, 105)) {
      const report = run(
        {
          nodes: ids(3),
          options: MAJORITY,
          seed: phase,
          events: [
            { atMs: 1000 + phase, partition: [[1], [2, 3]] },
            { atMs: 1000 + phase, crash: 3 },
            { atMs: 1001 + phase, recover: 3 },
          ],
          checkpointsMs: [1101 + phase],
        },
        false,
      )
      expect(field(at(report, 1101 + phase), 3, 'leader')).toBeNull()
      expect(leadersIn(report)).toEqual([1, 2])
    }
  })

  it('tokens grow with every term, regardless of crashes', () => {
    const events = every(400, 400, 6000).flatMap((atMs, index) => [
      { atMs, crash: 1 + (index % 3) },
      { atMs: atMs + 180, recover: 1 + (index % 3) },
    ])
    const report = run({ nodes: ids(4), options: MAJORITY, events, untilMs: 8000 })
    const tokens = report.leaderships.map(({ token }) => token ?? 0)
    expect(tokens.length).toBeGreaterThan(8)
    expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] ?? 0))).toBe(true)
    expect(report.leaderships.some(({ ended }) => ended === 'crashed')).toBe(true)
  })

  it('voters remember their promises when all crash at once', () => {
    const everybody = [1, 2, 3]
    const report = run({
      nodes: everybody,
      options: MAJORITY,
      events: [
        ...everybody.map((crash) => ({ atMs: 1000, crash })),
        ...everybody.map((recover) => ({ atMs: 1010, recover })),
      ],
    })
    expect(report.leaderships.map(({ token }) => token)).toEqual([1, 2])
  })
})

describe('processes that pause', () => {
  it('a leader that is paused for up to four lock times has lost its lease when it continues', () => {
    for (const mode of [LOCAL, MAJORITY]) {
      for (const forMs of [150, 250, 400]) {
        const report = run({
          nodes: ids(3),
          options: mode,
          events: [{ atMs: 1000, pause: 1, forMs }],
          checkpointsMs: [999 + forMs],
        })
        const [first] = report.leaderships
        expect(first).toMatchObject({ node: 1, ended: 'expired' })
        expect(leadersOf(report)).toEqual([[1], [1, 1, 1]])
      }
    }
  })

  it('another node leads a majority meanwhile', () => {
    const report = run({ nodes: ids(3), options: MAJORITY, events: [{ atMs: 1000, pause: 1, forMs: 400 }] })
    expect(leadersIn(report)).toEqual([1, 2, 1])
  })

  it('a leader whose host and clock sleep does not lead when it wakes', () => {
    const report = run({
      nodes: ids(3),
      options: MAJORITY,
      events: [{ atMs: 1000, suspend: 1, forMs: 1000 }],
      checkpointsMs: [1999, 2000],
    })
    expect(at(report, 1999).leaders).toEqual([2])
    expect(at(report, 2000).leaders).toEqual([2])
    expect(histories(report)).toEqual([
      [1, 'elected', 'suspended'],
      [2, 'elected', 'outranked'],
      [1, 'handed over', null],
    ])
    const tokens = report.leaderships.map(({ token }) => token)
    expect(tokens).toEqual([1, 2, 3])
  })
})

describe('lost and repeated messages', () => {
  it('one loss in a hundred for a minute does not interrupt the leader of a majority', () => {
    const report = run(
      { nodes: ids(5), options: MAJORITY, network: { delayMs: [0.1, 2], loss: 0.01 }, untilMs: 60_000 },
      false,
    )
    expect(histories(report)).toEqual([[1, 'elected', null]])
  })

  it('a duplicate of every hundredth message changes nothing', () => {
    const report = run(
      { nodes: ids(5), options: LOCAL, network: { delayMs: [0.1, 2], duplicate: 0.01 }, untilMs: 20_000 },
      false,
    )
    expect(histories(report)).toEqual([[1, 'elected', null]])
  })
})
