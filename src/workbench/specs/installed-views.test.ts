/** Promises about views of living nodes: each on a violating trace and on a legal near miss. */
import { describe, expect, it } from 'vitest'
import type { NodeId, PlainObject, Role } from '../../core/index.ts'
import type { Connected, Observation } from '../trace/index.ts'
import { goalNamed, type Judgement, type RunFacts, specNamed } from './index.ts'

const RUN: RunFacts = { nodes: [1, 2, 3, 4], prefers: 'lowest', constants: {} }
const DYNAMIC: RunFacts = { ...RUN, constants: { dynamicQuorum: 1 } }
const STATIC: RunFacts = { ...RUN, constants: { staticQuorum: 1 } }

type Life = readonly [NodeId, number]
const alive = (node: NodeId, id: readonly [number, NodeId], ...members: readonly Life[]): Observation =>
  stands(
    node,
    id[1] === node ? 'leader' : 'follower',
    members.find(([each]) => each === node)?.[1] ?? 1,
    id,
    members,
  )
const dead = (node: NodeId, life: number): Observation => stands(node, 'dead', life, null, [])

function stands(
  node: NodeId,
  role: Role,
  life: number,
  id: readonly [number, NodeId] | null,
  members: readonly Life[],
  attempts: readonly PlainObject[] = [],
): Observation {
  const ids = members.map(([each]) => each)
  const view = id === null ? null : { id, members: ids, lives: members.map(([, each]) => each) }
  const leader = role === 'dead' ? null : (id?.[1] ?? null)
  const detail = { life, view, inQuorum: false, attempts }
  return {
    type: 'view',
    at: 0,
    node,
    view: { role, leader, token: null, until: null, members: ids, detail },
    until: null,
  }
}
const settled = (connected: Connected): Observation => ({ type: 'settled', at: 0, connected })
const promised = (
  node: NodeId,
  id: readonly [number, NodeId],
  members: readonly NodeId[] = [],
): Observation => ({
  type: 'output',
  at: 0,
  node,
  event: { type: 'promise', id, members },
})
const output = (node: NodeId, type: string, token: number, at = 0): Observation => ({
  type: 'output',
  at,
  node,
  event: { type, token },
})
const PAIR: readonly Life[] = [
  [1, 1],
  [2, 1],
]
const LINKED: Connected = [[1, 2]]

function judge(name: string, observations: readonly Observation[], run: RunFacts = RUN): Judgement {
  const spec = specNamed(name)
  if (spec === null) throw new Error(`no specification ${name}`)
  let memory = spec.fold.begin(run)
  let judgement: Judgement = 'not concerned'
  for (const seen of observations) {
    memory = spec.fold.next(memory, seen)
    judgement = spec.judge(memory, seen, run)
  }
  return judgement
}

describe('omega-views', () => {
  it('rejects one id for two memberships, of nodes or of incarnations', () => {
    expect(judge('omega-views', [alive(1, [2, 1], ...PAIR), alive(2, [2, 1], [1, 1], [2, 2])])).toEqual({
      violated: '2 has view 2.1 of 1, 2 (life 2), but others view 2.1 of 1, 2',
    })
    expect(judge('omega-views', [alive(1, [2, 1], ...PAIR), alive(2, [2, 2], ...PAIR)])).toBe('held')
  })
  it('rejects an id that decreases, also across a crash', () => {
    const back = [
      alive(1, [3, 1], ...PAIR),
      { type: 'down', at: 0, node: 1 } as const,
      alive(1, [2, 1], ...PAIR),
    ]
    expect(judge('omega-views', back)).toEqual({
      violated: '1 installs view 2.1 of 1, 2 after view 3.1 of 1, 2',
    })
  })
  it('rejects a leader outside its view, and a leader of another view', () => {
    expect(judge('omega-views', [alive(1, [2, 3], ...PAIR)])).toEqual({
      violated: 'the leader is not in view 2.3 of 1, 2',
    })
    expect(judge('omega-views', [stands(1, 'leader', 1, [2, 2], PAIR)])).toEqual({
      violated: '1 is leader in view 2.2 of 1, 2',
    })
  })
})

