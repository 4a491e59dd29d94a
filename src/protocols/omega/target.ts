/**
 * What a node would propose and accept in its present state (rules 2, 3 and 6): functions of the state alone.
 */
import type { Identity, NodeId } from '../../core/index.ts'
import type { Knowledge } from './quorum.ts'
import type { OmegaSettings } from './settings.ts'
import type { Link, Members, OmegaState, OmegaView, Pending, Proposal, Status, ViewId } from './state.ts'
import { compareViewIds, idsOf, isNewer, lifeIn, membersOf, sameMembers, sameViewId } from './views.ts'

/** The node whose state is judged. */
export type Judge = {
  readonly identity: Identity
  readonly settings: OmegaSettings
  readonly rank: (a: NodeId, b: NodeId) => number
}

export function lifeOf(status: Status | null): number {
  return status?.life ?? 0
}

/** Rule 2: the members that this node would have now; null while it knows too little, or sees strangers alive. */
export function targetOf({ identity, settings }: Judge, state: OmegaState): Members | null {
  const { links, ok, view, life } = state
  for (const { peer, status } of links) {
    if (status === null) return null
    if (ok && status.ok && lifeIn(view.members, peer) !== status.life) return null
  }
  const named = settings.filter ? wellLinked(state) : links
  return membersOf([
    [identity.self, life],
    ...named.map(({ peer, status }) => [peer, lifeOf(status)] as const),
  ])
}

/** With `filter`: the living nodes, and the joiners that are linked with all nodes named before them. */
function wellLinked(state: OmegaState): readonly Link[] {
  const { links } = state
  const named = links.filter((link) => isAlive(state, link))
  for (const link of links) {
    const { status } = link
    if (named.includes(link) || status === null || status.torn) continue
    if (named.every(({ peer }) => status.links.includes(peer))) named.push(link)
  }
  return named
}

/** As far as this node can tell: a node that lives in the same view or, seen by a dead node, any living node. */
function isAlive({ ok, view }: OmegaState, { peer, status }: Link): boolean {
  if (status === null) return false
  return ok ? lifeIn(view.members, peer) === status.life : status.ok
}

/**
 * Rule 3: the node that should propose these members: the least living node; if none lives, the least of all, where that
 * is allowed. Ineligible nodes come after all others.
 */
export function bossOf(judge: Judge, state: OmegaState, members: Members): NodeId | null {
  let boss: NodeId | null = state.ok ? judge.identity.self : null
  for (const link of state.links) {
    if (lifeIn(members, link.peer) === 0 || !isAlive(state, link)) continue
    if (boss === null || isBefore(judge, state, link.peer, boss)) boss = link.peer
  }
  if (boss !== null || !mayReinit(judge, members)) return boss
  return idsOf(members).reduce((least, id) => (isBefore(judge, state, id, least) ? id : least))
}

function isBefore(judge: Judge, state: OmegaState, id: NodeId, other: NodeId): boolean {
  const isIneligible = isIneligibleNode(judge, state, id)
  return isIneligible === isIneligibleNode(judge, state, other) ? judge.rank(id, other) < 0 : !isIneligible
}

function isIneligibleNode({ identity }: Judge, { aside, links }: OmegaState, id: NodeId): boolean {
  if (id === identity.self) return aside
  return links.find(({ peer }) => peer === id)?.status?.aside === true
}

function mayReinit({ identity, settings: { reinit } }: Judge, members: Members): boolean {
  return reinit === 'quorum' || (reinit === 'all' && members.length === identity.nodes.length)
}

/**
 * A node has recorded an attempt whose proposer is not here, or that was overtaken, so that it supports no other view.
 * Only a newer view ends that, even one of the same members. An attempt that is older than this view ends with it.
 */
export function isHeldUp(state: OmegaState, target: Members, { id: view }: OmegaView): boolean {
  const isHeldBy = ({ formed, attempts }: Knowledge): boolean =>
    attempts.some(({ id }) => {
      const [, proposer] = id
      if (proposer === null || !isNewer(id, view)) return false
      return !isNewer(id, formed.id) || (proposer !== view[1] && lifeIn(target, proposer) === 0)
    })
  return isHeldBy(state) || state.links.some(({ status }) => status !== null && isHeldBy(status))
}

/** The leader of the view is ineligible, and this node is not. */
export function shouldTakeOver(judge: Judge, state: OmegaState, { id: [, leader] }: OmegaView): boolean {
  const isOther = leader !== null && leader !== judge.identity.self
  return !state.aside && isOther && isIneligibleNode(judge, state, leader)
}

/**
 * The node accepted or proposed this view, then accepted a newer one of another node, which is gone. It would not record
 * an attempt at this one, so the proposer must ask again. (With `filter` dead nodes may accept two at a time.)
 */
export function isStale({ identity, settings }: Judge, state: OmegaState, id: ViewId): boolean {
  const { promised, proposal, links } = state
  if (settings.quorum !== 'dynamic' || compareViewIds(id, promised) >= 0) return false
  const [n, proposer] = promised
  if (proposer === identity.self) return proposal?.n !== n
  return !links.some(({ peer, accepted }) => peer === proposer && accepted === n)
}

/** Whether this node would propose the same members, and the peer should be the one to propose them. */
export function isAcceptable(
  judge: Judge,
  state: OmegaState,
  peer: NodeId,
  { members, base }: Pending,
  target: Members | null,
): boolean {
  const { self } = judge.identity
  if (target === null || (state.ok && !sameViewId(base, state.view.id))) return false
  if (!judge.settings.filter) return bossOf(judge, state, target) === peer && sameMembers(members, target)
  if (bossOf(judge, state, members) !== peer || lifeIn(members, self) !== state.life) return false
  const { links } = state
  const living = links.filter((link) => isAlive(state, link))
  return (
    living.every((link) => lifeIn(members, link.peer) === lifeOf(link.status)) &&
    members.every(
      ([id, life]) => id === self || links.some((link) => link.peer === id && lifeOf(link.status) === life),
    )
  )
}

/** Whether a proposal still fits the target, and no peer needs a higher number. */
export function isCurrent(judge: Judge, state: OmegaState, proposal: Proposal, target: Members): boolean {
  if (!sameMembers(proposal.members, target) || !sameViewId(proposal.base, state.view.id)) return false
  // A node has recorded it and no longer wants it: that node is free again when this proposal is cancelled.
  if (proposal.isAttempt && !isAccepted(proposal)) return false
  if (isStale(judge, state, [proposal.n, judge.identity.self])) return false
  return state.links.every(
    ({ peer, status }) =>
      lifeIn(target, peer) === 0 ||
      proposal.accepts.some((accept) => accept.peer === peer) ||
      status === null ||
      status.promised < proposal.n,
  )
}

export function isAccepted({ members, accepts }: Proposal): boolean {
  return accepts.length === members.length - 1
}

/** Dead, and linked with living nodes of two views: a view that took this node in would draw it into their dispute. */
export function isTorn({ ok, links }: OmegaState): boolean {
  if (ok) return false
  const alive = links.flatMap(({ status }) => (status?.ok === true ? [status.view.id] : []))
  return alive.some((id) => !sameViewId(id, alive[0] as ViewId))
}
