/** Candidacies: requests to be elected, terms, and what ends them. */
import {
  assertLease,
  assertNoDecrease,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  persist,
  present,
  send,
  setTimer,
  stopTimer,
  withIds,
} from '../../core/index.ts'
import type { Ballots } from './ballot.ts'
import type { Beacons } from './beacon.ts'
import { type Context, type LocalLeaderStep, TIMER, unchanged } from './context.ts'
import { createReleaseHandling } from './handle-release.ts'
import type { HeartbeatSuppression } from './heartbeat-suppression.ts'
import { type Election, isSame, type Request } from './messages.ts'
import { isReached, newsOf } from './news.ts'
import type { Pacing } from './pacing.ts'
import { pauseOf, successionDelay } from './pauses.ts'
import { isRival } from './peers.ts'
import { createProbes } from './probe.ts'
import type { Reachability } from './reachability.ts'
import { afterMiss, afterWin as recordAfterWin } from './record.ts'
import { createReleases } from './release.ts'
import { createRequests } from './request.ts'
import {
  changed,
  type LocalLeaderState,
  replaceCandidacy,
  replaceTerm,
  type Term,
  withEligibility,
  withKnown,
  withSupporters,
  withVote,
  withVotes,
} from './state.ts'
import { holdsMajorities, isVoter, votersOf } from './voters.ts'

export type CandidacyHandlers = ReturnType<typeof createCandidacy>