describe('omega-lives', () => {
  it('rejects a node alive in a view under another incarnation, or without a view', () => {
    expect(judge('omega-lives', [stands(1, 'leader', 2, [2, 1], PAIR)])).toEqual({
      violated: '1 is alive in life 2, but has view 2.1 of 1, 2',
    })
    expect(judge('omega-lives', [stands(1, 'leader', 1, null, [])])).toEqual({
      violated: '1 is alive without a view',
    })
  })
  it('rejects an incarnation that decreases, and a new one without a death', () => {
    expect(judge('omega-lives', [dead(1, 3), dead(1, 2)])).toEqual({
      violated: '1 goes back from life 3 to 2',
    })
    expect(judge('omega-lives', [alive(1, [1, 1], [1, 1]), alive(1, [2, 1], [1, 2])])).toEqual({
      violated: '1 goes from life 1 to 2 without having died',
    })
  })
  it('accepts a death and a release', () => {
    expect(judge('omega-lives', [alive(1, [1, 1], [1, 1]), dead(1, 2), alive(1, [2, 1], [1, 2])])).toBe(
      'held',
    )
  })
})

describe('connected-leaders', () => {
  const two = [alive(1, [2, 1], [1, 1], [3, 1]), alive(2, [2, 2], [2, 1], [4, 1])]
  it('rejects two linked leaders once the world is settled or nothing is in flight between them', () => {
    expect(judge('connected-leaders', [...two, settled(LINKED)])).toEqual({
      violated: '1 and 2 both lead, and are linked',
    })
    expect(judge('connected-leaders', [...two, { type: 'quiet', at: 0, between: [1, 2] }])).not.toBe('held')
  })
  it('accepts two separated leaders, and two that have yet to hear of each other', () => {
    expect(judge('connected-leaders', [...two, settled([[1, 3]])])).toBe('held')
    expect(judge('connected-leaders', two)).toBe('not concerned')
  })
})

describe('weak-liveness', () => {
  const view = (node: NodeId): Observation => alive(node, [2, 1], ...PAIR)
  it('rejects a node left dead, different views, and a live node alone', () => {
    expect(judge('weak-liveness', [view(1), dead(2, 2), settled(LINKED)])).toEqual({
      violated: '2 is left dead, though 1, 2 are all linked',
    })
    expect(judge('weak-liveness', [view(1), alive(2, [3, 2], ...PAIR), settled(LINKED)])).toEqual({
      violated: '1 and 2 are in different views of the same nodes',
    })
    expect(judge('weak-liveness', [view(1), settled([])])).toEqual({ violated: '1 is alone, and alive' })
  })
  it('does not depend on the order of the nodes', () => {
    const run: RunFacts = { ...RUN, nodes: [4, 2, 3, 1] }
    expect(judge('weak-liveness', [view(2), view(1), settled(LINKED)], run)).toBe('held')
  })
  it('requires nothing of a component that is not fully linked, or where all are dead and may not begin again', () => {
    const chain: Connected = [
      [1, 2],
      [2, 3],
    ]
    expect(judge('weak-liveness', [view(1), dead(2, 2), dead(3, 2), settled(chain)])).toBe('not concerned')
    expect(judge('weak-liveness', [dead(1, 2), dead(2, 2), settled(LINKED)])).toBe('not concerned')
    const quorum: RunFacts = { ...RUN, constants: { reinitQuorum: 1 } }
    expect(judge('weak-liveness', [dead(1, 2), dead(2, 2), settled(LINKED)], quorum)).not.toBe('held')
  })
  it('requires nothing of nodes without a quorum: of all, of the last view, or of an attempt', () => {
    const four: readonly Life[] = [1, 2, 3, 4].map((id) => [id, 1])
    const halves = [alive(1, [1, 1], ...four), alive(2, [1, 1], ...four), settled(LINKED)]
    expect(judge('weak-liveness', halves, STATIC)).toBe('not concerned')
    expect(judge('weak-liveness', halves, DYNAMIC)).toBe('not concerned')
    expect(judge('weak-liveness', halves, { ...RUN, constants: { dynamicQuorum: 1, tie: 1 } })).not.toBe(
      'held',
    )
    const attempt = { id: [3, 3], members: [1, 2, 3, 4] }
    const open = [
      stands(1, 'dead', 2, [2, 1], PAIR, [attempt]),
      stands(2, 'follower', 1, [2, 1], PAIR, [attempt]),
      settled(LINKED),
    ]
    const all = [1, 2, 3, 4].map((node) => promised(node, [3, 3], [1, 2, 3, 4]))
    expect(judge('weak-liveness', [...all, ...open], DYNAMIC)).toBe('not concerned')
    // No node can have installed it: 4 never promised it.
    expect(judge('weak-liveness', [...all.slice(0, 3), ...open], DYNAMIC)).not.toBe('not concerned')
  })
  it('with filter, accepts no half-linked outsider as an excuse', () => {
    const chain: Connected = [
      [1, 2],
      [2, 3],
    ]
    const old: readonly Life[] = [...PAIR, [4, 1]]
    const held = [alive(1, [1, 1], ...old), alive(2, [1, 1], ...old), dead(3, 2), settled(chain)]
    expect(judge('weak-liveness', held)).toBe('not concerned')
    expect(judge('filtered-liveness', held)).toEqual({
      violated: '1, 2 are all linked, but 1 has view 1.1 of 1, 2, 4',
    })
    expect(judge('filtered-liveness', [view(1), view(2), dead(3, 2), settled(chain)])).toBe('held')
  })
})

