/**
 * The quorum rules: when a proposal that everybody in it has accepted may become a view, and when the leader of a view
 * may act.
 *
 * Dynamic voting after E. Yeger Lotem, I. Keidar and D. Dolev, Dynamic Voting for Consistent Primary Components (1997).
 * A view needs a majority of the newest view that was installed anywhere before it, and of every open attempt: a view
 * that may have been installed, as far as its members know. A node records an attempt only when the proposer has shown
 * that everybody accepted and that there is a quorum. A proposal without a quorum therefore never binds anybody.
 *
 * An attempt is settled when a newer view is known to be installed, when its proposer takes it back, or when one of its
 * members has not recorded it and has promised something newer: that member never will, and nothing is installed
 * unless everybody in it has recorded it. In the first case it binds nobody any more, but whoever recorded it does not
 * support the view before it again (`overtaken`).
 */
import type { Identity, NodeId } from '../../core/index.ts'
import type { Waiting } from '../insight.ts'
import type { OmegaSettings } from './settings.ts'
import type { Link, OmegaState, OmegaView, Proposal, Status, ViewId } from './state.ts'
import { hasAttempt, idsOf, isMajority, isNewer, lifeIn, newest, sameViewId } from './views.ts'

/** What one node knows of the views of its group. */
export type Knowledge = { readonly formed: OmegaView; readonly attempts: readonly OmegaView[] }

/** `view`: the last view that the node itself has installed. */
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
    state.links.find((link) => link.peer === peer)?.status?.view ?? NOBODY
  const reports = [
    { peer: self, view: state.view, formed: state.formed, attempts: state.attempts },
    ...accepts.map((accept) => ({ ...accept, view: viewOf(accept.peer) })),
  ]
  return binding(reports, nodes, [n, self]).every((whole) => isMajority(ids, idsOf(whole.members), tie))
}

/** The views of which a new one needs a majority: the newest that was installed, and all that may have been since. */
export function binding(
  reports: readonly Report[],
  nodes: readonly NodeId[],
  except: ViewId | null,
): readonly OmegaView[] {
  const formed = reports
    .flatMap((report) => [report.view, report.formed])
    .reduce<OmegaView>((last, view) => (isRefuted(reports, view) ? last : newest(last, view)), NOBODY)
  const open: OmegaView[] = []
  for (const { attempts } of reports) {
    for (const attempt of attempts) {
      if (!isNewer(attempt.id, formed.id) || hasAttempt(open, attempt.id)) continue
      if (except !== null && sameViewId(attempt.id, except)) continue
      if (!isSettledBy(reports, attempt)) open.push(attempt)
    }
  }
  // Before the first view everybody counts.
  const last = formed.id[0] === 0 ? { id: formed.id, members: nodes.map((id) => [id, 1] as const) } : formed
  return [last, ...open]
}

const NOBODY: OmegaView = { id: [0, null], members: [] }

/**
 * Whether a view that somebody takes for installed cannot be: everybody in it records it first, and forgets that only for
 * a newer view. So a member that has no record of it, and knows of no view as new, shows that it was never installed:
 * what a bad member says of a view of its own binds nobody who meets one of the others in it. What a node has installed
 * itself is looked at besides, so that no such claim makes it forget that.
 */
function isRefuted(reports: readonly Report[], { id, members }: OmegaView): boolean {
  return reports.some(({ peer, view, formed, attempts }) => {
    const last = newest(view, formed).id
    // A node that remembers no view may have lost its data: it shows nothing.
    if (last[0] === 0 || lifeIn(members, peer) === 0) return false
    return isNewer(id, last) && !hasAttempt(attempts, id)
  })
}

/** All who report have promised something newer: one of its members that has not recorded it never will. */
function isSettledBy(reports: readonly Report[], { id, members }: OmegaView): boolean {
  return reports.some(({ peer, attempts }) => lifeIn(members, peer) !== 0 && !hasAttempt(attempts, id))
}

