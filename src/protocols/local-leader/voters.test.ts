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
  run,
  votersAt,
} from '../../../test/support/local-leader.ts'
import { ids } from '../../../test/support/run.ts'

describe('voters, witnesses and observers', () => {
  it('an observer learns who leads, and is no member', () => {
    for (const options of [LOCAL, MAJORITY]) {
      const report = run({ nodes: ids(4), options: { ...options, observers: [1] } })
      expect(leadersOf(report)).toEqual([[2], [2, 2, 2, 2]])
      expect(report.nodes['1']?.role).toBe('observer')
      for (const node of [2, 3, 4]) expect(field(report, node, 'members')).toEqual([2, 3, 4])
    }
  })

  it('an observer does not count towards a majority', () => {
    const report = run({
      nodes: ids(4),
      options: { ...MAJORITY, voters: [1, 2, 3], observers: [4] },
      events: [
        {
          atMs: 1000,
          partition: [
            [1, 4],
            [2, 3],
          ],
        },
      ],
    })
    expect(leadersOf(report)).toEqual([[2], [null, 2, 2, null]])
  })

  it('a witness votes and never leads: two voters and a witness survive a crash', () => {
    for (const crash of [2, 3]) {
      const report = run({
        nodes: ids(3),
        options: { ...MAJORITY, witnesses: [1] },
        events: [{ atMs: 1000, crash }],
        checkpointsMs: [999],
      })
      const survivor = crash === 2 ? 3 : 2
      expect(at(report, 999).leaders).toEqual([2])
      expect(report.leaders).toEqual([survivor])
      expect(field(report, survivor, 'members')).toEqual([1, survivor])
    }
  })

  it('followers always know the members of their leader', () => {
    const moments = every(10, 500, 1500)
    const report = run({ nodes: ids(3), options: MAJORITY, checkpointsMs: moments })
    for (const moment of moments) {
      for (const node of ids(3)) expect(field(at(report, moment), node, 'members')).toEqual([1, 2, 3])
    }
  })

  it('voters that are added one by one while nodes crash count afterwards', () => {
    const report = run({
      nodes: ids(5),
      options: { ...MAJORITY, voters: [1, 2, 3] },
      events: [
        { atMs: 500, command: { node: 1, do: 'addVoter', voter: 4 } },
        { atMs: 510, crash: 2 },
        { atMs: 900, command: { node: 1, do: 'addVoter', voter: 5 } },
        { atMs: 1000, recover: 2 },
        { atMs: 2000, crash: 1 },
        { atMs: 2000, crash: 2 },
      ],
      checkpointsMs: [499, 1999],
    })
    expect(votersAt(at(report, 499), 1)).toEqual([[1, 2, 3]])
    for (const node of ids(5)) expect(votersAt(at(report, 1999), node)).toEqual([ids(5)])
    expect(leadersIn(report)).toEqual([1, 3])
    expect(field(report, 3, 'members')).toEqual([3, 4, 5])
  })

  it('a removed voter no longer counts', () => {
    const report = run({
      nodes: ids(3),
      options: MAJORITY,
      events: [
        { atMs: 500, command: { node: 1, do: 'removeVoter', voter: 3 } },
        { atMs: 1500, partition: [[1, 3], [2]] },
      ],
      checkpointsMs: [1499],
    })
    expect(votersAt(at(report, 1499), 1)).toEqual([[1, 2]])
    expect(at(report, 1499).nodes['3']).toMatchObject({ role: 'observer', leader: 1 })
    expect(report.leaders).toEqual([])
  })

  it('a leader can remove itself: it leads until the change is complete, and hands over', () => {
    const report = run({
      nodes: ids(3),
      options: MAJORITY,
      events: [{ atMs: 500, command: { node: 1, do: 'removeVoter', voter: 1 } }],
    })
    expect(histories(report)).toEqual([
      [1, 'elected', 'no longer a voter'],
      [2, 'handed over', null],
    ])
    expect(leadersOf(report)).toEqual([[2], [2, 2, 2]])
    expect(report.nodes['1']?.role).toBe('observer')
    expect(votersAt(report, 2)).toEqual([[2, 3]])
  })

  it('a change to voters without a reachable majority waits, and the leader keeps its lease', () => {
    const report = run({
      nodes: ids(4),
      options: { ...MAJORITY, voters: [1] },
      events: [
        { atMs: 100, crash: 2 },
        { atMs: 500, command: { node: 1, do: 'addVoter', voter: 2 } },
        { atMs: 1500, recover: 2 },
      ],
      checkpointsMs: [1499],
    })
    expect(leadersIn(report)).toEqual([1])
    expect(votersAt(at(report, 1499), 1)).toEqual([[1]])
    expect(votersAt(report, 1)).toEqual([[1, 2]])
  })
})

