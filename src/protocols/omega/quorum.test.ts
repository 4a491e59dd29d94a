/** The quorum rules, case by case, for node 1. */
import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import {
  electorateSize,
  findBindingViews,
  findMissingQuorum,
  hasQuorum,
  isInQuorum,
  isSupporting,
  learn,
  pruneOvertaken,
} from './quorum.ts'
import { RULES } from './rules.ts'
import type { OmegaSettings } from './settings.ts'
import {
  type Accept,
  BRAND_NEW,
  type Link,
  NO_VIEW,
  type OmegaState,
  type OmegaView,
  type Proposal,
  type Status,
} from './state.ts'

const NODES = [1, 2, 3, 4, 5]
const IDENTITY = { self: 1, nodes: NODES }
const SETTINGS: OmegaSettings = {
  quorum: 'dynamic',
  tie: false,
  reinit: 'quorum',
  filter: false,
  weights: {},
  rules: RULES,
}
const view = (n: number, leader: NodeId, ...members: readonly NodeId[]): OmegaView => ({
  id: [n, leader],
  members: members.map((id) => [id, 1] as const),
})
const ALL = view(1, 1, ...NODES)
const status = (change: Partial<Status> = {}): Status => ({
  life: 1,
  ok: true,
  view: ALL,
  promised: 1,
  formed: ALL,
  attempts: [],
  links: [],
  torn: false,
  aside: false,
  ...change,
})
const link = (peer: NodeId, change: Partial<Status> | null = {}): Link => ({
  peer,
  status: change === null ? null : status(change),
  pending: null,
  accepted: 0,
})
const state = (change: Partial<OmegaState> = {}): OmegaState => ({
  ...BRAND_NEW,
  life: 1,
  view: ALL,
  formed: ALL,
  ok: true,
  willing: true,
  isIneligible: false,
  links: [],
  proposal: null,
  ...change,
})
const report = (peer: NodeId, formed: OmegaView, attempts: readonly OmegaView[] = [], own = formed) => ({
  peer,
  view: own,
  formed,
  attempts,
})

describe('the views of which a new view needs a majority', () => {
  const binding = (...reports: readonly ReturnType<typeof report>[]) =>
    findBindingViews(reports, NODES, null).map(({ id }) => id)

  it('are all nodes before the first view', () => {
    expect(findBindingViews([report(1, NO_VIEW)], NODES, null)).toEqual([
      { id: [0, null], members: NODES.map((id) => [id, 1]) },
    ])
  })
  it('are the newest view that is installed anywhere', () => {
    const later = view(2, 2, 2, 3)
    expect(binding(report(1, ALL), report(2, later))).toEqual([[2, 2]])
  })
  it('include every open attempt since', () => {
    const [two, three] = [view(2, 4, 4, 5), view(3, 5, 4, 5)]
    expect(binding(report(1, ALL, [two]), report(2, ALL, [two, three]))).toEqual([
      [1, 1],
      [2, 4],
      [3, 5],
    ])
    expect(findBindingViews([report(1, ALL, [two])], NODES, [2, 4])).toHaveLength(1)
  })
  it('exclude an attempt that one of its members has not recorded', () => {
    const attempt = view(2, 4, 2, 4)
    expect(binding(report(1, ALL, [attempt]), report(2, ALL))).toEqual([[1, 1]])
  })
  it('exclude a view that one of its members refutes', () => {
    const claimed = view(9, 5, 1, 5)
    expect(binding(report(1, ALL), report(5, claimed))).toEqual([[1, 1]])
    expect(binding(report(1, NO_VIEW), report(5, claimed))).toEqual([[9, 5]])
  })
})

