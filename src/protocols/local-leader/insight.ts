/** What an operator may ask of a process beyond its view: how long the lead lasts, whose votes count, who is heard. */
import { type Micros, type NodeId, type Plain, sortIds } from '../../core/index.ts'
import type { LocalLeaderState } from './state.ts'

export type Insight = {
  /**
   * Until when whoever leads leads, on this process's own clock; null when nobody is known to. Of itself a leader knows
   * it for sure; others count from when they were told, which is up to Δ too long.
   */
  readonly leadUntil: Micros | null
  /** Sets of voters, each of which must give a majority; two while one replaces the other. */
  readonly voters: readonly (readonly NodeId[])[]
  /** Whoever has a vote in any of them, or is to have one. */
  readonly named: readonly NodeId[]
  /** Whom it has heard of late, in time. */
  readonly heard: readonly NodeId[]
  /** Until when it takes no part, because it has been restarted; null when it does take part. */
  readonly silentUntil: Micros | null
}

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
  }
}

function ownState(state: Plain): LocalLeaderState {
  const either = state as LocalLeaderState | { readonly upper: LocalLeaderState }
  return 'upper' in either ? either.upper : either
}
