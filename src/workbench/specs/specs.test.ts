/** Each specification on a violating trace and on a legal near miss. */
import { describe, expect, it } from 'vitest'
import type { NodeId, Role } from '../../core/index.ts'
import type { Connected, Observation } from '../trace/index.ts'
import { goalNamed, goals, type Judgement, monitor, type RunFacts, specNamed, specs, Watch } from './index.ts'

const RUN: RunFacts = { nodes: [1, 2, 3], prefers: 'highest', constants: {} }

function view(node: NodeId, role: Role, leader: NodeId | null): Observation {
  const seen = { role, leader, token: null, until: null, members: null, detail: null }
  return { type: 'view', at: 0, node, view: seen, until: null }
}
const leads = (node: NodeId): Observation => view(node, 'leader', node)
const follows = (node: NodeId, leader: NodeId): Observation => view(node, 'follower', leader)
const searches = (node: NodeId): Observation => view(node, 'candidate', null)
const down = (node: NodeId): Observation => ({ type: 'down', at: 0, node })
const up = (node: NodeId): Observation => ({ type: 'up', at: 0, node })
const settled = (connected: Connected = 'full'): Observation => ({ type: 'settled', at: 5000, connected })

/** The judgement of the last observation. */
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

describe('agreement', () => {
  it('rejects two that settled on different leaders', () => {
    expect(judge('agreement', [leads(3), follows(2, 3), follows(1, 2), settled()])).toEqual({
      violated: '1 follows 2 but 2 follows 3',
    })
  })
  it('accepts disagreement before things have settled', () => {
    expect(judge('agreement', [leads(3), follows(2, 3), follows(1, 2)])).toBe('not concerned')
    expect(judge('agreement', [leads(3), follows(1, 2), follows(1, 3), settled()])).toBe('held')
  })
  it('ignores nodes that are down or have no leader', () => {
    expect(judge('agreement', [leads(3), follows(1, 2), down(1), settled()])).toBe('held')
    expect(judge('agreement', [leads(3), follows(1, 2), searches(1), settled()])).toBe('held')
  })
  it('says nothing of a world that is not connected', () => {
    expect(judge('agreement', [leads(3), follows(1, 2), settled([[2, 3]])])).toBe('not concerned')
  })
})

describe('maximality', () => {
  it('rejects a leader that is not the highest alive', () => {
    expect(judge('maximality', [leads(2), follows(1, 2), searches(3), settled()])).toEqual({
      violated: '1 follows 2, yet 3 is alive and preferred',
    })
  })
  it('accepts a lower leader once the higher one is down', () => {
    expect(judge('maximality', [leads(2), follows(1, 2), searches(3), down(3), settled()])).toBe('held')
  })
  it('prefers the lowest where the protocol does', () => {
    const lowest: RunFacts = { ...RUN, prefers: 'lowest' }
    expect(judge('maximality', [leads(1), follows(2, 1), settled()], lowest)).toBe('held')
    expect(judge('maximality', [leads(2), follows(1, 2), settled()], lowest)).not.toBe('held')
  })
})

describe('live-leader', () => {
  const good = [leads(3), follows(2, 3), follows(1, 3)]
  it('accepts nodes that all follow a running leader', () => {
    expect(judge('live-leader', [...good, settled()])).toBe('held')
  })
  it('rejects a crashed leader, which the lecture would accept', () => {
    expect(judge('live-leader', [...good, down(3), settled()])).toEqual({
      violated: '1 follows 3, which is down',
    })
  })
  it('rejects a node without a leader, also a node that has just started', () => {
    expect(judge('live-leader', [...good, searches(2), settled()])).toEqual({ violated: '2 has no leader' })
    expect(judge('live-leader', [...good, down(2), up(2), settled()])).toEqual({
      violated: '2 has no leader',
    })
  })
  it('rejects a node that follows a follower', () => {
    expect(judge('live-leader', [leads(3), follows(2, 3), follows(1, 2), settled()])).toEqual({
      violated: '1 follows 2, which does not lead but is follower',
    })
  })
})

describe('one-leader', () => {
  it('rejects two that lead at once, even for a moment', () => {
    expect(judge('one-leader', [leads(3), leads(2)])).toEqual({ violated: '2 and 3 lead at the same time' })
  })
  it('accepts one after another', () => {
    expect(judge('one-leader', [leads(3), follows(3, 2), leads(2)])).toBe('held')
    expect(judge('one-leader', [leads(3), down(3), leads(2)])).toBe('held')
  })
})

describe('goals', () => {
  const reached = (name: string, before: readonly Observation[], seen: Observation): boolean => {
    const goal = goalNamed(name)
    if (goal === null) throw new Error(`no goal ${name}`)
    return goal.reached(
      before.reduce((memory, each) => goal.fold.next(memory, each), goal.fold.begin(RUN)),
      seen,
    )
  }
  it('elected: not by leading from the start, but by coming to lead', () => {
    expect(reached('elected', [up(3)], leads(3))).toBe(false)
    expect(reached('elected', [searches(3)], leads(3))).toBe(true)
    expect(reached('elected', [leads(3)], leads(3))).toBe(false)
  })
  it('leader-changed: by demotion or by a crash of the leader', () => {
    expect(reached('leader-changed', [leads(3)], follows(3, 2))).toBe(true)
    expect(reached('leader-changed', [leads(3)], down(3))).toBe(true)
    expect(reached('leader-changed', [leads(3)], down(2))).toBe(false)
  })
})

describe('a watch', () => {
  it('counts judgements, keeps the first violation and its time, and tells vacuous from held', () => {
    const first = specs.slice(0, 4)
    const watch = new Watch(monitor(first, goals, RUN))
    for (const seen of [searches(1), leads(3), follows(2, 3), follows(1, 2)]) watch.observe(seen)
    expect(watch.verdicts().map(({ name, verdict }) => [name, verdict])).toEqual([
      ['agreement', 'vacuous'],
      ['maximality', 'vacuous'],
      ['live-leader', 'vacuous'],
      ['one-leader', 'held'],
    ])
    watch.observe(settled())
    watch.observe(follows(1, 3))
    watch.observe({ ...settled(), at: 9000 })
    expect(watch.violated).toBe(true)
    expect(watch.verdicts()[0]).toEqual({
      name: 'agreement',
      verdict: 'violated',
      atMs: 5,
      why: '1 follows 2 but 2 follows 3',
    })
  })

  it('has distinct names in its catalogue', () => {
    const names = [...specs, ...goals].map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
})
