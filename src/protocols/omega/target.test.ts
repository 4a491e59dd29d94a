/** What a node proposes and accepts, case by case, for node 2. */
import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import { RULES } from './rules.ts'
import { byWeight, type OmegaSettings } from './settings.ts'
import {
  BRAND_NEW,
  type Link,
  type Members,
  type OmegaState,
  type OmegaView,
  type Pending,
  type Proposal,
  type Status,
} from './state.ts'
import {
  isAcceptable,
  isAccepted,
  isCurrent,
  isHeldUp,
  isStale,
  isTorn,
  proposerOf,
  type RuleContext,
  shouldTakeOver,
  targetOf,
} from './target.ts'

const contextWith = (change: Partial<OmegaSettings> = {}): RuleContext => {
  const settings: OmegaSettings = {
    quorum: 'dynamic',
    tie: false,
    reinit: 'never',
    filter: false,
    weights: {},
    rules: RULES,
    ...change,
  }
  return { identity: { self: 2, nodes: [1, 2, 3, 4] }, settings, rank: byWeight(settings.weights) }
}
const CONTEXT = contextWith()
const of = (...ids: readonly NodeId[]): Members => ids.map((id) => [id, 1] as const)
const view = (n: number, leader: NodeId, ...ids: readonly NodeId[]): OmegaView => ({
  id: [n, leader],
  members: of(...ids),
})
const FIRST = view(1, 1, 1, 2, 3)
const link = (peer: NodeId, change: Partial<Status> | null = {}, more: Partial<Link> = {}): Link => ({
  peer,
  status:
    change === null
      ? null
      : {
          life: 1,
          ok: true,
          view: FIRST,
          promised: 1,
          formed: FIRST,
          attempts: [],
          links: [],
          torn: false,
          aside: false,
          ...change,
        },
  pending: null,
  accepted: 0,
  ...more,
})
const state = (change: Partial<OmegaState> = {}): OmegaState => ({
  ...BRAND_NEW,
  life: 1,
  view: FIRST,
  formed: FIRST,
  promised: [1, 1],
  ok: true,
  willing: true,
  isIneligible: false,
  links: [link(1), link(3)],
  proposal: null,
  ...change,
})

describe('the target', () => {
  it('is the node and all peers that it is linked with, under their lives', () => {
    expect(targetOf(CONTEXT, state())).toEqual(of(1, 2, 3))
    expect(targetOf(CONTEXT, state({ links: [link(3), link(1, { life: 4, ok: false })] }))).toEqual([
      [1, 4],
      [2, 1],
      [3, 1],
    ])
  })
  it('is unknown while a peer has not sent its status, or is alive outside the view', () => {
    expect(targetOf(CONTEXT, state({ links: [link(1), link(3, null)] }))).toBeNull()
    expect(targetOf(CONTEXT, state({ links: [link(4)] }))).toBeNull()
    expect(targetOf(CONTEXT, state({ ok: false, links: [link(4)] }))).toEqual(of(2, 4))
  })
  it('leaves out dead nodes that are not linked with all others, with the filter', () => {
    const filtering = contextWith({ filter: true })
    const dead = (links: readonly NodeId[], torn = false) =>
      targetOf(filtering, state({ links: [link(1), link(3), link(4, { ok: false, links, torn })] }))
    expect(dead([1, 3])).toEqual(of(1, 2, 3, 4))
    expect(dead([1])).toEqual(of(1, 2, 3))
    expect(dead([1, 3], true)).toEqual(of(1, 2, 3))
  })
})

describe('the proposer', () => {
  it('is the least living member', () => {
    expect(proposerOf(CONTEXT, state(), of(1, 2, 3))).toBe(1)
    expect(proposerOf(CONTEXT, state(), of(2, 3))).toBe(2)
    expect(proposerOf(CONTEXT, state({ ok: false }), of(2, 3))).toBe(3)
  })
  it('compares weights before ids', () => {
    expect(proposerOf(contextWith({ weights: { 3: -1 } }), state(), of(1, 2, 3))).toBe(3)
  })
  it('is eligible if any living member is', () => {
    expect(proposerOf(CONTEXT, state({ links: [link(1, { aside: true }), link(3)] }), of(1, 2, 3))).toBe(2)
    expect(proposerOf(CONTEXT, state({ isIneligible: true, links: [link(3)] }), of(2, 3))).toBe(3)
  })
  it.each<[OmegaSettings['reinit'], Members, NodeId | null]>([
    ['never', of(2, 3), null],
    ['all', of(2, 3), null],
    ['all', of(1, 2, 3, 4), 1],
    ['quorum', of(2, 3), 2],
  ])('of dead nodes follows the option reinit = %s for %j: %j', (reinit, members, proposer) => {
    const dead = state({ ok: false, links: [link(3, { ok: false })] })
    expect(proposerOf(contextWith({ reinit }), dead, members)).toBe(proposer)
  })
})

