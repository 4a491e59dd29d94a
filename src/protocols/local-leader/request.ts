/** The next request of a candidate or leader: its epoch, its configuration, and the Election that carries it. */
import type { Micros } from '../../core/index.ts'
import { createTreeRequests } from './ask.ts'
import type { Beacons } from './beacon.ts'
import type { Context } from './context.ts'
import type { Beacon, Election } from './messages.ts'
import { createEpochRaising } from './raise.ts'
import type { Reachability } from './reachability.ts'
import type { Candidacy, LocalLeaderState } from './state.ts'
import { isNewer, nextConfiguration } from './voters.ts'

export function createRequests(context: Context, beacons: Beacons, { reachableVoters }: Reachability) {
  const { isMajority, isLeading, settings } = context
  const { mostRequests, tree } = settings
  const { isOutbid, nextEpoch } = createEpochRaising(context)
  const { orderOf, viewOf, handleAsk } = createTreeRequests(context, beacons)

  /** `isRaised`: the leader renews under a larger epoch (raise.ts). */
  function nextCandidacy(
    state: LocalLeaderState,
    now: Micros,
    isChosen: boolean,
  ): { readonly candidacy: Candidacy; readonly isRaised: boolean } {
    const renew = isLeading(state, now)
    const { term, vote } = state
    const isRaised = isMajority && renew && term !== null && isOutbid(term, now)
    const epoch = !isMajority ? 0 : renew && term !== null && !isRaised ? term.epoch : nextEpoch(state)
    const mayChange =
      isMajority &&
      renew &&
      term !== null &&
      !isNewer(vote.config, term.config) &&
      epoch <= state.largestLedEpoch
    const candidacy = {
      request: { incarnation: state.incarnation, counter: state.requests + 1 },
      at: now,
      epoch,
      renew,
      config: mayChange
        ? nextConfiguration(vote.config, reachableVoters(state, now), epoch, state.isContested)
        : vote.config,
      isProbe: false,
      supporters: [],
      answered: [],
      previousAt: state.eligibility.lastRequestAt,
      succeeds: !renew && vote.certificate !== null,
      isChosen,
    }
    return { candidacy, isRaised }
  }

  function electionFor(state: LocalLeaderState, candidacy: Candidacy): (beacon: Beacon) => Election {
    const { request, epoch, renew, config } = candidacy
    const view = renew && state.term !== null && mostRequests === null ? viewOf(state.term) : null
    const order = tree === null ? null : orderOf(config, view)
    return (beacon) => ({
      kind: 'Election',
      beacon,
      request,
      epoch,
      renew,
      config,
      certificate: state.vote.certificate,
      view,
      wanted: renew ? state.wanted : null,
      tree: order,
    })
  }

  return { nextCandidacy, electionFor, handleAsk }
}