describe('one-acting-leader', () => {
  it('rejects two applications that lead, once settled', () => {
    const both = [output(1, 'elected', 10_001), output(3, 'elected', 30_003)]
    expect(judge('one-acting-leader', [...both, settled('full')], DYNAMIC)).toEqual({
      violated: '1 (token 10001) and 3 (token 30003) both lead, and nothing more will happen',
    })
    expect(judge('one-acting-leader', both, DYNAMIC)).toBe('not concerned')
  })
  it('accepts leaders of views without a quorum, and demoted or crashed leaders', () => {
    const roles = [alive(1, [1, 1], ...PAIR), alive(2, [2, 2], ...PAIR), output(2, 'elected', 20_002)]
    expect(judge('one-acting-leader', [...roles, settled('full')], DYNAMIC)).toBe('held')
    for (const end of [output(1, 'demoted', 10_001), { type: 'down', at: 0, node: 1 } as const]) {
      const seen = [output(1, 'elected', 10_001), output(3, 'elected', 30_003), end, settled('full')]
      expect(judge('one-acting-leader', seen, DYNAMIC)).toBe('held')
    }
  })
})

describe('superseded-leader', () => {
  const run: RunFacts = { ...RUN, constants: { linkTimeout: 500_000 } }
  const both = [output(1, 'elected', 10_001), output(3, 'elected', 30_003, 1_000_000)]
  const disturbed = (at: number, stalled: readonly NodeId[]): Observation => ({
    type: 'disturbed',
    at,
    delay: 2000,
    stalled,
  })
  it('rejects a leader that continues for longer than the link timeout after another starts', () => {
    expect(judge('superseded-leader', [...both, output(2, 'following', 0, 1_550_000)], run)).toBe('held')
    expect(judge('superseded-leader', [...both, output(2, 'following', 0, 1_560_000)], run)).toEqual({
      violated: '1 still leads with token 10001, though 3 has led with token 30003 for 560 ms',
    })
  })
  it('gives a paused leader the same time after it resumes, and more if messages take longer', () => {
    const paused = [disturbed(900_000, [1]), ...both, output(2, 'following', 0, 3_000_000)]
    expect(judge('superseded-leader', paused, run)).toBe('held')
    const resumed = (at: number) => [...paused, disturbed(3_000_000, []), output(2, 'following', 0, at)]
    expect(judge('superseded-leader', resumed(3_555_000), run)).toBe('held')
    expect(judge('superseded-leader', resumed(3_570_000), run)).not.toBe('held')
  })
})