/** What a node knows after a peer has said how it stands. The same object when that is nothing new. */
export function learn(known: Knowledge, peer: NodeId, status: Status): Knowledge {
  const formed = newest(newest(known.formed, status.formed), status.view)
  const attempts = overtaken(
    known.attempts.filter(
      ({ id, members }) =>
        !isNewer(id, formed.id) ||
        hasAttempt(status.attempts, id) ||
        !settles(peer, status.promised, id, lifeIn(members, peer) !== 0),
    ),
    formed,
  )
  if (attempts.length === known.attempts.length && formed === known.formed) return known
  return { formed, attempts: attempts.length === known.attempts.length ? known.attempts : attempts }
}

/**
 * The attempts without all but the newest of those that are not open any more: a newer view is known to be installed,
 * or that very one. Whoever has recorded one of these has not installed the newer view itself, and may still be alive in
 * the view before it: one is kept until it installs something newer, so that it never supports that view again.
 */
export function overtaken(attempts: readonly OmegaView[], formed: OmegaView): readonly OmegaView[] {
  const last = attempts.findLast(({ id }) => !isNewer(id, formed.id))
  return attempts.filter((attempt) => attempt === last || isNewer(attempt.id, formed.id))
}

/**
 * Whether a peer that does not name this attempt as open settles it. A proposer records before it asks others to, so what
 * it does not name any more it took back; anybody else may have yet to record it, unless it has promised more.
 */
function settles(peer: NodeId, promised: number, [n, proposer]: ViewId, isMember: boolean): boolean {
  return peer === proposer || (isMember && promised > n)
}

/**
 * Whether a peer supports this node's view: it is in that very view under the life that it names, and has recorded no
 * attempt at another that may be installed by now, or was overtaken by one that is. An open attempt of the view's own
 * leader does not count: the leader knows whether it has installed it.
 */
export function isAnswering({ view }: OmegaState, { peer, status }: Link, settings: OmegaSettings): boolean {
  if (status?.ok !== true || !sameViewId(status.view.id, view.id)) return false
  return lifeIn(view.members, peer) === status.life && settings.rules.isLoyal(status, view)
}

/** More than this many halves of it must answer: the members of the view, or with a static majority all nodes. */
export function electorate(
  { view }: OmegaState,
  { nodes }: Identity,
  { quorum, rules }: OmegaSettings,
): number {
  const members = view.members.length
  return quorum === 'static' ? rules.staticElectorate(nodes.length, members) : members
}

/** Alive, and more than half answer from this view: only then may its leader act. */
export function isInQuorum(state: OmegaState, identity: Identity, settings: OmegaSettings): boolean {
  if (!state.ok || !settings.rules.isLoyal(state, state.view)) return false
  let answering = 1
  for (const link of state.links) if (isAnswering(state, link, settings)) answering += 1
  return 2 * answering > electorate(state, identity, settings)
}

/** Whose return the group waits for: null while this node is in quorum, and where it is not a quorum that is missing. */
export function waitsFor(state: OmegaState, identity: Identity, settings: OmegaSettings): Waiting | null {
  const { quorum, tie } = settings
  const { self, nodes } = identity
  if (quorum === 'none' || isInQuorum(state, identity, settings)) return null
  const here = [self, ...state.links.map(({ peer }) => peer)]
  const lacking = (whole: readonly NodeId[]): readonly NodeId[] | null =>
    isMajority(here, whole, tie && quorum === 'dynamic') ? null : whole.filter((id) => !here.includes(id))
  if (quorum === 'static') {
    const missing = lacking(nodes)
    return missing === null
      ? null
      : { view: null, members: nodes, mayHaveFormed: false, unreachable: missing }
  }
  const reports = state.links.flatMap(({ peer, status }) => (status === null ? [] : [{ peer, ...status }]))
  const known = [{ peer: self, view: state.view, formed: state.formed, attempts: state.attempts }, ...reports]
  for (const [place, { id, members }] of binding(known, nodes, null).entries()) {
    const missing = lacking(idsOf(members))
    const view = id[0] === 0 ? null : id
    if (missing !== null)
      return { view, members: idsOf(members), mayHaveFormed: place > 0, unreachable: missing }
  }
  return null
}
