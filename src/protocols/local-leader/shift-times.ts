/** The same state with every instant in it moved: what the protocol contract asks of `shift`. */
import type { Micros } from '../../core/index.ts'
import { shiftPace } from './pace.ts'
import type { LocalLeaderState } from './state.ts'

export function shiftTimes(state: LocalLeaderState, by: Micros): LocalLeaderState {
  const later = (instant: Micros | null): Micros | null => (instant === null ? null : instant + by)
  const { candidacy, term, known, eligibility, vote } = state
  const { lock } = vote
  const { following } = known
  return {
    ...state,
    pace: state.pace && shiftPace(state.pace, by),
    epochGrowth: state.epochGrowth && { ...state.epochGrowth, at: state.epochGrowth.at + by },
    silentUntil: later(state.silentUntil),
    known: {
      seen: known.seen,
      holdUntil: later(known.holdUntil),
      peers: known.peers.map(
        (peer) =>
          peer && {
            ...peer,
            heardAt: peer.heardAt + by,
            saidAt: peer.saidAt + by,
            oneWaySince: later(peer.oneWaySince),
            claim: peer.claim && { since: peer.claim.since + by, last: peer.claim.last + by },
          },
      ),
      following: following && {
        ...following,
        until: following.until + by,
        roundAt: following.roundAt + by,
        view: following.view && { ...following.view, until: following.view.until + by },
      },
    },
    eligibility: {
      ...eligibility,
      lowUntil: later(eligibility.lowUntil),
      deferringSince: later(eligibility.deferringSince),
      lastRequestAt: later(eligibility.lastRequestAt),
      announced: eligibility.announced && { ...eligibility.announced, at: eligibility.announced.at + by },
    },
    vote: { ...vote, lock: lock && { ...lock, until: lock.until + by } },
    candidacy: candidacy && { ...candidacy, at: candidacy.at + by, previousAt: later(candidacy.previousAt) },
    term: term && {
      ...term,
      since: term.since + by,
      until: term.until + by,
      requestedAt: term.requestedAt + by,
      supporters: term.supporters.map((each) => ({ ...each, until: each.until + by })),
      outbid: term.outbid && { since: term.outbid.since + by, last: term.outbid.last + by },
    },
  }
}
