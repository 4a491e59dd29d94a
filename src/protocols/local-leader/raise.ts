/**
 * Raising the epoch of a term. A voter that has promised a larger epoch to a candidate that failed refuses the leader.
 * As a rule the Release of that candidate takes the promise back. But the Release may get lost, the candidate may be
 * down, or the voter may have restarted since. Then the leader renews under an epoch that is larger still. Its term goes
 * on, under the same token.
 *
 * Why tokens still only grow, independent of clocks: let a leader with token t raise its epoch to e. A voter that has
 * promised another node an epoch between t and e refuses, until it knows that the leader has won a round under e without
 * it. So the majority of that first round has promised nobody an epoch between t and e, and from then on refuses such
 * epochs. Every other majority shares a voter with it: nobody has led or will lead by a token between t and e.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Context } from './context.ts'
import type { Election, Reply } from './messages.ts'
import { changed, type LocalLeaderState, type Term } from './state.ts'
import { holdsMajorities } from './voters.ts'

export function createEpochRaising({ self, settings, timingIn, renewalStartOf }: Context) {
  const { mostRequests } = settings

  /** A voter has refused this leader: it may have promised a larger epoch to another node. */
  function afterRefusal(
    state: LocalLeaderState,
    from: NodeId,
    { votes, promised }: Reply,
    now: Micros,
  ): LocalLeaderState {
    const { term } = state
    const isRefusal = votes.some(({ node, support }) => node === from && !support)
    if (term === null || !isRefusal || promised.owner === self || promised.number < term.epoch) return state
    if (mostRequests !== null && state.requests >= mostRequests) return state
    const { outbid } = term
    const since = outbid !== null && now - outbid.last < timingIn(state).expires ? outbid.since : now
    return changed(state, { term: { ...term, outbid: { since, last: now } } })
  }

  /**
   * Whether the leader should raise its epoch with this round. It waits for as long as a lock lasts: the other
   * candidate may be about to win, or about to release the voter. Only the first try of a round raises the epoch. If
   * the leader cannot store the larger epoch, the next try keeps the present one.
   */
  function isOutbid(state: LocalLeaderState, { outbid, until }: Term, now: Micros): boolean {
    if (outbid === null) return false
    if (mostRequests !== null) return true
    const { expires, lateness } = timingIn(state)
    const isLasting = outbid.last - outbid.since >= expires && now - outbid.last < expires
    return isLasting && now <= renewalStartOf(state, until) + lateness
  }

  /** The largest epoch, if it is the node's own and no node led under it; otherwise a larger one. */
  function nextEpoch({
    vote: { promised, config },
    known: { seen },
    largestLedEpoch,
  }: LocalLeaderState): number {
    const largest = Math.max(seen.number, promised.number)
    // A leader writes voters under its epoch. So that epoch is in use, even if no message has named it.
    if (config.id[0] > largest) return config.id[0] + 1
    const isOwn = [seen, promised].every(({ number, owner }) => number < largest || owner === self)
    return isOwn && largest > largestLedEpoch ? largest : largest + 1
  }

  return { afterRefusal, isOutbid, nextEpoch }
}

/**
 * Whether this voter's promise to another node no longer stands in the way of a leader that raised its epoch. Either
 * the promise is older than that leader's term, or the leader has since won a round under a larger epoch.
 */
export function isSuperseded(
  { vote: { promised }, known: { following } }: LocalLeaderState,
  from: NodeId,
  { renew, epoch, config, beacon: { lease } }: Election,
  now: Micros,
): boolean {
  const token = lease?.token ?? null
  if (!renew || token === null || promised.owner === from || promised.number <= token) return true
  // Smaller epochs are checked in ballot.ts.
  if (epoch <= promised.number) return true
  if (following === null || following.leader !== from || following.roundAt !== now) return false
  const { view } = following
  return view !== null && view.epoch > promised.number && holdsMajorities(config, view.members)
}
