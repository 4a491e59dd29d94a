/** Releases of other nodes: a candidate has failed, or a leader has handed over. */
import { type Micros, NOTHING, type NodeId, setTimer } from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import {
  type Context,
  type LocalLeaderEffect,
  type LocalLeaderStep,
  TIMER,
  UNWILLING,
  unchanged,
} from './context.ts'
import type { Release } from './messages.ts'
import type { Probes } from './probe.ts'
import type { Reachability } from './reachability.ts'
import type { Releases } from './release.ts'
import { type LocalLeaderState, withVote } from './state.ts'

type Candidacies = {
  startCandidacy(state: LocalLeaderState, now: Micros, isChosen: boolean): LocalLeaderStep
}

export function createReleaseHandling(
  context: Context,
  { recordBeacon, betterUntil }: Reachability,
  { isLed, voidRequests, revokePromise, startCandidacy }: Pick<Probes, 'isLed'> & Releases & Candidacies,
) {
  const { self, isEligible, isLeading, placeOf, timingIn, recordsFailures, settings } = context
  const { canRevokePromise } = settings.rules

  function handleRelease(
    before: LocalLeaderState,
    from: NodeId,
    { beacon, request, yields, to }: Release,
    receipt: Receipt,
    now: Micros,
  ): LocalLeaderStep {
    const heard = recordBeacon(before, from, beacon, receipt, now)
    const certificate = { owner: from, request }
    const free = voidRequests(heard, certificate, !yields)
    const state = canRevokePromise(yields) ? revokePromise(free, certificate) : free
    if (from === self) return unchanged(state)
    if (!yields) return { state, effects: retryAfterFailureOf(state, from, now) }
    const heir = withVote(state, { certificate })
    const mayLead = isEligible(heir) && !isLeading(heir, now)
    // Another node was chosen: it needs a round trip.
    const { roundTrip, lateness } = timingIn(heir)
    if (to !== undefined && to !== self)
      return mayLead && heir.candidacy === null
        ? { state: heir, effects: [setTimer(TIMER.alive, now + roundTrip + 2 * lateness)] }
        : unchanged(heir)
    // Where each node has stepped down lately, all rank low, and the node that steps down now may rank first.
    const yielding = heir.known.peers[placeOf(from)] ?? null
    const isNext = mayLead && (to === self || betterUntil(heir, now, (peer) => peer !== yielding) === null)
    // A request from before the hand-over is lost, because voters refused it: the next one carries the certificate.
    const isLost = heir.candidacy === null || !heir.candidacy.succeeds
    return isNext && isLost ? startCandidacy(heir, now, to === self) : unchanged(heir)
  }

  /** The node need not wait for a candidate that has given up its candidacy. */
  function retryAfterFailureOf(
    state: LocalLeaderState,
    from: NodeId,
    now: Micros,
  ): readonly LocalLeaderEffect[] {
    const peer = state.known.peers[placeOf(from)] ?? null
    const hasGivenUp = recordsFailures && peer !== null && !peer.candidate && peer.low >= UNWILLING
    const isWaiting =
      isEligible(state) && state.candidacy === null && !isLed(state, now) && !isLeading(state, now)
    return hasGivenUp && isWaiting ? [setTimer(TIMER.alive, now)] : NOTHING
  }

  return { handleRelease }
}
