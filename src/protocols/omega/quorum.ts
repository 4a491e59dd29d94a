/**
 * The quorum rules: when a proposal that all its members have accepted may become a view, and when the leader of a view
 * may act.
 *
 * Dynamic voting after E. Yeger Lotem, I. Keidar and D. Dolev, Dynamic Voting for Consistent Primary Components (1997).
 * A view needs a majority of the newest installed view before it, and of every open attempt: a view that may have been
 * installed, as far as its members know. Members record an attempt only after all of them have accepted it and the
 * proposer has found a quorum. So a proposal without a quorum never binds a node.
 *
 * An attempt is settled in three cases. A newer view is known to be installed; its proposer cancels it; or one of its
 * members has not recorded it and has promised a newer view. That member never will record it, and a view is installed
 * only after all its members have recorded it. In the first case the attempt is overtaken: it no longer binds a node,
 * but a node that recorded it does not support the view before it again (`pruneOvertaken`).
 */
import type { Identity, NodeId } from '../../core/index.ts'
import type { Waiting } from '../insight.ts'
import type { OmegaSettings } from './settings.ts'
import {
  type Link,
  NO_VIEW,
  type OmegaState,
  type OmegaView,
  type Proposal,
  type Status,
  type ViewId,
} from './state.ts'
import { hasAttempt, idsOf, isMajority, isNewer, lifeIn, newest, sameViewId } from './views.ts'

/** What a node knows about the views of its group. */
export type Knowledge = { readonly formed: OmegaView; readonly attempts: readonly OmegaView[] }

/** The knowledge of `peer`. `view`: the last view that it has installed itself. */
type Report = Knowledge & { readonly peer: NodeId; readonly view: OmegaView }

export function hasQuorum(
  { n, members, accepts }: Proposal,
  state: OmegaState,
  { self, nodes }: Identity,
  { quorum, tie }: OmegaSettings,
): boolean {
  if (quorum === 'none') return true
  const ids = idsOf(members)
  if (quorum === 'static') return 2 * ids.length > nodes.length
  const viewOf = (peer: NodeId): OmegaView =>
    state.links.find((link) => link.peer === peer)?.status?.view ?? NO_VIEW
  const reports = [
    { peer: self, view: state.view, formed: state.formed, attempts: state.attempts },
    ...accepts.map((accept) => ({ ...accept, view: viewOf(accept.peer) })),
  ]
  return findBindingViews(reports, nodes, [n, self]).every((whole) =>
    isMajority(ids, idsOf(whole.members), tie),
  )
}

/** The views of which a new view needs a majority: the newest installed view, and every open attempt since. */
export function findBindingViews(
  reports: readonly Report[],
  nodes: readonly NodeId[],
  except: ViewId | null,
): readonly OmegaView[] {
  const formed = reports
    .flatMap((report) => [report.view, report.formed])
    .reduce<OmegaView>((last, view) => (isRefuted(reports, view) ? last : newest(last, view)), NO_VIEW)
  const open: OmegaView[] = []
  for (const { attempts } of reports) {
    for (const attempt of attempts) {
      if (!isNewer(attempt.id, formed.id) || hasAttempt(open, attempt.id)) continue
      if (except !== null && sameViewId(attempt.id, except)) continue
      if (!isSettledByReports(reports, attempt)) open.push(attempt)
    }
  }
  // Before the first view, all nodes count.
  const last = formed.id[0] === 0 ? { id: formed.id, members: nodes.map((id) => [id, 1] as const) } : formed
  return [last, ...open]
}

/**
 * Whether a view that a node believes installed cannot be. All members record a view before it is installed, and forget
 * the record only for a newer view. So a member without a record, and without a newer view, proves that the view was never
 * installed. Thus the claim of a faulty node binds no group that includes a correct member of the claimed view. `view`
 * counts as well as `formed`, so that such a claim cannot hide a view that the member has installed itself.
 */
function isRefuted(reports: readonly Report[], { id, members }: OmegaView): boolean {
  return reports.some(({ peer, view, formed, attempts }) => {
    const last = newest(view, formed).id
    // A node that remembers no view may have lost its data: it proves nothing.
    if (last[0] === 0 || lifeIn(members, peer) === 0) return false
    return isNewer(id, last) && !hasAttempt(attempts, id)
  })
}

/** All reporting nodes have promised a newer view, so a member that has not recorded this attempt never will. */
function isSettledByReports(reports: readonly Report[], { id, members }: OmegaView): boolean {
  return reports.some(({ peer, attempts }) => lifeIn(members, peer) !== 0 && !hasAttempt(attempts, id))
}

