/**
 * What a node proposes and accepts in its current state (rules 2, 3 and 6). All functions depend on the state alone.
 */
import type { Identity, NodeId } from '../../core/index.ts'
import type { Knowledge } from './quorum.ts'
import type { OmegaSettings } from './settings.ts'
import type { Link, Members, OmegaState, OmegaView, Pending, Proposal, Status, ViewId } from './state.ts'
import { compareViewIds, idsOf, isNewer, lifeIn, membersOf, sameMembers, sameViewId } from './views.ts'

/** The node whose rules are evaluated. `rank` orders nodes by weight, then by id. */
export type RuleContext = {
  readonly identity: Identity
  readonly settings: OmegaSettings
  readonly rank: (a: NodeId, b: NodeId) => number
}

export function lifeOf(status: Status | null): number {
  return status?.life ?? 0
}

/**
 * Rule 2: the members that this node would propose. Null while a peer has not sent its status, or while this node is
 * alive and linked with a living node that is not in its view.
 */
export function targetOf({ identity, settings }: RuleContext, state: OmegaState): Members | null {
  const { links, ok, view, life } = state
  for (const { peer, status } of links) {
    if (status === null) return null
    if (ok && status.ok && lifeIn(view.members, peer) !== status.life) return null
  }
  const named = settings.filter ? findWellLinked(state) : links
  return membersOf([
    [identity.self, life],
    ...named.map(({ peer, status }) => [peer, lifeOf(status)] as const),
  ])
}

/** With `filter`: the living nodes, and the dead ones that are linked with all nodes chosen before them. */
function findWellLinked(state: OmegaState): readonly Link[] {
  const { links } = state
  const named = links.filter((link) => isAlive(state, link))
  for (const link of links) {
    const { status } = link
    if (named.includes(link) || status === null || status.torn) continue
    if (named.every(({ peer }) => status.links.includes(peer))) named.push(link)
  }
  return named
}

/** A living node counts only peers of its own view as alive; a dead node counts every living peer. */
function isAlive({ ok, view }: OmegaState, { peer, status }: Link): boolean {
  if (status === null) return false
  return ok ? lifeIn(view.members, peer) === status.life : status.ok
}

/**
 * Rule 3: the node that should propose these members: the least living member. If no member is alive, the least of all
 * members, if `reinit` allows it. Ineligible nodes come after all others.
 */
export function proposerOf(context: RuleContext, state: OmegaState, members: Members): NodeId | null {
  let proposer: NodeId | null = state.ok ? context.identity.self : null
  for (const link of state.links) {
    if (lifeIn(members, link.peer) === 0 || !isAlive(state, link)) continue
    if (proposer === null || isBefore(context, state, link.peer, proposer)) proposer = link.peer
  }
  if (proposer !== null || !canReinit(context, members)) return proposer
  return idsOf(members).reduce((least, id) => (isBefore(context, state, id, least) ? id : least))
}

function isBefore(context: RuleContext, state: OmegaState, id: NodeId, other: NodeId): boolean {
  const isIneligible = isIneligibleNode(context, state, id)
  return isIneligible === isIneligibleNode(context, state, other)
    ? context.rank(id, other) < 0
    : !isIneligible
}

function isIneligibleNode(
  { identity }: RuleContext,
  { isIneligible, links }: OmegaState,
  id: NodeId,
): boolean {
  if (id === identity.self) return isIneligible
  return links.find(({ peer }) => peer === id)?.status?.aside === true
}

function canReinit({ identity, settings: { reinit } }: RuleContext, members: Members): boolean {
  return reinit === 'quorum' || (reinit === 'all' && members.length === identity.nodes.length)
}

/**
 * Whether a node has recorded an attempt that keeps it from supporting this view: its proposer is not in the target, or
 * it was overtaken. Only a newer view ends that, even a view of the same members. Attempts older than this view are over.
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

/** Whether the leader of the view is ineligible, and this node is not. */
export function shouldTakeOver(
  context: RuleContext,
  state: OmegaState,
  { id: [, leader] }: OmegaView,
): boolean {
  const isOther = leader !== null && leader !== context.identity.self
  return !state.isIneligible && isOther && isIneligibleNode(context, state, leader)
}

/**
 * Whether this node has since accepted a newer view, whose proposer is gone. Then it would not record an attempt at the
 * view with this id, so the proposer must ask again. (With `filter` a dead node may accept two views at a time.)
 */
export function isStale({ identity, settings }: RuleContext, state: OmegaState, id: ViewId): boolean {
  const { promised, proposal, links } = state
  if (settings.quorum !== 'dynamic' || compareViewIds(id, promised) >= 0) return false
  const [n, proposer] = promised
  if (proposer === identity.self) return proposal?.n !== n
  return !links.some(({ peer, accepted }) => peer === proposer && accepted === n)
}

/** Whether this node would propose the same members, and rule 3 makes the peer their proposer. */
export function isAcceptable(
  context: RuleContext,
  state: OmegaState,
  peer: NodeId,
  { members, base }: Pending,
  target: Members | null,
): boolean {
  const { self } = context.identity
  if (target === null || (state.ok && !sameViewId(base, state.view.id))) return false
  if (!context.settings.filter)
    return proposerOf(context, state, target) === peer && sameMembers(members, target)
  if (proposerOf(context, state, members) !== peer || lifeIn(members, self) !== state.life) return false
  const { links } = state
  const living = links.filter((link) => isAlive(state, link))
  return (
    living.every((link) => lifeIn(members, link.peer) === lifeOf(link.status)) &&
    members.every(
      ([id, life]) => id === self || links.some((link) => link.peer === id && lifeOf(link.status) === life),
    )
  )
}

/** Whether the proposal still matches the target, and no peer needs a higher number. */
export function isCurrent(
  context: RuleContext,
  state: OmegaState,
  proposal: Proposal,
  target: Members,
): boolean {
  if (!sameMembers(proposal.members, target) || !sameViewId(proposal.base, state.view.id)) return false
  // A peer that has recorded the attempt withdrew its accept. Cancelling the proposal releases that peer.
  if (proposal.isAttempt && !isAccepted(proposal)) return false
  if (isStale(context, state, [proposal.n, context.identity.self])) return false
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

export function withoutAccept(proposal: Proposal, peer: NodeId): Proposal {
  const accepts = proposal.accepts.filter((accept) => accept.peer !== peer)
  return accepts.length === proposal.accepts.length ? proposal : { ...proposal, accepts }
}

/** Whether this node is dead and linked with living nodes of two views. A view that admitted it would be drawn into the conflict. */
export function isTorn({ ok, links }: OmegaState): boolean {
  if (ok) return false
  const alive = links.flatMap(({ status }) => (status?.ok === true ? [status.view.id] : []))
  return alive.some((id) => !sameViewId(id, alive[0] as ViewId))
}
