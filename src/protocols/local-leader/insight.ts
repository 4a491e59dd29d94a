/** What an operator may ask of a process of local-leader. */
import { type Micros, type NodeId, type Plain, sortIds } from '../../core/index.ts'
import type { Insight } from '../insight.ts'
import type { LocalLeaderState } from './state.ts'

/** `state` is that of the protocol as `create` makes it, with the layer below or without; `nodes` as it was made with. */
export function insightOf(state: Plain, nodes: readonly NodeId[], now: Micros): Insight {
  const { lead, known, vote, silentUntil, wanted } = ownState(state)
  const sets = [...(lead?.config.sets ?? []), ...vote.config.sets, wanted ?? []]
  const until = lead !== null && now < lead.until ? lead.until : (known.following?.until ?? null)
  return {
    leadUntil: until !== null && now < until ? until : null,
    voters: (lead?.config ?? vote.config).sets,
    named: sortIds(new Set(sets.flat())),
    heard: nodes.filter((_, index) => (known.peers[index] ?? null) !== null),
    silentUntil: silentUntil !== null && now < silentUntil ? silentUntil : null,
    membership: null,
  }
}

function ownState(state: Plain): LocalLeaderState {
  const either = state as LocalLeaderState | { readonly upper: LocalLeaderState }
  return 'upper' in either ? either.upper : either
}