/** What a node knows after it received the status of a peer. Returns the same object when nothing changed. */
export function learn(known: Knowledge, peer: NodeId, status: Status): Knowledge {
  const formed = newest(newest(known.formed, status.formed), status.view)
  const attempts = pruneOvertaken(
    known.attempts.filter(
      ({ id, members }) =>
        !isNewer(id, formed.id) ||
        hasAttempt(status.attempts, id) ||
        !isSettledByPeer(peer, status.promised, id, lifeIn(members, peer) !== 0),
    ),
    formed,
  )
  if (attempts.length === known.attempts.length && formed === known.formed) return known
  return { formed, attempts: attempts.length === known.attempts.length ? known.attempts : attempts }
}

/**
 * Removes all overtaken attempts but the newest. An attempt is overtaken when it, or a newer view, is known to be
 * installed. The node that recorded it has not installed that view itself, and may still be alive in the view before it.
 * It keeps one such attempt until it installs a newer view, so that it never supports the old view again.
 */
export function pruneOvertaken(attempts: readonly OmegaView[], formed: OmegaView): readonly OmegaView[] {
  const last = attempts.findLast(({ id }) => !isNewer(id, formed.id))
  return attempts.filter((attempt) => attempt === last || isNewer(attempt.id, formed.id))
}

/**
 * Whether a peer that does not name this attempt settles it. A proposer records an attempt before it asks other members
 * to, so it has cancelled an attempt that it does not name. Another member may still record it, unless it has promised a
 * higher number.
 */
function isSettledByPeer(peer: NodeId, promised: number, [n, proposer]: ViewId, isMember: boolean): boolean {
  return peer === proposer || (isMember && promised > n)
}

/**
 * Whether a peer supports this node's view: it is in the same view under the life that the view names, and has recorded
 * no other attempt that may be installed by now, and none that was overtaken. Open attempts of the view's leader do not
 * count: the leader knows whether it has installed them.
 */
export function isSupporting({ view }: OmegaState, { peer, status }: Link, settings: OmegaSettings): boolean {
  if (status?.ok !== true || !sameViewId(status.view.id, view.id)) return false
  return lifeIn(view.members, peer) === status.life && settings.rules.isLoyal(status, view)
}

/** The number of nodes of which more than half must support the view: its members, or all nodes with a static majority. */
export function electorateSize(
  { view }: OmegaState,
  { nodes }: Identity,
  { quorum, rules }: OmegaSettings,
): number {
  const members = view.members.length
  return quorum === 'static' ? rules.staticElectorate(nodes.length, members) : members
}

/** Whether this node is alive and more than half support its view. Only then may the leader of the view act. */
export function isInQuorum(state: OmegaState, identity: Identity, settings: OmegaSettings): boolean {
  if (!state.ok || !settings.rules.isLoyal(state, state.view)) return false
  let supporters = 1
  for (const link of state.links) if (isSupporting(state, link, settings)) supporters += 1
  return 2 * supporters > electorateSize(state, identity, settings)
}

/**
 * The nodes whose return the group waits for. Null while this node is in quorum with its leader, or if a quorum is not what
 * is missing. Without the leader, its last attempt may need more nodes than the view (`isSupporting`).
 */
export function findMissingQuorum(
  state: OmegaState,
  identity: Identity,
  settings: OmegaSettings,
): Waiting | null {
  const { quorum, tie, reinit } = settings
  const { self, nodes } = identity
  const present = [self, ...state.links.map(({ peer }) => peer)]
  const isAnyAlive = state.ok || state.links.some(({ status }) => status?.ok === true)
  if (reinit === 'all' && !isAnyAlive && present.length < nodes.length) {
    const unreachable = nodes.filter((id) => !present.includes(id))
    return { view: null, members: nodes, mayHaveFormed: false, unreachable }
  }
  if (quorum === 'none') return null
  const [, leader] = state.view.id
  if (leader !== null && present.includes(leader) && isInQuorum(state, identity, settings)) return null
  const findMissing = (whole: readonly NodeId[]): readonly NodeId[] | null =>
    isMajority(present, whole, tie && quorum === 'dynamic')
      ? null
      : whole.filter((id) => !present.includes(id))
  if (quorum === 'static') {
    const missing = findMissing(nodes)
    return missing === null
      ? null
      : { view: null, members: nodes, mayHaveFormed: false, unreachable: missing }
  }
  const reports = state.links.flatMap(({ peer, status }) => (status === null ? [] : [{ peer, ...status }]))
  const known = [{ peer: self, view: state.view, formed: state.formed, attempts: state.attempts }, ...reports]
  for (const [place, { id, members }] of findBindingViews(known, nodes, null).entries()) {
    const missing = findMissing(idsOf(members))
    const view = id[0] === 0 ? null : id
    if (missing !== null)
      return { view, members: idsOf(members), mayHaveFormed: place > 0, unreachable: missing }
  }
  return null
}
