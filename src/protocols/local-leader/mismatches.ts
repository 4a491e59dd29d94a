/**
 * Peers that are configured with other voters, other peers or other bounds of leases than this node. Each difference is reported once, and
 * again when it has changed.
 */
import { equalPlain, type NodeId, type Output, type Plain } from '../../core/index.ts'
import { changed, type LocalLeaderState } from './state.ts'

export type Mismatch = {
  readonly peer: NodeId
  readonly field: 'voters' | 'peers' | 'lease bounds'
  readonly ours: Plain
  readonly theirs: Plain
}

/** The number of differences that a node remembers; it forgets the oldest first. */
const MOST = 64

/** The state that remembers the difference, and the event to report; null when it was reported already. */
export function reportMismatch(
  state: LocalLeaderState,
  mismatch: Mismatch,
): { readonly state: LocalLeaderState; readonly event: Output | null } {
  const { mismatches } = state
  if (mismatches.some((each) => equalPlain(each, mismatch))) return { state, event: null }
  // Of voters and of bounds there is one difference at a time; unknown peers may be several.
  const others = mismatches.filter(({ peer, field }) => field !== mismatch.field || peer !== mismatch.peer)
  const kept = mismatch.field === 'peers' ? mismatches : others
  return {
    state: changed(state, { mismatches: [...kept.slice(1 - MOST), mismatch] }),
    event: { type: 'mismatch', ...mismatch },
  }
}

/** A peer has the same voters: if they differ again, that is reported again. */
export function clearMismatch(state: LocalLeaderState, peer: NodeId): LocalLeaderState {
  const left = state.mismatches.filter((each) => each.field !== 'voters' || each.peer !== peer)
  return left.length === state.mismatches.length ? state : changed(state, { mismatches: left })
}
