/**
 * Handing over to a chosen node. The Release names it. It becomes a candidate at once and ranks first until its request is
 * decided, so that voters support it even if they rank before it. The others wait for a round trip. Ranks never matter for
 * safety: as after any hand-over, the request needs a majority, and has a larger epoch.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import { type Context, UNWILLING } from './context.ts'
import { isAlive } from './peers.ts'
import type { LocalLeaderState } from './state.ts'
import { isVoter } from './voters.ts'

/**
 * Why a leader cannot hand over to a node; null when it can. A node that stops answering just now is not known yet: then
 * the others elect a leader as after any other hand-over.
 */
export function handOverProblem(
  { self, nodes, isMajority, placeOf, settings, timingIn }: Context,
  state: LocalLeaderState,
  to: NodeId,
  now: Micros,
): string | null {
  const { vote, known } = state
  if (!isMajority) return 'in local mode the next leader cannot be chosen'
  if (to === self) return `${to} is this node`
  if (!nodes.includes(to)) return `${to} is not one of the nodes`
  if (!isVoter(vote.config, to)) return `${to} is not a voter`
  if (settings.witnesses.includes(to)) return `${to} is a witness, which never leads`
  // In searches nodes send no heartbeats, so nothing is known of other nodes.
  if (settings.mostRequests !== null) return null
  const peer = known.peers[placeOf(to)] ?? null
  if (!isAlive(peer, now, timingIn(state).expires)) return `${to} is unreachable`
  return peer.low >= UNWILLING ? `${to} does not want to lead, or has failed to` : null
}