describe('a view that is held up', () => {
  const held = (attempt: OmegaView, formed = FIRST, target = of(1, 2, 3)) =>
    isHeldUp(state({ attempts: [attempt], formed }), target, FIRST)

  it('has an attempt of an absent proposer', () => {
    expect(held(view(2, 4, 2, 4))).toBe(true)
    expect(held(view(2, 3, 2, 3))).toBe(false)
    expect(held(view(2, 1, 1, 2), FIRST, of(2, 3))).toBe(false)
  })
  it('has an attempt that was overtaken', () => {
    expect(held(view(2, 3, 2, 3), view(3, 3, 2, 3))).toBe(true)
  })
  it('is not held up by attempts before it', () => {
    expect(held(view(1, 0, 2, 3))).toBe(false)
  })
  it('may be held up by the attempt of a peer', () => {
    const links = [link(1, { attempts: [view(2, 4, 1, 4)] })]
    expect(isHeldUp(state({ links }), of(1, 2), FIRST)).toBe(true)
  })
})

describe('the leader of a view', () => {
  it('is replaced if it is ineligible and this node is not', () => {
    const links = [link(1, { aside: true })]
    expect(shouldTakeOver(CONTEXT, state({ links }), FIRST)).toBe(true)
    expect(shouldTakeOver(CONTEXT, state({ links, isIneligible: true }), FIRST)).toBe(false)
    expect(shouldTakeOver(CONTEXT, state(), FIRST)).toBe(false)
    expect(shouldTakeOver(CONTEXT, state({ isIneligible: false, links: [] }), view(1, 2, 2))).toBe(false)
  })
})

describe('a candidacy', () => {
  const pending = (members: Members, base = FIRST.id): Pending => ({ n: 5, members, base, isAnswered: false })
  const acceptable = (given: Pending, change: Partial<OmegaState> = {}, peer: NodeId = 1) =>
    isAcceptable(CONTEXT, state(change), peer, given, targetOf(CONTEXT, state(change)))

  it('is acceptable from the proposer of the same members, from the same view', () => {
    expect(acceptable(pending(of(1, 2, 3)))).toBe(true)
    expect(acceptable(pending(of(1, 2)))).toBe(false)
    expect(acceptable(pending(of(1, 2, 3)), {}, 3)).toBe(false)
    expect(acceptable(pending(of(1, 2, 3), [9, 1]))).toBe(false)
    expect(acceptable(pending(of(1, 2, 3), [9, 1]), { ok: false })).toBe(true)
    expect(acceptable(pending(of(1, 2, 3)), { links: [link(1), link(3, null)] })).toBe(false)
  })
  it('may leave out dead peers, with the filter', () => {
    const filtering = contextWith({ filter: true })
    const dead = state({ links: [link(1), link(3), link(4, { ok: false })] })
    const judge = (members: Members) =>
      isAcceptable(filtering, dead, 1, pending(members), targetOf(filtering, dead))
    expect([judge(of(1, 2, 3)), judge(of(1, 2, 3, 4)), judge(of(1, 2))]).toEqual([true, true, false])
  })
})

describe('the own proposal', () => {
  const proposal = (change: Partial<Proposal> = {}): Proposal => ({
    n: 5,
    members: of(2, 3),
    base: FIRST.id,
    accepts: [],
    isAttempt: false,
    ...change,
  })
  const accept = { peer: 3, formed: FIRST, attempts: [], recorded: false }
  const own = (change: Partial<OmegaState> = {}): OmegaState =>
    state({ links: [link(3)], promised: [5, 2], proposal: proposal(), ...change })
  const current = (given: Proposal, change: Partial<OmegaState> = {}) =>
    isCurrent(CONTEXT, own(change), given, of(2, 3))

  it('is current while target and view stay the same, and no peer needs a higher number', () => {
    expect(current(proposal())).toBe(true)
    expect(current(proposal({ members: of(1, 2, 3) }))).toBe(false)
    expect(current(proposal({ base: [9, 1] }))).toBe(false)
    expect(current(proposal(), { links: [link(3, { promised: 5 })] })).toBe(false)
    expect(current(proposal({ accepts: [accept] }), { links: [link(3, { promised: 5 })] })).toBe(true)
  })
  it('is over if a member withdraws from an attempt', () => {
    expect(current(proposal({ isAttempt: true }))).toBe(false)
    expect(current(proposal({ isAttempt: true, accepts: [accept] }))).toBe(true)
    expect([isAccepted(proposal()), isAccepted(proposal({ accepts: [accept] }))]).toEqual([false, true])
  })
})

describe('a promise of a newer view', () => {
  const stale = (change: Partial<OmegaState>, context = CONTEXT) => isStale(context, state(change), [5, 3])

  it('whose proposer is gone makes earlier ones stale', () => {
    expect(stale({ promised: [5, 3] })).toBe(false)
    expect(stale({ promised: [6, 1], links: [link(1, {}, { accepted: 6 })] })).toBe(false)
    expect(stale({ promised: [6, 1], links: [link(1)] })).toBe(true)
    expect(stale({ promised: [6, 2], proposal: null })).toBe(true)
    expect(stale({ promised: [6, 1], links: [] }, contextWith({ quorum: 'static' }))).toBe(false)
  })
})

it('a dead node is torn between living nodes of two views', () => {
  const other = view(2, 3, 3, 4)
  expect(isTorn(state({ ok: false, links: [link(1), link(3, { view: other })] }))).toBe(true)
  expect(isTorn(state({ ok: false, links: [link(1), link(3)] }))).toBe(false)
  expect(isTorn(state({ ok: false, links: [link(1), link(3, { view: other, ok: false })] }))).toBe(false)
  expect(isTorn(state({ links: [link(1), link(3, { view: other })] }))).toBe(false)
})