describe('majority-of-view-leads', () => {
  const view = (node: NodeId): Observation => alive(node, [2, 1], [1, 1], [2, 1], [3, 1])
  const run: RunFacts = { ...DYNAMIC, constants: { dynamicQuorum: 1, reinitQuorum: 1 } }
  it('rejects a linked majority of the last view in which no application leads', () => {
    const formed = [view(1), view(2), view(3)]
    expect(judge('majority-of-view-leads', [...formed, settled(LINKED)], run)).toEqual({
      violated: '1, 2 are all linked and hold a majority of view 2.1 of 1, 2, 3, but none leads',
    })
    expect(judge('majority-of-view-leads', [...formed, output(2, 'elected', 1), settled(LINKED)], run)).toBe(
      'held',
    )
  })
  it('counts a view whose members are down, and ignores what nodes believe about each other', () => {
    const newer = alive(3, [5, 3], [3, 1], [4, 1])
    const seen = [view(1), view(2), newer, { type: 'down', at: 0, node: 3 } as const, settled(LINKED)]
    expect(judge('majority-of-view-leads', seen, run)).toBe('not concerned')
  })
  it('accepts an open attempt as an excuse only if it has a quorum and all members promised it', () => {
    const open = (members: readonly NodeId[]) =>
      stands(
        2,
        'follower',
        1,
        [2, 1],
        [
          [1, 1],
          [2, 1],
          [3, 1],
        ],
        [{ id: [4, 3], members }],
      )
    const by = (members: readonly NodeId[]) => members.map((node) => promised(node, [4, 3], members))
    const seen = (members: readonly NodeId[]) => [view(1), view(3), open(members), settled(LINKED)]
    expect(judge('majority-of-view-leads', [...by([2, 3, 4]), ...seen([2, 3, 4])], run)).toBe('not concerned')
    expect(judge('majority-of-view-leads', seen([2, 3, 4]), run)).not.toBe('not concerned')
    // 2 and 4 alone never had a quorum of 1, 2 and 3.
    expect(judge('majority-of-view-leads', [...by([2, 4]), ...seen([2, 4])], run)).not.toBe('not concerned')
  })
  it('requires nothing of applications that are unwilling to lead', () => {
    const unwilling = (node: NodeId): Observation => {
      const seen = view(node) as Observation & { type: 'view' }
      return { ...seen, view: { ...seen.view, detail: { ...seen.view.detail, willing: false } } }
    }
    expect(judge('majority-of-view-leads', [unwilling(1), unwilling(2), settled(LINKED)], run)).toBe(
      'not concerned',
    )
  })
})

describe('primary-chain', () => {
  it('rejects a view without a majority of its predecessor, in either order of installation', () => {
    const first = alive(1, [1, 1], [1, 1], [2, 1], [3, 1])
    const last = alive(1, [3, 1], [1, 1], [4, 1])
    expect(judge('primary-chain', [first, last], DYNAMIC)).toEqual({
      violated: 'view 3.1 of 1, 4 holds no majority of view 1.1 of 1, 2, 3',
    })
    expect(judge('primary-chain', [first, alive(1, [2, 1], [1, 1], [2, 1], [4, 1]), last], DYNAMIC)).toBe(
      'held',
    )
    expect(judge('primary-chain', [last, first], DYNAMIC)).not.toBe('held')
  })
  it('static: requires a majority of all nodes', () => {
    const formed = promised(1, [1, 1])
    expect(judge('primary-chain', [formed, alive(1, [1, 1], ...PAIR)], STATIC)).toEqual({
      violated: 'view 1.1 of 1, 2 has no majority of the 4 nodes',
    })
    expect(judge('primary-chain', [formed, alive(1, [1, 1], ...PAIR, [3, 1])], STATIC)).toBe('held')
  })
  it('static: accepts an initial minority, and no later one', () => {
    const given = alive(1, [1, 1], ...PAIR)
    expect(judge('primary-chain', [given], STATIC)).toBe('not concerned')
    expect(judge('primary-chain', [given, alive(1, [2, 1], ...PAIR)], STATIC)).not.toBe('held')
  })
})