export function createCandidacy(
  context: Context,
  beacons: Beacons,
  reachability: Reachability,
  { isSupportable, castVote }: Ballots,
  { delayHeartbeat, announceLeader }: HeartbeatSuppression,
  pacing: Pacing,
) {
  const {
    self,
    others,
    stableOf,
    isMajority,
    canLead,
    isEligible,
    isLeading,
    renewalStartOf,
    settings,
    timingIn,
    leaseUnder,
    listenUntil,
    recordsFailures,
  } = context
  const { beaconOf, broadcast, sendReleases, sendNotice } = beacons
  const {
    betterUntil,
    hasSuccessor,
    couldWin,
    isWithoutMajority,
    isSupportedByAll,
    patienceIn,
    forgetExpiredPeers,
  } = reachability
  const { mostRequests, tree, yieldWhenTold } = settings
  const { isBoundByLease, isLeaseOver, attemptedAt, canSucceed, lockOfLease } = settings.rules

  const { canDisturbLeader, isLed, probe } = createProbes(context, beacons)
  const { nextLock, nextCandidacy, electionFor, handleAsk } = createRequests(context, beacons, reachability)
  const releases = createReleases(context, beacons)
  const { giveUp, applyCertificate } = releases

  // ---- Candidacies ----

  /** Decides whether the node should be a candidate, and whether it must renew its lease. */
  function handleAlive(state: LocalLeaderState, now: Micros, defers: boolean): LocalLeaderStep {
    if (!isEligible(state)) {
      // The node may become a voter.
      const effects = canLead ? [setTimer(TIMER.alive, listenUntil(state, now))] : NOTHING
      return { state: withEligibility(state, { candidate: false }), effects }
    }
    if (state.candidacy !== null) return unchanged(state)
    const timing = timingIn(state)
    const rivalUntil = rivalsUntil(state, now)
    if (rivalUntil !== null) {
      if (isBoundByLease(isLeading(state, now))) {
        if (yieldWhenTold) return askToYield(startCandidacy(state, now), 'outranked')
        return giveUp(state, 'outranked', state.eligibility.lowUntil, now)
      }
      return {
        state: withEligibility(state, { candidate: false, deferringSince: null }),
        effects: [setTimer(TIMER.alive, rivalUntil + successionDelay(timing))],
      }
    }
    const nextTurn = nextTurnAt(state, now)
    if (nextTurn !== null && isLeading(state, now) && hasSuccessor(state, now)) {
      if (yieldWhenTold) return askToYield(startCandidacy(state, now), 'term over')
      return giveUp(state, 'term over', nextTurn, now)
    }
    if (defers && !isLeading(state, now) && !state.eligibility.candidate) {
      const betterGone = betterUntil(state, now, ({ candidate }) => !candidate)
      const since = state.eligibility.deferringSince ?? now
      const defersUntil = since + timing.deference
      if (betterGone !== null && now < defersUntil) {
        const until = Math.min(defersUntil, betterGone)
        // If all nodes have lost their rank, all may wait for the same node. They must not become candidates at the
        // same time.
        const hasRank = state.eligibility.record.proofs === null
        return {
          state: withEligibility(state, { candidate: false, deferringSince: since }),
          effects: [setTimer(TIMER.alive, hasRank ? until : [until, until + pauseOf(timing)[1]])],
        }
      }
    }
    return startCandidacy(state, now)
  }

  function rivalsUntil(state: LocalLeaderState, now: Micros): Micros | null {
    const patience = patienceIn(state)
    return betterUntil(state, now, (peer) => isRival(peer, now, patience))
  }

  /** The node is awake: if a node of better rank is up, it need not wake up again to find that. */
  function postponeAlive(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    if (state.term !== null || rivalsUntil(state, now) === null) return unchanged(state)
    return handleAlive(state, now, true)
  }

  /** With rotation: when this leader may lead again, if its term is over. */
  function nextTurnAt({ term, vote }: LocalLeaderState, now: Micros): Micros | null {
    const { rotationPeriod } = settings
    if (rotationPeriod === null || term === null || now - term.since < rotationPeriod) return null
    return now + rotationPeriod * (votersOf(vote.config).length - 1)
  }

  /** After a step-down the node ranks low for a while, so that other nodes lead. `to`: see hand-over.ts. */
  function stepDown(state: LocalLeaderState, now: Micros, to?: NodeId): LocalLeaderStep {
    const lowUntil = nextTurnAt(state, now) ?? now + timingIn(state).retirement
    return giveUp(state, 'stepped down', lowUntil, now, true, to)
  }

  /**
   * The leader should yield, so it asks the application to end its work. It keeps leading as long as its supporters
   * allow it.
   */
  function askToYield({ state, effects }: LocalLeaderStep, cause: string): LocalLeaderStep {
    return {
      state,
      effects: [...effects, output({ type: 'yield', token: state.term?.token ?? null, cause })],
    }
  }

  /** Asks all nodes for their support. */
  function startCandidacy(before: LocalLeaderState, now: Micros, isChosen = false): LocalLeaderStep {
    if (mostRequests !== null && before.requests >= mostRequests) return unchanged(before)
    const renew = isLeading(before, now)
    // At a higher level, nodes that are gone at this one would count as reachable again.
    const known = renew || !pacing.isMeasuring ? before : forgetExpiredPeers(before, now)
    const state = pacing.beforeRequest(known, renew, isChosen, now)
    const { term } = state
    const timing = timingIn(state)
    if (!renew && !couldWin(state, now)) {
      const pause = pauseOf(timing)
      const candidate = !isWithoutMajority(state, now)
      const waiting = withEligibility(state, { candidate, deferringSince: null })
      return {
        state: waiting,
        effects: [
          // Missing voters may not know yet that they are voters, or may know of a newer configuration.
          ...others.map(({ id }) => sendNotice(waiting, id, now)),
          setTimer(TIMER.alive, [now + pause[0], now + pause[1]]),
        ],
      }
    }
    const { record } = state.eligibility
    if (recordsFailures && !renew && !record.isProven && canDisturbLeader(state, now))
      return probe(state, now)
    const { candidacy, isRaised, pace } = nextCandidacy(state, now, isChosen)
    const { request, epoch, config } = candidacy
    // A node that failed lately does not announce its candidacy. A leader always does.
    const announces = renew || record.proofs === null
    const candidate = withEligibility(state, {
      candidate: announces,
      record: record.isProven ? { ...record, isProven: false } : record,
      deferringSince: null,
      lastRequestAt: attemptedAt(now),
    })
    // The node stores the configuration that it writes before other nodes can: the same id must never mean other
    // voters. It stores a configuration without itself only when that is in force, because until then it must be able
    // to renew.
    const writes = config !== state.vote.config && isVoter(config, self)
    const next = changed(writes ? withVote(candidate, { config }) : candidate, {
      requests: request.counter,
      candidacy,
      pace,
      term: isRaised && term !== null ? { ...term, epoch, outbid: null } : term,
    })
    const election = electionFor(state, candidacy)
    const timers = [
      setTimer(TIMER.release, pacing.roundEndsAt(state, renew, now)),
      ...(renew ? delayHeartbeat(next, now) : NOTHING),
      ...(tree === null ? NOTHING : [setTimer(TIMER.ask, now + tree.patience * (tree.levels + 1))]),
    ]
    if (!isMajority) {
      const own = send(self, election(beaconOf(next, now, true)))
      return { state: next, effects: [...broadcast(next, now, election), own, ...timers] }
    }
    // The node casts and stores its own vote first: no other node hears of a candidate that cannot store its vote. A node
    // that may not vote for itself yet, because it supports a leader, stores its state again to test the storage.
    const own = castOwnVote(next, election(beaconOf(next, now, true)), now)
    const isNews = own.isNews || writes || (announces && !state.eligibility.candidate && !own.isCast)
    const counted = own.isCast ? countSupport(own.state, [self], request, now) : unchanged(own.state)
    return {
      state: counted.state,
      effects: [
        ...(isNews ? [persist(stableOf(own.state))] : NOTHING),
        ...broadcast(own.state, now, election),
        ...timers,
        ...counted.effects,
      ],
    }
  }

  /** The node's own vote for its request, if it may cast it. */
  function castOwnVote(
    before: LocalLeaderState,
    election: Election,
    now: Micros,
  ): { readonly state: LocalLeaderState; readonly isCast: boolean; readonly isNews: boolean } {
    const { certificate } = election
    const state = certificate === null ? before : applyCertificate(before, certificate)
    if (!isSupportable(state, self, election, false, now)) return { state, isCast: false, isNews: false }
    const vote = castVote(state, self, election, now)
    return { state: vote.state, isCast: true, isNews: vote.stored.length > 0 }
  }

  // ---- Answers ----

  /** These nodes have answered a request, for it or against it. */
  function countAnswers(
    state: LocalLeaderState,
    from: readonly NodeId[],
    request: Request,
    now: Micros,
  ): LocalLeaderStep {
    const { candidacy } = state
    if (!recordsFailures || candidacy === null || !isSame(candidacy.request, request)) return unchanged(state)
    const answered = withIds(candidacy.answered, from)
    const next = replaceCandidacy(state, withVotes(candidacy, candidacy.supporters, answered))
    return candidacy.isProbe && isAnswered(next) ? passProbe(next, now) : unchanged(next)
  }

  function isAnswered({ candidacy }: LocalLeaderState): boolean {
    const { config, answered } = present(candidacy, 'candidacy')
    return holdsMajorities(config, withIds(answered, [self]))
  }

  /** The node and a majority hear each other: it may become a candidate. */
  function passProbe(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const record = { ...state.eligibility.record, isProven: true, misses: 0 }
    const next = replaceCandidacy(withEligibility(state, { record }), null)
    const step = handleAlive(next, now, true)
    return { state: step.state, effects: [stopTimer(TIMER.release), ...step.effects] }
  }

  // ---- Support ----

  function countSupport(
    state: LocalLeaderState,
    from: readonly NodeId[],
    request: Request,
    now: Micros,
  ): LocalLeaderStep {
    const { candidacy, term } = state
    if (candidacy !== null && isSame(candidacy.request, request)) {
      const supporters = withIds(candidacy.supporters, from)
      const next = replaceCandidacy(state, withVotes(candidacy, supporters))
      const isEarly = isMajority || isLeading(state, now)
      return isEarly && isElected(next, now) ? becomeLeader(next, now) : unchanged(next)
    }
    // A late vote for the request by which the node leads already: it still binds the voter.
    if (isMajority && term !== null && isSame(term.request, request)) {
      return unchanged(
        replaceTerm(state, withSupporters(term, from, term.requestedAt + leaseUnder(term.lock))),
      )
    }
    return unchanged(state)
  }

  /** A voter refuses a renewal: the next try does not wait for late answers. */
  function countRefusal(state: LocalLeaderState, request: Request, now: Micros): LocalLeaderStep {
    const { candidacy } = state
    if (!pacing.isMeasuring || candidacy === null || !isSame(candidacy.request, request))
      return unchanged(state)
    const end = Math.max(now, candidacy.at + timingIn(state).collection)
    return { state, effects: [setTimer(TIMER.release, end)] }
  }

  function isElected(state: LocalLeaderState, now: Micros): boolean {
    const attempt = present(state.candidacy, 'candidacy')
    const { supporters, config } = attempt
    if (!supporters.includes(self) || !canSucceed(attempt, timingIn(state))) return false
    if (isMajority && !holdsMajorities(config, supporters)) return false
    return (isMajority && settings.rule === 'quorum') || isSupportedByAll(state, supporters, now)
  }

  /** A round ends that was not won before. */
  function handleRoundEnd(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    if (state.candidacy === null) return unchanged(state)
    if (state.candidacy.isProbe) {
      const record = afterMiss(state.eligibility.record, 'unanswered')
      const next = replaceCandidacy(withEligibility(state, { record }), null)
      const [least, most] = pauseOf(timingIn(state))
      return { state: next, effects: [setTimer(TIMER.alive, [now + least, now + most])] }
    }
    return isElected(state, now) ? becomeLeader(state, now) : loseElection(state, now)
  }

  function becomeLeader(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const candidacy = present(state.candidacy, 'candidacy')
    const lease = leaseUnder(lockOfLease(candidacy.lock, nextLock(state)))
    const own = candidacy.at + lease
    const isLate = isLeaseOver(own, now) || (candidacy.renew && isLeaseOver(state.term?.until ?? null, now))
    if (isLate) return loseElection(state, now)
    const before = candidacy.renew ? state.term : null
    // Adaptive timing: a request with a shorter lock leaves the locks of the request before, and the lease that they protect.
    const until = before === null || state.pace === null ? own : Math.max(own, before.until)
    const token = before !== null ? before.token : isMajority ? candidacy.epoch : null
    const fresh: Term = {
      token,
      epoch: candidacy.epoch,
      since: before === null ? now : before.since,
      until,
      request: candidacy.request,
      requestedAt: candidacy.at,
      lock: candidacy.lock,
      supporters: before === null || !isMajority ? [] : before.supporters.filter((each) => each.until > now),
      members: before === null ? [] : before.members,
      config: candidacy.config,
      outbid: before === null ? null : before.outbid,
    }
    assertLease(own, candidacy.at, lease)
    if (before !== null) assertNoDecrease('the end of the lease', before.until, until)
    // A new term has a token of its own; a renewal keeps it.
    if (isMajority) {
      const least = before === null ? state.largestLedEpoch + 1 : before.epoch
      assertNoDecrease('the epoch', least, candidacy.epoch)
    }
    const term = withSupporters(fresh, candidacy.supporters, own)
    const isLasting = before !== null && now - before.since >= timingIn(state).retirement
    const elect = withEligibility(state, {
      candidate: true,
      record: recordAfterWin(state.eligibility.record, isLasting),
    })
    const settled = withVote(withKnown(elect, { following: null }), { certificate: null })
    const led = changed(settled, {
      candidacy: null,
      term,
      largestLedEpoch: Math.max(state.largestLedEpoch, candidacy.epoch),
      wanted: isReached(state, candidacy) ? null : state.wanted,
      isContested: state.isContested && candidacy.config.id[0] !== candidacy.epoch,
    })
    const { state: next, effects: level } = pacing.afterRound(led, now - candidacy.at, before === null, now)
    const timers = [
      stopTimer(TIMER.release),
      setTimer(TIMER.expire, until),
      setTimer(TIMER.alive, Math.max(now, renewalStartOf(next, until))),
      ...(before === null ? announceLeader(next, now) : NOTHING),
    ]
    const news = [...newsOf(state, candidacy, before === null ? token : undefined), ...level]
    if (isVoter(candidacy.config, self)) return { state: next, effects: [...timers, ...news] }
    const dismissed = withVote(next, { config: candidacy.config })
    if (yieldWhenTold) {
      const yielding = askToYield({ state: dismissed, effects: [...timers, ...news] }, 'no longer a voter')
      return { state: yielding.state, effects: [persist(stableOf(dismissed)), ...yielding.effects] }
    }
    const gone = giveUp(dismissed, 'no longer a voter', null, now)
    return {
      state: gone.state,
      effects: [persist(stableOf(gone.state)), ...timers, ...news, ...gone.effects],
    }
  }

  function loseElection(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const candidacy = present(state.candidacy, 'candidacy')
    const missed = recordsFailures && !isLeading(state, now) ? recordMiss(state) : state
    const next = replaceCandidacy(missed, null)
    if (isBoundByLease(isLeading(state, now))) {
      return { state: next, effects: [stopTimer(TIMER.release), setTimer(TIMER.alive, now)] }
    }
    const [least, most] = pauseOf(timingIn(state))
    const again: Micros | readonly [Micros, Micros] =
      least === most
        ? Math.max(now, candidacy.at + least)
        : [Math.max(now, candidacy.at + least), Math.max(now, candidacy.at + most)]
    return {
      state: next,
      effects: [
        stopTimer(TIMER.release),
        setTimer(TIMER.alive, isLeading(state, now) ? now : again),
        ...sendReleases(next, candidacy.request, false, now),
      ],
    }
  }

  /** The node has failed to be elected. If it keeps failing it lowers its rank, and no longer announces its candidacy. */
  function recordMiss(state: LocalLeaderState): LocalLeaderState {
    const { eligibility } = state
    const record = afterMiss(eligibility.record, isAnswered(state) ? 'refused' : 'unanswered')
    return withEligibility(pacing.afterFailure(state, isAnswered(state)), {
      record,
      candidate: eligibility.candidate && record.proofs === null,
    })
  }

  const { handleRelease } = createReleaseHandling(context, reachability, {
    ...releases,
    isLed,
    startCandidacy,
  })

  return {
    handleAlive,
    postponeAlive,
    handleAsk,
    handleRoundEnd,
    countSupport,
    countRefusal,
    countAnswers,
    giveUp,
    stepDown,
    handleRelease,
    applyCertificate,
  }
}