describe('a proposal', () => {
  const accept = (peer: NodeId, change: Partial<Accept> = {}): Accept => ({
    peer,
    formed: ALL,
    attempts: [],
    recorded: false,
    ...change,
  })
  const proposal = (members: readonly NodeId[], ...accepts: readonly Accept[]): Proposal => ({
    n: 5,
    members: members.map((id) => [id, 1] as const),
    base: ALL.id,
    accepts,
    isAttempt: false,
  })
  const links = [link(2), link(3)]
  const has = (given: Proposal, settings: Partial<OmegaSettings> = {}, own: Partial<OmegaState> = {}) =>
    hasQuorum(given, state({ links, ...own }), IDENTITY, { ...SETTINGS, ...settings })

  it('needs no majority without a quorum', () => {
    expect(has(proposal([1]), { quorum: 'none' })).toBe(true)
  })
  it('needs a majority of all nodes with a static quorum', () => {
    expect(has(proposal([1, 2, 3]), { quorum: 'static' })).toBe(true)
    expect(has(proposal([1, 2]), { quorum: 'static' })).toBe(false)
  })
  it('needs a majority of the last view with dynamic voting', () => {
    const small = view(4, 1, 1, 2, 3)
    const own = { view: small, formed: small }
    const given = proposal([1, 2], accept(2, { formed: small }))
    expect(has(given, {}, { ...own, links: [link(2, { view: small })] })).toBe(true)
    expect(has(proposal([1, 2], accept(2)))).toBe(false)
  })
  it('needs a majority of an attempt that a member has recorded', () => {
    const attempt = view(4, 4, 3, 4, 5)
    const given = proposal([1, 2, 3], accept(2), accept(3, { attempts: [attempt] }))
    expect(has(given)).toBe(false)
    expect(has(proposal([1, 2, 3], accept(2), accept(3)))).toBe(true)
  })
})

describe('what a node learns from a status', () => {
  const attempt = view(4, 4, 3, 4)
  const known = { formed: ALL, attempts: [attempt] }

  it('is nothing if nothing is new', () => {
    expect(learn(known, 2, status())).toBe(known)
  })
  it('is the newest view that the peer has installed or knows of', () => {
    const later = view(6, 2, 2, 3)
    expect(learn({ formed: ALL, attempts: [] }, 2, status({ formed: later })).formed).toBe(later)
    expect(learn({ formed: ALL, attempts: [] }, 2, status({ view: later })).formed).toBe(later)
  })
  it('settles an attempt that its proposer no longer names', () => {
    expect(learn(known, 4, status()).attempts).toEqual([])
    expect(learn(known, 4, status({ attempts: [attempt] }))).toBe(known)
  })
  it('settles an attempt that a member never recorded and can record no more', () => {
    expect(learn(known, 3, status({ promised: 5 })).attempts).toEqual([])
    expect(learn(known, 3, status({ promised: 4 }))).toBe(known)
    expect(learn(known, 2, status({ promised: 9 }))).toBe(known)
  })
  it('keeps only the newest overtaken attempt', () => {
    const [old, newer, open] = [view(2, 4, 3, 4), view(3, 4, 3, 4), view(8, 4, 3, 4)]
    const formed = view(5, 2, 2, 3)
    expect(pruneOvertaken([old, newer, open], formed)).toEqual([newer, open])
  })
})

describe('the support of a peer', () => {
  const supports = (change: Partial<Status> | null) => isSupporting(state(), link(2, change), SETTINGS)
  it('requires that it is alive in the same view, under the life that the view names', () => {
    expect(supports({})).toBe(true)
    expect(supports(null)).toBe(false)
    expect(supports({ ok: false })).toBe(false)
    expect(supports({ view: view(2, 1, 1, 2) })).toBe(false)
    expect(supports({ life: 2 })).toBe(false)
  })
  it('ends with an attempt of another leader, or an attempt that was overtaken', () => {
    expect(supports({ attempts: [view(2, 3, 2, 3)] })).toBe(false)
    expect(supports({ attempts: [view(2, 1, 1, 2)] })).toBe(true)
    expect(supports({ attempts: [view(1, 1, 1, 2)] })).toBe(false)
  })
})

