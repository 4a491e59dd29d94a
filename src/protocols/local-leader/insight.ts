/** What an operator may ask of a process beyond its view: how long the lead lasts, whose votes count, who is heard. */
import type { Micros, NodeId, Plain } from '../../core/index.ts'
import type { LocalLeaderState } from './state.ts'

export type Insight = {
  /**
   * Until when whoever leads leads, on this process's own clock; null when nobody is known to. Of itself a leader knows
   * it for sure; others count from when they were told, which is up to Δ too long.
   */
  readonly leadUntil: Micros | null
  /** Sets of voters, each of which must give a majority; two while one replaces the other. */
  readonly voters: readonly (readonly NodeId[])[]
  /** Whom it has heard of late, in time. */
  readonly heard: readonly NodeId[]
  /** Until when it takes no part, because it has been restarted; null when it does take part. */
  readonly silentUntil: Micros | null
}

/** `state` is that of the protocol as `create` makes it, with the layer below or without; `nodes` as it was made with. */
export function insightOf(state: Plain, nodes: readonly NodeId[], now: Micros): Insight {
  const { lead, known, vote, silentUntil } = ownState(state)
  const until = lead !== null && now < lead.until ? lead.until : (known.following?.until ?? null)
  return {
    leadUntil: until !== null && now < until ? until : null,
    voters: (lead?.config ?? vote.config).sets,
    heard: nodes.filter((_, index) => (known.peers[index] ?? null) !== null),
    silentUntil: silentUntil !== null && now < silentUntil ? silentUntil : null,
  }
}

function ownState(state: Plain): LocalLeaderState {
  const either = state as LocalLeaderState | { readonly upper: LocalLeaderState }
  return 'upper' in either ? either.upper : either
}
