/** The next request of a candidate or leader: its epoch, its configuration, and the Election that carries it. */
import type { Micros } from '../../core/index.ts'
import { createTreeRequests } from './ask.ts'
import type { Beacons } from './beacon.ts'
import type { Context } from './context.ts'
import { lockAt } from './levels.ts'
import { type Beacon, type Election, type Request, withLock } from './messages.ts'
import { changedPace, coveringLock, drawnLevel, lockIn, type Pace } from './pace.ts'
import { createEpochRaising } from './raise.ts'
import type { Reachability } from './reachability.ts'
import type { Candidacy, LocalLeaderState } from './state.ts'
import { type Configuration, isNewer, nextConfiguration } from './voters.ts'

export function createRequests(context: Context, beacons: Beacons, { reachableVoters }: Reachability) {
  const { self, isMajority, isLeading, settings } = context
  const { mostRequests, tree, timing, adaptive } = settings
  const { isOutbid, nextEpoch } = createEpochRaising(context)
  const { orderOf, viewOf, handleAsk } = createTreeRequests(context, beacons)

  /** The lock that the next request asks for. */
  function nextLock({ pace, incarnation, requests }: LocalLeaderState): Micros {
    if (pace === null) return timing.lockTime
    if (adaptive?.isDrawn !== true) return lockIn(pace)
    return lockAt(drawnLevel(pace.bounds, self, { incarnation, counter: requests + 1 }, 'lock'))
  }

  /**
   * A lease lasts until the locks of its last request expire, or those of an earlier one with the same voters. A leader
   * that changes the voters asks the new ones to be bound at least as long as the old ones are.
   */
  function lockFor(state: LocalLeaderState, renewed: Configuration | null, now: Micros): Micros {
    const { pace, term } = state
    const lock = nextLock(state)
    const keepsVoters = renewed === null || term === null || !isNewer(renewed, term.config)
    return pace === null || keepsVoters ? lock : coveringLock(lock, term.until, now, timing.rho)
  }

  /** In tests, the level changes with each request, before the answers come, and is not the level of its lock. */
  function paceAfter({ pace }: LocalLeaderState, request: Request): Pace | null {
    if (pace === null || adaptive?.isDrawn !== true) return pace
    return changedPace(pace, { level: drawnLevel(pace.bounds, self, request, 'pace') })
  }

  /** `isRaised`: the leader renews under a larger epoch (raise.ts). */
  function nextCandidacy(
    state: LocalLeaderState,
    now: Micros,
    isChosen: boolean,
  ): { readonly candidacy: Candidacy; readonly isRaised: boolean; readonly pace: Pace | null } {
    const renew = isLeading(state, now)
    const { term, vote } = state
    const isRaised = isMajority && renew && term !== null && isOutbid(state, term, now)
    const epoch = !isMajority ? 0 : renew && term !== null && !isRaised ? term.epoch : nextEpoch(state)
    const mayChange =
      isMajority &&
      renew &&
      term !== null &&
      !isNewer(vote.config, term.config) &&
      epoch <= state.largestLedEpoch
    const config = mayChange
      ? nextConfiguration(vote.config, reachableVoters(state, now), epoch, state.isContested)
      : vote.config
    const candidacy = {
      request: { incarnation: state.incarnation, counter: state.requests + 1 },
      at: now,
      lock: lockFor(state, renew ? config : null, now),
      epoch,
      renew,
      config,
      isProbe: false,
      supporters: [],
      answered: [],
      previousAt: state.eligibility.lastRequestAt,
      succeeds: !renew && vote.certificate !== null,
      isChosen,
    }
    return { candidacy, isRaised, pace: paceAfter(state, candidacy.request) }
  }

  function electionFor(state: LocalLeaderState, candidacy: Candidacy): (beacon: Beacon) => Election {
    const { request, epoch, renew, config, lock } = candidacy
    const view = renew && state.term !== null && mostRequests === null ? viewOf(state.term) : null
    const order = tree === null ? null : orderOf(config, view)
    const { certificate } = state.vote
    const wanted = renew ? state.wanted : null
    return (beacon) => {
      const kind = 'Election'
      const election = {
        kind,
        beacon,
        request,
        epoch,
        renew,
        config,
        certificate,
        view,
        wanted,
        tree: order,
      } as const
      return adaptive === null ? election : withLock(election, lock)
    }
  }

  return { nextLock, nextCandidacy, electionFor, handleAsk }
}
