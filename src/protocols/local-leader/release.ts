/** Releases: a leader frees its supporters, and a voter revokes its promise. */
import { type Micros, NOTHING, type NodeId, output, setTimer, stopTimer } from '../../core/index.ts'
import type { Beacons } from './beacon.ts'
import { type Context, type LocalLeaderStep, TIMER } from './context.ts'
import { type Certificate, isLater, isSame } from './messages.ts'
import { changed, type LocalLeaderState, withKnown, withVote } from './state.ts'

export type Releases = ReturnType<typeof createReleases>

export function createReleases({ latest, placeOf, listenUntil }: Context, { sendReleases }: Beacons) {
  /**
   * Stops leading, and only then releases the supporters. With `releases` false they stay bound until their locks
   * expire. `to`: the node that shall lead next, if it was chosen.
   */
  function giveUp(
    state: LocalLeaderState,
    cause: string,
    lowUntil: Micros | null,
    now: Micros,
    releases = true,
    to?: NodeId,
  ): LocalLeaderStep {
    const token = state.term?.token ?? null
    const next = changed(state, {
      term: null,
      candidacy: null,
      eligibility: { ...state.eligibility, candidate: false, lowUntil },
      wanted: null,
      isContested: false,
    })
    return {
      state: next,
      effects: [
        output({ type: 'demoted', token, cause }),
        stopTimer(TIMER.release),
        stopTimer(TIMER.expire),
        ...(releases ? sendReleases(next, latest(next), true, now, to) : NOTHING),
        setTimer(TIMER.alive, listenUntil(next, now)),
      ],
    }
  }

  /** All requests up to this one are void. With `exactly`, only a lock for this very request is released. */
  function voidRequests(
    state: LocalLeaderState,
    { owner, request }: Certificate,
    exactly = false,
  ): LocalLeaderState {
    const place = placeOf(owner)
    const { lock, released } = state.vote
    const known = released[place] ?? null
    const frees =
      lock !== null &&
      lock.owner === owner &&
      (exactly ? isSame(lock.request, request) : !isLater(lock.request, request))
    const isNews = known === null || isLater(request, known)
    if (!frees && !isNews) return state
    return withVote(state, {
      lock: frees ? null : lock,
      released: isNews ? released.with(place, request) : released,
    })
  }

  /**
   * A request has failed: no node led by it. The promise for it need not be kept, and would only make this voter refuse
   * a leader.
   */
  function revokePromise(state: LocalLeaderState, { owner, request }: Certificate): LocalLeaderState {
    const { promised, revocable } = state.vote
    if (revocable === null || promised.owner !== owner || !isSame(revocable.request, request)) return state
    return withVote(state, { promised: revocable.former, revocable: null })
  }

  /** The owner led and stopped: it is no longer a candidate, even if this news overtook its own message. */
  function applyCertificate(before: LocalLeaderState, certificate: Certificate): LocalLeaderState {
    const state = voidRequests(before, certificate)
    const place = placeOf(certificate.owner)
    const peer = state.known.peers[place] ?? null
    if (state === before || peer === null || !peer.candidate) return state
    return withKnown(state, { peers: state.known.peers.with(place, { ...peer, candidate: false }) })
  }

  return { giveUp, voidRequests, revokePromise, applyCertificate }
}
