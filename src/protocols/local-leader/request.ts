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
  const { isMajority, leads, settings } = context
  const { mostRequests, tree } = settings
  const { isOutbid, nextEpoch } = createEpochRaising(context)
  const { orderOf, viewOf, handleAsk } = createTreeRequests(context, beacons)

  /** `isRaised`: the leader renews under a larger epoch (raise.ts). */
  function nextCandidacy(
    state: LocalLeaderState,
    now: Micros,
  ): { readonly candidacy: Candidacy; readonly isRaised: boolean } {
    const renew = leads(state, now)
    const { lead, vote } = state
    const isRaised = isMajority && renew && lead !== null && isOutbid(lead, now)
    const epoch = !isMajority ? 0 : renew && lead !== null && !isRaised ? lead.epoch : nextEpoch(state)
    const mayChange =
      isMajority && renew && lead !== null && !isNewer(vote.config, lead.config) && epoch <= state.spent
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
      previousAt: state.standing.stoodAt,
      succeeds: !renew && vote.certificate !== null,
    }
    return { candidacy, isRaised }
  }

  function electionFor(state: LocalLeaderState, candidacy: Candidacy): (beacon: Beacon) => Election {
    const { request, epoch, renew, config } = candidacy
    const view = renew && state.lead !== null && mostRequests === null ? viewOf(state.lead) : null
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
