/**
 * The assertions of Garcia-Molina and Stoller, and those of the ring: each on a violating trace and on a near
 * miss.
 */
import { describe, expect, it } from 'vitest'
import type { NodeId, PlainObject } from '../../../core/index.ts'
import type { Connected, Observation } from '../../trace/index.ts'
import { type Judgement, type RunFacts, specNamed } from '../index.ts'
import { graphOf, leastCliqueCover, maximalCliques } from './graphs.ts'

const RUN: RunFacts = { nodes: [1, 2, 3, 4, 5], prefers: 'highest', constants: {} }

function judge(name: string, observations: readonly Observation[]): Judgement {
  const spec = specNamed(name)
  if (spec === null) throw new Error(`no specification ${name}`)
  let memory = spec.fold.begin(RUN)
  let judgement: Judgement = 'not concerned'
  for (const seen of observations) {
    memory = spec.fold.next(memory, seen)
    judgement = spec.judge(memory, seen, RUN)
  }
  return judgement
}

function view(node: NodeId, leader: NodeId | null, detail: PlainObject, at = 0): Observation {
  const role = leader === node ? 'leader' : leader === null ? 'candidate' : 'follower'
  return {
    type: 'view',
    at,
    node,
    until: null,
    view: { role, leader, token: null, until: null, members: null, detail },
  }
}
const inGroup = (node: NodeId, group: readonly [NodeId, number], status = 'Normal', d: NodeId = group[0]) =>
  view(node, status === 'Normal' ? group[0] : null, { status, group, d })
const under = (node: NodeId, coordinator: NodeId, status = 'Normal', d: NodeId = coordinator) =>
  view(node, status === 'Normal' ? coordinator : null, { status, coordinator, d })
const down = (node: NodeId): Observation => ({ type: 'down', at: 0, node })
const disturbed = (at: number): Observation => ({ type: 'disturbed', at })
const settled = (connected: Connected = 'full', at = 0): Observation => ({ type: 'settled', at, connected })

describe('assertion-1', () => {
  it('rejects two coordinators, already in Reorganization, and two tasks', () => {
    expect(judge('assertion-1', [under(1, 3), under(2, 2, 'Reorganization')])).toEqual({
      violated: '1 has coordinator 3, 2 has 2',
    })
    expect(judge('assertion-1', [under(1, 3, 'Normal', 3), under(2, 3, 'Normal', 2)])).toEqual({
      violated: '1 works on the task of 3, 2 on that of 2',
    })
  })
  it('ignores nodes in Election and crashed nodes', () => {
    expect(judge('assertion-1', [under(1, 3), under(4, 3), under(2, 2, 'Election')])).toBe('held')
    expect(judge('assertion-1', [under(1, 3), under(4, 3), under(2, 2), down(2), under(5, 3)])).toBe('held')
  })
})

describe('assertion-2', () => {
  it('rejects a node that is not Normal, and a group without a leader', () => {
    expect(judge('assertion-2', [under(3, 3), under(2, 3, 'Reorganization'), settled()])).toEqual({
      violated: '2 is Reorganization under 3, not Normal under 3',
    })
    expect(judge('assertion-2', [under(2, 3), under(1, 3), settled()])).toEqual({
      violated: 'no node is Normal and its own coordinator',
    })
  })
  it('accepts all nodes Normal under one of them', () => {
    expect(judge('assertion-2', [under(3, 3), under(2, 3), settled()])).toBe('held')
  })
})

describe('assertion-3', () => {
  it('rejects two tasks in one group, which the printed form cannot', () => {
    expect(judge('assertion-3', [inGroup(1, [3, 2], 'Normal', 3), inGroup(2, [3, 2], 'Normal', 9)])).toEqual({
      violated: '2 and 1 are in group 3.2 but not under one task',
    })
  })
  it('accepts other tasks in other groups of the same coordinator, and a task not yet given', () => {
    expect(judge('assertion-3', [inGroup(1, [3, 2], 'Normal', 3), inGroup(2, [3, 1], 'Normal', 9)])).toBe(
      'not concerned',
    )
    expect(
      judge('assertion-3', [inGroup(1, [3, 2], 'Normal', 3), inGroup(2, [3, 2], 'Reorganization', 9)]),
    ).toBe('held')
  })
})

describe('group-numbers', () => {
  const made = (coordinator: NodeId, counter: number): Observation => ({
    type: 'output',
    at: 0,
    node: coordinator,
    event: { type: 'group', coordinator, counter },
  })
  it('rejects only a number that is used twice', () => {
    expect(judge('group-numbers', [made(3, 1), made(3, 2), made(3, 1)])).toEqual({
      violated: 'group 3.1 was made twice',
    })
    expect(judge('group-numbers', [made(3, 1), made(2, 1), made(3, 2)])).toBe('held')
  })
})