describe('theorem-3-3-logical', () => {
  it('rejects a view that a member never promised', () => {
    const one = [promised(1, [2, 1]), alive(1, [2, 1], ...PAIR)]
    expect(judge('theorem-3-3-logical', one)).toEqual({
      violated: 'view 2.1 of 1, 2 is installed, but 2 never promised it',
    })
    expect(judge('theorem-3-3-logical', [promised(2, [2, 1]), ...one])).toBe('held')
    expect(judge('theorem-3-3-logical', [promised(2, [2, 2]), ...one])).not.toBe('held')
  })
})

function sees(
  node: NodeId,
  role: Role,
  linked: readonly NodeId[],
  suspects: readonly NodeId[],
  notes = 0,
): Observation {
  const members = role === 'dead' ? null : [1, 2, 3]
  const leader = role === 'leader' ? node : null
  const detail = { linked, suspects, notes }
  return {
    type: 'view',
    at: 0,
    node,
    view: { role, leader, token: null, until: null, members, detail },
    until: null,
  }
}
const wins = (node: NodeId): Observation => ({ type: 'output', at: 0, node, event: { type: 'elected' } })
const THREE: RunFacts = { ...RUN, nodes: [1, 2, 3] }

describe('the theorems on the printed protocols', () => {
  const all = [
    sees(1, 'follower', [2, 3], []),
    sees(2, 'follower', [1, 3], []),
    sees(3, 'follower', [1, 2], []),
  ]
  const after = [sees(1, 'leader', [2], [3]), sees(2, 'follower', [1], [3]), sees(3, 'dead', [], [])]

  it('3.1 and 3.2: one leader among the survivors, the least', () => {
    expect(judge('theorem-3-1', [...all, ...after, settled(LINKED)], THREE)).toBe('held')
    expect(judge('theorem-3-2', [...all, sees(2, 'leader', [1], [3]), settled(LINKED)], THREE)).toEqual({
      violated: 'of 1, 2, all linked, 2 lead, not 1',
    })
    expect(judge('theorem-3-1', [...all, settled('full')], THREE)).toBe('not concerned')
  })

  it('3.1 says nothing once a link has come back', () => {
    const back = [sees(1, 'follower', [2], [3]), sees(1, 'follower', [2, 3], []), sees(2, 'leader', [1], [3])]
    expect(judge('theorem-3-1', [...all, ...back, settled(LINKED)], THREE)).toBe('not concerned')
  })

  it('3.3: rejects an election over a node that all others never suspected at one instant', () => {
    const early = [...all, wins(1), sees(1, 'leader', [2], [3])]
    expect(judge('theorem-3-3', early, THREE)).toEqual({
      violated: '1 is elected over 3, which the others never suspected all at once',
    })
    const rightly = [...all, sees(2, 'follower', [1], [3]), wins(1), sees(1, 'leader', [2], [3])]
    expect(judge('theorem-3-3', rightly, THREE)).toBe('held')
  })

  it('3.3, the rest: all alive, nothing remembered', () => {
    expect(judge('theorem-3-3-rest', [...all, settled('full')], THREE)).toBe('held')
    expect(judge('theorem-3-3-rest', [...all, sees(3, 'dead', [1, 2], []), settled('full')], THREE)).toEqual({
      violated: '3 is left dead inside its component 1, 2, 3',
    })
    expect(
      judge('theorem-3-3-rest', [...all, sees(3, 'follower', [1, 2], [], 2), settled('full')], THREE),
    ).not.toBe('held')
  })
})

describe('goals', () => {
  const reached = (name: string, before: readonly Observation[], seen: Observation): boolean => {
    const goal = goalNamed(name)
    if (goal === null) throw new Error(`no goal ${name}`)
    const memory = before.reduce((folded, each) => goal.fold.next(folded, each), goal.fold.begin(RUN))
    return goal.reached(memory, seen)
  }
  it('view-installed and released distinguish a change of views from a new incarnation', () => {
    const next = alive(1, [2, 1], ...PAIR)
    expect(reached('view-installed', [alive(1, [1, 1], ...PAIR)], next)).toBe(true)
    expect(reached('released', [alive(1, [1, 1], ...PAIR)], next)).toBe(false)
    expect(reached('released', [dead(1, 1)], next)).toBe(true)
    expect(reached('view-installed', [dead(1, 1)], next)).toBe(false)
  })
})