describe('a node in quorum', () => {
  const inQuorum = (change: Partial<OmegaState>, settings: Partial<OmegaSettings> = {}) =>
    isInQuorum(state(change), IDENTITY, { ...SETTINGS, ...settings })

  it('has the support of more than half of its view, itself included', () => {
    expect(inQuorum({ links: [link(2), link(3)] })).toBe(true)
    expect(inQuorum({ links: [link(2), link(3, { ok: false })] })).toBe(false)
    expect(inQuorum({ links: [link(2), link(3)], ok: false })).toBe(false)
  })
  it('needs more than half of all nodes with a static quorum', () => {
    const small = view(4, 1, 1, 2)
    const change = { view: small, links: [link(2, { view: small })] }
    expect(inQuorum(change)).toBe(true)
    expect(inQuorum(change, { quorum: 'static' })).toBe(false)
    expect(electorateSize(state({ view: small }), IDENTITY, SETTINGS)).toBe(2)
    expect(electorateSize(state({ view: small }), IDENTITY, { ...SETTINGS, quorum: 'static' })).toBe(5)
  })
})

describe('the nodes that a group waits for', () => {
  const missing = (change: Partial<OmegaState>, settings: Partial<OmegaSettings> = {}) =>
    findMissingQuorum(state(change), IDENTITY, { ...SETTINGS, ...settings })

  it('are none in quorum, without a quorum, or if a majority is linked', () => {
    expect(missing({ links: [link(2), link(3)] })).toBeNull()
    expect(missing({}, { quorum: 'none' })).toBeNull()
    expect(missing({ ok: false, links: [link(2), link(3)] })).toBeNull()
  })
  it('are the absent members of the last view', () => {
    expect(missing({ links: [link(2)] })).toEqual({
      view: [1, 1],
      members: NODES,
      mayHaveFormed: false,
      unreachable: [3, 4, 5],
    })
  })
  it('are the absent members of an attempt that may have been installed', () => {
    const attempt = view(4, 4, 3, 4, 5)
    const change = { ok: false, attempts: [attempt], links: [link(2), link(3, { attempts: [attempt] })] }
    expect(missing(change)).toEqual({
      view: [4, 4],
      members: [3, 4, 5],
      mayHaveFormed: true,
      unreachable: [4, 5],
    })
  })
  it('are the absent members of an attempt whose proposer led the view, though the others support the view', () => {
    const [own, attempt] = [view(3, 5, 1, 2, 5), view(4, 5, 1, 2, 3, 4, 5)]
    const known = { view: own, formed: own, attempts: [attempt] }
    const change = { ...known, links: [link(2, known)] }
    expect(isInQuorum(state(change), IDENTITY, SETTINGS)).toBe(true)
    expect(missing(change)).toEqual({
      view: [4, 5],
      members: NODES,
      mayHaveFormed: true,
      unreachable: [3, 4, 5],
    })
    expect(missing({ ...change, links: [link(2, known), link(5, known)] })).toBeNull()
  })
  it.each(['none', 'static', 'dynamic'] as const)(
    'are all absent nodes if no node is alive and a first view needs all nodes: quorum %s',
    (quorum) => {
      const dead = [2, 3, 4].map((peer) => link(peer, { ok: false }))
      const settings = { quorum, reinit: 'all' } as const
      const waiting = { view: null, members: NODES, mayHaveFormed: false, unreachable: [5] }
      expect(missing({ ok: false, links: dead }, settings)).toEqual(waiting)
      expect(missing({ ok: false, links: [...dead, link(5, { ok: false })] }, settings)).toBeNull()
      expect(missing({ ok: false, links: [...dead.slice(1), link(2)] }, settings)).toBeNull()
      expect(missing({ ok: false, links: dead }, { quorum })).toBeNull()
    },
  )
  it('are the absent nodes of the group with a static quorum', () => {
    expect(missing({ links: [link(2)] }, { quorum: 'static' })).toEqual({
      view: null,
      members: NODES,
      mayHaveFormed: false,
      unreachable: [3, 4, 5],
    })
  })
})
