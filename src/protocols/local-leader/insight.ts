/** What an operator can learn from a running node. */
import { type Micros, type NodeId, type Plain, sortIds } from '../../core/index.ts'
import type { Evidence, Insight, Pulse } from '../insight.ts'
import type { Timing } from './constants.ts'
import { isAlive } from './peers.ts'
import type { LocalLeaderState } from './state.ts'

type Expiry = Pick<Timing, 'expires'>

/**
 * `state` is the state of the protocol that `create` returns, with or without the layer below. `nodes` are the nodes of
 * its identity.
 */
export function insightOf(state: Plain, nodes: readonly NodeId[], { expires }: Expiry, now: Micros): Insight {
  const { term, known, vote, silentUntil, wanted } = ownState(state)
  const sets = [...(term?.config.sets ?? []), ...vote.config.sets, wanted ?? []]
  const evidence = evidenceIn(known.peers, nodes, expires, now)
  return {
    leadUntil: leadUntilOf(state, now),
    voters: (term?.config ?? vote.config).sets,
    named: sortIds(new Set(sets.flat())),
    heard: evidence.map(({ id }) => id),
    evidence: { of: evidence, lasts: expires },
    silentUntil: silentUntil !== null && now < silentUntil ? silentUntil : null,
    membership: null,
  }
}

/** When the current term ends, as far as this node knows; null if no leader is known. */
export function leadUntilOf(state: Plain, now: Micros): Micros | null {
  const { term, known } = ownState(state)
  const until = term !== null && now < term.until ? term.until : (known.following?.until ?? null)
  return until !== null && now < until ? until : null
}

/** What changes with every renewal. `self`: this node. */
export function pulseOf(
  state: Plain,
  self: NodeId,
  nodes: readonly NodeId[],
  { expires }: Expiry,
  now: Micros,
): Pulse {
  const { term, known } = ownState(state)
  const { leader, members, membersUntil } =
    term !== null && now < term.until
      ? { leader: self, members: term.members, membersUntil: term.until }
      : followedBy(known.following, now)
  const evidence = nodes.map((_, index) => {
    const peer = known.peers[index] ?? null
    return isAlive(peer, now, expires) ? peer.heardAt : null
  })
  return { leader, members, membersUntil, evidence, evidenceFor: expires }
}

const NO_LEADER = { leader: null, members: null, membersUntil: null }

function followedBy(
  following: LocalLeaderState['known']['following'],
  now: Micros,
): Pick<Pulse, 'leader' | 'members' | 'membersUntil'> {
  if (following === null || now >= following.until) return NO_LEADER
  const { leader, view } = following
  if (view === null || now >= view.until) return { leader, members: null, membersUntil: null }
  return { leader, members: view.members, membersUntil: view.until }
}

/** The peers that a node in this state reports as reachable. */
export function reachableIn(
  state: Plain,
  nodes: readonly NodeId[],
  expiry: Expiry,
  now: Micros,
): readonly NodeId[] {
  return evidenceIn(ownState(state).known.peers, nodes, expiry.expires, now).map(({ id }) => id)
}

function evidenceIn(
  peers: LocalLeaderState['known']['peers'],
  nodes: readonly NodeId[],
  expires: Micros,
  now: Micros,
): Evidence['of'] {
  return nodes.flatMap((id, index) => {
    const peer = peers[index] ?? null
    return isAlive(peer, now, expires) ? [{ id, at: peer.heardAt }] : []
  })
}

/** The state of the protocol, with or without the layer below. */
export function ownState(state: Plain): LocalLeaderState {
  const either = state as LocalLeaderState | { readonly upper: LocalLeaderState }
  return 'upper' in either ? either.upper : either
}