describe("assertions 4 and 4'", () => {
  const path: Connected = [
    [1, 2],
    [2, 3],
  ]
  const stoller = [inGroup(1, [2, 1]), inGroup(2, [2, 1]), inGroup(3, [3, 1]), settled(path)]
  it("differ on Stoller's three nodes", () => {
    expect(judge('assertion-4', stoller)).toEqual({ violated: 'in {2, 3}, 2 leads but 3 follows 3' })
    expect(judge("assertion-4'", stoller)).toBe('held')
  })
  it('both accept connected nodes in one group', () => {
    const one = [inGroup(1, [3, 1]), inGroup(2, [3, 1]), inGroup(3, [3, 1]), settled()]
    expect([judge('assertion-4', one), judge("assertion-4'", one)]).toEqual(['held', 'held'])
  })
  it("4' rejects too many groups, a missing leader, an unreachable leader, and a node that is not Normal", () => {
    const alone = [inGroup(1, [1, 1]), inGroup(2, [2, 1]), inGroup(3, [3, 1])]
    expect(judge("assertion-4'", [...alone, settled(path)])).toEqual({
      violated: 'there are 3 groups, and 2 cliques would cover all',
    })
    expect(judge("assertion-4'", [inGroup(1, [9, 1]), settled()])).toEqual({
      violated: '1 follows 9, which is down',
    })
    const outOfReach = [inGroup(1, [3, 1]), inGroup(2, [3, 1]), inGroup(3, [3, 1]), settled(path)]
    expect(judge("assertion-4'", outOfReach)).toEqual({ violated: '1 follows 3, with which it cannot talk' })
    expect(judge("assertion-4'", [inGroup(1, [1, 1], 'Election'), settled()])).toEqual({
      violated: '1 is in Election',
    })
  })
})

describe('independent-leaders', () => {
  const path: Connected = [
    [1, 2],
    [2, 3],
  ]
  it('rejects two connected leaders, and a node that reaches none', () => {
    const two = [inGroup(1, [1, 1]), inGroup(2, [2, 1]), inGroup(3, [2, 1]), settled(path)]
    expect(judge('independent-leaders', two)).toEqual({
      violated: '1 and 2 both lead, and can talk to each other',
    })
    const lost = [inGroup(1, [1, 1]), inGroup(2, [1, 1]), inGroup(3, [1, 1]), settled(path)]
    expect(judge('independent-leaders', lost)).toEqual({ violated: '3 can talk to no leader' })
  })
  it('accepts several leaders that are not connected', () => {
    expect(
      judge('independent-leaders', [
        inGroup(1, [1, 1]),
        inGroup(2, [1, 1]),
        inGroup(3, [3, 1]),
        settled(path),
      ]),
    ).toBe('held')
  })
})

describe('settles', () => {
  const turn = (at: number): readonly Observation[] => [view(1, 2, {}, at), view(1, 3, {}, at + 400)]
  it('rejects leaders that keep changing, and reports the period', () => {
    const round = [0, 1000, 2000, 3000].flatMap((at) => turn(5000 + at))
    expect(
      judge('settles', [view(1, 3, {}), settled('full', 4000), ...round, settled('full', 9000)]),
    ).toEqual({
      violated:
        'livelock: 8 changes of leader since 4 ms, when all should have settled, repeating every 1 ms',
    })
  })
  it('accepts changes before settling and after a disturbance', () => {
    expect(judge('settles', [...turn(0), ...turn(1000), settled('full', 4000), settled('full', 9000)])).toBe(
      'held',
    )
    expect(judge('settles', [settled('full', 1), disturbed(2), ...turn(3), settled('full', 9000)])).toBe(
      'held',
    )
  })
})

describe('the ring', () => {
  const elected = (node: NodeId, leader: NodeId | null, load = 0): Observation => view(node, leader, { load })
  it('safety rejects two results, and a result that is not the largest', () => {
    expect(judge('ring-safety', [elected(1, 2), elected(2, 2), elected(3, 3), settled()])).toEqual({
      violated: '1 has elected 2 but 3 has elected 3',
    })
    expect(judge('ring-safety', [elected(2, 2), elected(3, 2), settled()])).toEqual({
      violated: '2 is elected, yet 3 has the largest identifier',
    })
  })
  it('safety compares loads first', () => {
    expect(judge('ring-safety', [elected(2, 2, 1), elected(3, 2, 5), settled()])).toBe('held')
  })
  it('liveness rejects a node without a leader, once an election has started', () => {
    expect(judge('ring-liveness', [elected(1, 2), elected(2, 2), elected(3, null), settled()])).toEqual({
      violated: '3 has no leader',
    })
    const idle: Observation = {
      type: 'view',
      at: 0,
      node: 1,
      until: null,
      view: { role: 'follower', leader: null, token: null, until: null, members: null, detail: { load: 0 } },
    }
    expect(judge('ring-liveness', [idle, settled()])).toBe('not concerned')
    expect(judge('ring-liveness', [elected(1, 2), elected(2, 2), settled()])).toBe('held')
    const crash: Observation = { type: 'down', at: 2, node: 2 }
    expect(judge('ring-liveness', [elected(1, 2), elected(2, 2), crash, settled()])).toEqual({
      violated: '1 follows 2, which is down',
    })
  })
})

describe('graphs', () => {
  const cycle = (n: number): Connected =>
    Array.from({ length: n }, (_, index) => [index + 1, ((index + 1) % n) + 1] as const)
  const nodes = (n: number) => Array.from({ length: n }, (_, index) => index + 1)
  it('least clique covers: cycles, cliques, nothing', () => {
    expect([3, 4, 5, 6, 7].map((n) => leastCliqueCover(graphOf(nodes(n), cycle(n))))).toEqual([1, 2, 3, 3, 4])
    expect(leastCliqueCover(graphOf(nodes(10), 'full'))).toBe(1)
    expect(leastCliqueCover(graphOf(nodes(6), []))).toBe(6)
  })
  it('maximal cliques', () => {
    expect(
      maximalCliques(
        graphOf(nodes(3), [
          [1, 2],
          [2, 3],
        ]),
      ),
    ).toEqual([
      [1, 2],
      [2, 3],
    ])
    expect(maximalCliques(graphOf(nodes(4), 'full'))).toEqual([[1, 2, 3, 4]])
  })
})
