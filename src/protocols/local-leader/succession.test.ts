import { describe, expect, it } from 'vitest'
import {
  at,
  histories,
  LOCAL,
  leadersIn,
  leadersOf,
  MAJORITY,
  run,
} from '../../../test/support/local-leader.ts'
import { ids } from '../../../test/support/run.ts'
import { sized } from '../../../test/support/sizes.ts'
import type { PlainObject } from '../../core/index.ts'
import type { Report } from '../../workbench/sim/index.ts'

describe('the preferred leader', () => {
  /** 1 is down at first; 2 leads; then 1 starts. */
  const joined = (options: PlainObject): Report =>
    run({
      nodes: ids(3),
      options: { ...MAJORITY, ...options },
      events: [
        { atMs: 10, crash: 1 },
        { atMs: 1000, recover: 1 },
      ],
      checkpointsMs: [999],
    })

  it('a lower id that joins takes over within a round', () => {
    const report = joined({ sticky: false })
    expect(histories(report)).toEqual([
      [2, 'elected', 'outranked'],
      [1, 'handed over', null],
    ])
    const [first, second] = report.leaderships
    expect((second?.fromMs ?? 0) - (first?.untilMs ?? 0)).toBeLessThan(8)
  })

  it('a lower id does not take over from a sticky leader', () => {
    expect(histories(joined({ sticky: true }))).toEqual([[2, 'elected', null]])
  })

  it('a higher priority takes over even from a sticky leader', () => {
    const report = joined({ sticky: true, priorities: { 1: 1 } })
    expect(histories(report)).toEqual([
      [2, 'elected', 'outranked'],
      [1, 'handed over', null],
    ])
  })

  it('a higher priority waits for the hold-down', () => {
    const report = joined({ holdDownMs: 700 })
    const [, second] = report.leaderships
    expect(second).toMatchObject({ node: 1, cause: 'handed over' })
    // It is silent for a lock time, then starts to hear the leader.
    expect(second?.fromMs).toBeGreaterThan(1000 + 700)
    expect(second?.fromMs).toBeLessThan(1000 + 100 + 700 + 250)
  })

  it('the hold-down ends with the leader', () => {
    const report = run({
      nodes: ids(3),
      options: { ...MAJORITY, holdDownMs: 60_000 },
      events: [
        { atMs: 10, crash: 1 },
        { atMs: 1000, recover: 1 },
        { atMs: 2000, crash: 2 },
      ],
    })
    expect(leadersIn(report)).toEqual([2, 1])
  })

  it('priorities may change at any time', () => {
    const report = run({
      nodes: ids(3),
      options: MAJORITY,
      events: [
        { atMs: 1000, command: { node: 3, do: 'setPriority', priority: 2 } },
        { atMs: 2000, command: { node: 3, do: 'setPriority', priority: -1 } },
      ],
      checkpointsMs: [999, 1999],
    })
    expect(leadersOf(at(report, 999))).toEqual([[1], [1, 1, 1]])
    expect(leadersOf(at(report, 1999))).toEqual([[3], [3, 3, 3]])
    expect(leadersOf(report)).toEqual([[1], [1, 1, 1]])
  })

  it('a rotating leader stays while no other node could lead', () => {
    const alone = run({
      nodes: ids(3),
      options: { ...MAJORITY, termMs: 500, witnesses: [2, 3] },
      untilMs: 4000,
    })
    expect(alone.leaderships).toMatchObject([{ node: 1, ended: null }])
  })

  it('rotation lets every node lead in turn', () => {
    const report = run({ nodes: ids(3), options: { ...MAJORITY, termMs: 500 }, untilMs: 4000 })
    expect(leadersIn(report).slice(0, 6)).toEqual([1, 2, 3, 1, 2, 3])
    for (const { fromMs, untilMs } of report.leaderships.slice(0, 6)) {
      // A rotation ends at the next renewal; then the next node is elected at once.
      expect((untilMs ?? 0) - fromMs).toBeGreaterThan(420)
      expect((untilMs ?? 0) - fromMs).toBeLessThan(560)
    }
  })
})

describe('handing over', () => {
  const handOver = (more: PlainObject): Report =>
    run({
      nodes: ids(3),
      options: MAJORITY,
      network: { delayMs: 2 },
      events: [{ atMs: 1000, command: { node: 1, do: 'stepDown' } }],
      untilMs: 2000,
      ...more,
    })

  it('takes one message to the successor and one round: 6 ms with delays of 2', () => {
    const report = handOver({})
    expect(histories(report)).toEqual([
      [1, 'elected', 'stepped down'],
      [2, 'handed over', null],
    ])
    const [first, second] = report.leaderships
    expect(first?.untilMs).toBe(1000)
    expect(second?.fromMs).toBeCloseTo(1006, 2)
    expect(second?.token).toBe(2)
  })

  it('takes no longer when a voter hears of it from the successor first', () => {
    // 2 needs the vote of 3, which receives the Release late: the Election of 2 carries the certificate.
    const report = handOver({
      network: {
        delayMs: 2,
        rules: [
          { from: 1, to: 3, kind: 'Release', delayMs: 300 },
          { from: 2, to: 1, kind: 'Election', drop: true },
        ],
      },
    })
    expect(report.leaderships[1]).toMatchObject({ node: 2, cause: 'handed over', token: 2 })
    expect(report.leaderships[1]?.fromMs).toBeCloseTo(1006, 2)
  })

  it('a node that stepped down leads again later, when it ranks first', () => {
    const report = handOver({ untilMs: 4000 })
    // It ranks low for 20 lock times.
    expect(leadersIn(report)).toEqual([1, 2, 1])
    expect(report.leaderships[2]?.fromMs).toBeGreaterThan(3000)
  })

  it('works in local mode too', () => {
    const report = handOver({ options: LOCAL })
    expect(histories(report).slice(0, 2)).toEqual([
      [1, 'elected', 'stepped down'],
      [2, 'handed over', null],
    ])
  })

  it('is refused by a node that does not lead', () => {
    const report = handOver({ events: [{ atMs: 1000, command: { node: 2, do: 'stepDown' } }] })
    expect(histories(report)).toEqual([[1, 'elected', null]])
  })
})

describe('a large group, on a tree', () => {
  it('hands over to the next in rank, although it does not hear the nodes without heartbeats', () => {
    for (const seed of sized([1], [1, 4, 9])) {
      const report = run(
        {
          nodes: ids(100),
          options: MAJORITY,
          network: { delayMs: [0.02, 5] },
          seed,
          events: [{ atMs: 300, command: { node: 1, do: 'stepDown' } }],
          untilMs: 450,
        },
        false,
      )
      expect(leadersIn(report)).toEqual([1, 2])
      expect(report.leaderships[1]?.fromMs).toBeLessThan(300 + 25)
    }
  })
})