describe('voters that missed a change', () => {
  it('a voter that was added while it was down counts as soon as it restarts, under any leader', () => {
    const report = run({
      nodes: ids(4),
      options: { ...MAJORITY, voters: [1, 2, 3] },
      events: [
        { atMs: 10, crash: 4 },
        { atMs: 500, command: { node: 1, do: 'addVoter', voter: 4 } },
        { atMs: 1000, crash: 1 },
        { atMs: 1500, recover: 4 },
      ],
      checkpointsMs: [999, 1499],
    })
    expect(votersAt(at(report, 999), 2)).toEqual([ids(4)])
    expect(at(report, 1499).leaders).toEqual([])
    expect(leadersOf(report)).toEqual([[2], [null, 2, 2, 2]])
    expect(report.leaderships[1]?.fromMs).toBeLessThan(1500 + 300)
  })

  it('two voters that missed the end of a change learn it from the node that lost its vote', () => {
    // Only 2, which is to be removed, learns of the new set alone; 3 and 4 know both sets, and 1 is down for good.
    const report = run({
      nodes: ids(4),
      options: { ...MAJORITY, voters: [1, 2, 3] },
      network: { delayMs: 1 },
      clocks: { driftPpm: 0 },
      events: [
        { atMs: 500, command: { node: 1, do: 'addVoter', voter: 4 } },
        { atMs: 500, command: { node: 1, do: 'removeVoter', voter: 2 } },
        {
          atMs: 600,
          cut: [
            [1, 3],
            [1, 4],
          ],
        },
        { atMs: 640, crash: 1 },
        { atMs: 640, heal: 'all' },
      ],
      checkpointsMs: [641],
    })
    const known = ids(4).map((node) => votersAt(at(report, 641), node))
    const both = [
      [1, 2, 3],
      [1, 3, 4],
    ]
    expect(known.slice(1)).toEqual([[[1, 3, 4]], both, both])
    expect(leadersOf(report)).toEqual([[3], [null, 3, 3, 3]])
    expect(votersAt(report, 3)).toEqual([[1, 3, 4]])
  })

  it('the same holds in a group of two', () => {
    for (const events of [
      [
        { atMs: 90, command: { node: 1, do: 'removeVoter', voter: 1 } },
        { atMs: 180, crash: 2 },
        { atMs: 1000, recover: 2 },
      ],
      [
        { atMs: 200, command: { node: 1, do: 'removeVoter', voter: 1 } },
        { atMs: 700, command: { node: 2, do: 'addVoter', voter: 1 } },
        { atMs: 812, cut: [[2, 1]] },
        { atMs: 1600, heal: 'all' },
      ],
    ]) {
      for (let seed = 1; seed <= 10; seed++) {
        const report = run({ nodes: ids(2), options: MAJORITY, seed, events }, false)
        expect(report.leaders).toHaveLength(1)
      }
    }
  })

  it('a removed voter learns of its removal even if it has promised a later epoch', () => {
    // 2 is cut off from the leader and is a candidate; 3 is bound and refuses, but 2 has promised itself an epoch by
    // then.
    const report = run({
      nodes: ids(3),
      options: { ...MAJORITY, rule: 'equality' },
      network: { delayMs: [0.02, 2.196] },
      clocks: { driftPpm: 0 },
      seed: 4743,
      events: [
        { atMs: 606, links: [] },
        { atMs: 676, links: 'full' },
        { atMs: 851, command: { node: 1, do: 'removeVoter', voter: 2 } },
        { atMs: 899, cut: [[2, 1]] },
        { atMs: 1072, heal: 'all' },
      ],
    })
    expect(leadersOf(report)).toEqual([[1], [1, 1, 1]])
    expect(report.nodes['2']).toMatchObject({ role: 'observer', config: { sets: [[1, 3]] } })
  })

  it('a leader that is to be removed has all its tries to announce that', () => {
    for (let atMs = 540; atMs < 700; atMs += 5) {
      const file = {
        nodes: ids(3),
        options: MAJORITY,
        events: [
          { atMs: 500, command: { node: 1, do: 'removeVoter', voter: 1 } },
          { atMs, loss: 1 },
          { atMs: atMs + 30, loss: 0 },
        ],
      }
      const report = run(file, false)
      expect(histories(report)).toEqual([
        [1, 'elected', 'no longer a voter'],
        [2, 'handed over', null],
      ])
      expect(votersAt(report, 2)).toEqual([[2, 3]])
    }
  })
})
