/**
 * The local leader service: one leader in each partition (local mode), or one in all (majority mode), by locks and
 * leases on clocks that drift by at most ρ.
 *
 * A node that hears of no candidate of better rank becomes a candidate itself: it asks all nodes for their support
 * (Election). A supporter is locked to the candidate for `lockTime`, and answers (Reply). With the support of all nodes
 * that it hears (local mode), or of a majority of the voters (majority mode), the candidate leads. Its lease starts with
 * its request, and is shorter than a lock on any two clocks. So no node need ever learn that a leader has failed: its
 * supporters are free only when it has stopped leading by itself. The leader renews well before that, with several tries.
 * A candidate that fails frees its supporters (Release). A leader never does, because it may still lead by an older
 * request. A leader that steps down first stops leading, and then releases all its requests, with a certificate that its
 * successor can show to nodes that have not heard of it yet.
 *
 * In majority mode every term has an epoch of its own, its token. A voter promises an epoch to one candidate, and
 * remembers that through crashes. So tokens only grow, independent of clocks.
 *
 * Source: Fetzer & Cristian, A Highly Available Local Leader Election Service, 1999, corrected where it fails: README.md.
 */
import {
  type Identity,
  type Input,
  type Micros,
  NOTHING,
  type NodeId,
  output,
  type Protocol,
  persist,
  setTimer,
  sortIds,
  stopTimer,
  unreachable,
  type View,
  withId,
} from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import { createBallots } from './ballot.ts'
import { createBeacons } from './beacon.ts'
import { isNodeId } from './bounds.ts'
import { createCandidacy } from './candidacy.ts'
import { contextOf, type LocalLeaderStep, TIMER, unchanged } from './context.ts'
import { handOverProblem } from './hand-over.ts'
import { createHeartbeatSuppression } from './heartbeat-suppression.ts'
import { initialState } from './initial-state.ts'
import { createLeaseBounds } from './lease-bounds.ts'
import { type Beacon, type LocalLeaderCommand, type LocalLeaderMessage } from './messages.ts'
import { reportMismatch } from './mismatches.ts'
import { createPacing, hasLowerLevel } from './pacing.ts'
import { laterEpoch } from './peers.ts'
import { createPlausibilityChecks } from './plausible.ts'
import { createReachability, HEARTBEAT_SENDERS } from './reachability.ts'
import { afterFailure, CLEAN_RECORD } from './record.ts'
import type { LocalLeaderSettings } from './settings.ts'
import { shiftTimes } from './shift-times.ts'
import { checkedStable, type LocalLeaderStable } from './stable.ts'
import { changed, type LocalLeaderState, withEligibility, withKnown } from './state.ts'
import { createVetting } from './strangers.ts'
import { type Configuration, isVoter } from './voters.ts'
import { createVoting } from './voting.ts'

/** Without a layer that measures delays, every message counts as fast. */
const ASSUMED_FAST: Receipt = { fast: true, bound: null, overtaken: false }

export function localLeader(
  identity: Identity,
  settings: LocalLeaderSettings,
): Protocol<LocalLeaderState, LocalLeaderMessage, LocalLeaderCommand, LocalLeaderStable> {
  const context = contextOf(identity, settings)
  const { self, nodes, isMajority, usesHeartbeats, isLeading, isParticipating, recordsFailures, stableOf } =
    context
  const { rules, witnesses, tree, yieldWhenTold } = settings
  const { isLeaseOver } = rules
  const { timingIn, listenUntil } = context
  const beacons = createBeacons(context)
  const suppression = createHeartbeatSuppression(context, beacons)
  const reachability = createReachability(context, suppression)
  const ballots = createBallots(context, reachability)
  const { storeShorterLock } = ballots
  const pacing = createPacing(context)
  const { receiptIn, takeOverLevel, measureTimer, measureMessage, noteTimers, raiseToHear } = pacing
  const candidacies = createCandidacy(context, beacons, reachability, ballots, suppression, pacing)
  const voting = createVoting(context, beacons, reachability, ballots, candidacies, pacing)
  const { reportBounds, boundsProblem, setBounds } = createLeaseBounds(context)
  const { sendReleases } = beacons
  const { recordBeacon, forgetExpiredPeers, isHeartbeatSender } = reachability
  const { giveUp, stepDown } = candidacies
  const detailOf = createDetail(isMajority)
  const vet = createVetting(nodes)
  const { findImplausible, withoutForeign, recordEpochGrowth } = createPlausibilityChecks(context)
  const isAmongFirst = sortIds(nodes).indexOf(self) < HEARTBEAT_SENDERS

  // ---- Time ----

  function handleHeartbeatTimer(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const awake = state.silentUntil !== null && now >= state.silentUntil ? endSilence(state) : state
    const next = raiseToHear(forgetExpiredPeers(awake, now), now)
    const first = awake === state ? NOTHING : [setTimer(TIMER.alive, listenUntil(next, now))]
    if (!usesHeartbeats && next.silentUntil === null) return { state: next, effects: first }
    const sent = sendHeartbeat(next, now)
    const again = setTimer(TIMER.heartbeat, next.silentUntil ?? suppression.nextHeartbeatAt(sent.state, now))
    return { state: sent.state, effects: [...sent.effects, ...first, again] }
  }

  function sendHeartbeat(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    return usesHeartbeats && isParticipating(state) && isHeartbeatSender(state, now)
      ? suppression.sendHeartbeat(state, now)
      : unchanged(state)
  }

  /** In a large group the other nodes first listen whether they need to send heartbeats. */
  function firstHeartbeatAt(state: LocalLeaderState, now: Micros): Micros {
    return tree === null || isAmongFirst ? now : now + 2 * timingIn(state).heartbeat
  }

  function endSilence(state: LocalLeaderState): LocalLeaderState {
    return changed(state, { silentUntil: null })
  }

  /** Ends the term of a lease that has expired. */
  function expireLease(state: LocalLeaderState): LocalLeaderStep {
    const token = state.term?.token ?? null
    const { record } = state.eligibility
    const next = recordsFailures
      ? withEligibility(state, { record: afterFailure(record), candidate: false })
      : state
    return {
      state: changed(next, { term: null, wanted: null, isContested: false }),
      effects: [stopTimer(TIMER.expire), output({ type: 'demoted', token, cause: 'expired' })],
    }
  }

  /** The clock stood still: leases, requests and what is known of other nodes are no longer valid. */
  function handleSuspended(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    if (!rules.distrustsSuspendedClock()) return unchanged(state)
    const next = withKnown(state, { following: null, peers: nodes.map(() => null) })
    if (state.term !== null) {
      return sendHeartbeatNow(giveUp(next, 'suspended', state.eligibility.lowUntil, now, !yieldWhenTold), now)
    }
    const idle = withEligibility(changed(next, { candidacy: null }), { candidate: false })
    const freed: LocalLeaderStep['effects'] =
      state.candidacy === null
        ? NOTHING
        : [stopTimer(TIMER.release), ...sendReleases(idle, state.candidacy.request, false, now)]
    // The node listens before it becomes a candidate: at this moment it knows of no other node.
    const listens = state.silentUntil === null ? [setTimer(TIMER.alive, listenUntil(idle, now))] : NOTHING
    return sendHeartbeatNow({ state: idle, effects: [...freed, ...listens] }, now)
  }

  /** All nodes learn at once that its earlier timestamps are void; until then it cannot tell which messages are fast. */
  function sendHeartbeatNow(step: LocalLeaderStep, now: Micros): LocalLeaderStep {
    if (!usesHeartbeats || step.state.silentUntil !== null) return step
    return { state: step.state, effects: [...step.effects, setTimer(TIMER.heartbeat, now)] }
  }

  // ---- Commands ----

  function handleCommand(state: LocalLeaderState, command: LocalLeaderCommand, now: Micros): LocalLeaderStep {
    switch (command.do) {
      case 'stepDown':
        return handleStepDown(state, command.to, now)
      case 'campaign':
        return handleCampaign(state, command.willing, command.lapse, now)
      case 'setPriority':
        return {
          state: withEligibility(state, { priority: command.priority, record: CLEAN_RECORD }),
          effects: suppression.announceRank(state, now),
        }
      case 'addVoter':
        return changeVoters(state, command.do, now, (voters) => withId(voters, command.voter))
      case 'removeVoter':
        return changeVoters(state, command.do, now, (voters) =>
          voters.filter((voter) => voter !== command.voter),
        )
      case 'setLeaseBounds':
        return handleBounds(state, command.leaseMinMs, command.leaseMaxMs)
      default:
        return unreachable(command)
    }
  }

  /** The node wants to lead from now on, or not: then its followers elect another, at once or when its lease expires. */
  function handleCampaign(
    state: LocalLeaderState,
    willing: boolean,
    lapse: boolean,
    now: Micros,
  ): LocalLeaderStep {
    const next = withEligibility(state, willing ? { willing, record: CLEAN_RECORD } : { willing })
    if (next === state && (willing || !isLeading(state, now))) return unchanged(state)
    if (!isLeading(state, now)) {
      const { candidacy } = next
      if (willing || candidacy === null) return { state: next, effects: suppression.announceRank(next, now) }
      // The node has asked for support, and further votes would elect it.
      const idle = withEligibility(changed(next, { candidacy: null }), { candidate: false })
      const freed = [stopTimer(TIMER.release), ...sendReleases(idle, candidacy.request, false, now)]
      const again = setTimer(TIMER.alive, listenUntil(idle, now))
      return { state: idle, effects: [...freed, again, ...suppression.announceRank(idle, now)] }
    }
    // The time of the next renewal may have passed.
    if (willing) return { state: next, effects: [setTimer(TIMER.alive, now)] }
    return lapse ? unchanged(next) : giveUp(next, 'withdrew', state.eligibility.lowUntil, now)
  }

  function handleStepDown(state: LocalLeaderState, to: NodeId | undefined, now: Micros): LocalLeaderStep {
    const problem = to === undefined ? null : handOverProblem(context, state, to, now)
    if (problem !== null) return refuse(state, 'stepDown', problem)
    return isLeading(state, now)
      ? stepDown(state, now, to)
      : refuse(state, 'stepDown', 'this node does not lead')
  }

  function handleBounds(state: LocalLeaderState, leaseMinMs: number, leaseMaxMs: number): LocalLeaderStep {
    const problem = boundsProblem(state, leaseMinMs, leaseMaxMs)
    if (problem !== null) return refuse(state, 'setLeaseBounds', problem)
    return unchanged(setBounds(state, leaseMinMs, leaseMaxMs))
  }

  function refuse(state: LocalLeaderState, command: string, why: string): LocalLeaderStep {
    return { state, effects: [output({ type: 'refused', command, why })] }
  }

  function changeVoters(
    state: LocalLeaderState,
    command: string,
    now: Micros,
    change: (voters: readonly NodeId[]) => readonly NodeId[],
  ): LocalLeaderStep {
    if (!isMajority) return refuse(state, command, 'only majority mode has voters')
    if (!isLeading(state, now)) return refuse(state, command, 'this node does not lead')
    const current = state.wanted ?? state.vote.config.sets.at(-1) ?? []
    const wanted = change(current)
    if (!wanted.every(isNodeId)) return refuse(state, command, 'the voter must be named by its id')
    const stranger = wanted.find((voter) => !nodes.includes(voter))
    if (stranger !== undefined) return refuse(state, command, `${stranger} is not one of the nodes`)
    if (wanted.length === 0) return refuse(state, command, 'at least one voter must be left')
    if (wanted.every((voter) => witnesses.includes(voter))) {
      return refuse(state, command, 'at least one voter must be able to lead')
    }
    return unchanged(wanted.join() === current.join() ? state : changed(state, { wanted }))
  }

  // ---- Inputs ----

  function handleMessage(
    state: LocalLeaderState,
    from: NodeId,
    message: LocalLeaderMessage,
    receipt: Receipt,
    now: Micros,
  ): LocalLeaderStep {
    const wrong = findImplausible(state, from, message, now)
    if (wrong !== null) {
      const { field, problem, learnt } = wrong
      const seen = learnt === null ? state.known.seen : laterEpoch(state.known.seen, learnt)
      return {
        state: seen === state.known.seen ? state : withKnown(state, { seen }),
        effects: [output({ type: 'implausible', peer: from, field: `${message.kind}.${field}`, problem })],
      }
    }
    const { body, stranger } = vet(withoutForeign(state, message))
    const step = body === null ? unchanged(state) : handleVetted(state, from, body, receipt, now)
    if (stranger === null) return step
    const announced = reportMismatch(step.state, {
      peer: from,
      field: 'peers',
      ours: nodes,
      theirs: stranger,
    })
    return announced.event === null
      ? step
      : { state: announced.state, effects: [...step.effects, output(announced.event)] }
  }

  function handleVetted(
    before: LocalLeaderState,
    from: NodeId,
    body: LocalLeaderMessage,
    receipt: Receipt,
    now: Micros,
  ): LocalLeaderStep {
    const state = measureMessage(before, from, body, receipt, now)
    switch (body.kind) {
      case 'Heartbeat':
        return handleHeartbeat(state, from, body.beacon, receipt, now)
      case 'Election':
        return forgetExpired(
          suppression.heartbeatWithReply(state, voting.handleElection(state, from, body, receipt, now), now),
          now,
        )
      case 'Reply':
        return reportBounds(voting.handleReply(state, from, body, receipt, now), from, body)
      case 'Release':
        return candidacies.handleRelease(state, from, body, receipt, now)
      default:
        return unreachable(body)
    }
  }

  /** Where heartbeats are suppressed, each round forgets the nodes that have expired. */
  function forgetExpired({ state, effects }: LocalLeaderStep, now: Micros): LocalLeaderStep {
    return { state: timingIn(state).suppression === null ? state : forgetExpiredPeers(state, now), effects }
  }

  function handleHeartbeat(
    state: LocalLeaderState,
    from: NodeId,
    beacon: Beacon,
    receipt: Receipt,
    now: Micros,
  ): LocalLeaderStep {
    const next = recordBeacon(state, from, beacon, receipt, now)
    return { state: next, effects: suppression.reassure(next, from, beacon, now) }
  }

  function handleTimer(before: LocalLeaderState, name: string, now: Micros): LocalLeaderStep {
    const state = measureTimer(before, name, now)
    switch (name) {
      case TIMER.alive:
        return forgetExpired(candidacies.handleAlive(state, now, true), now)
      case TIMER.release:
        return candidacies.handleRoundEnd(state, now)
      case TIMER.heartbeat:
        return handleHeartbeatTimer(state, now)
      case TIMER.overdue:
        return suppression.handleOverdueRenewal(state, now, candidacies.postponeAlive)
      case TIMER.gather:
        return voting.handleGatherEnd(state, now)
      case TIMER.ask:
        return candidacies.handleAsk(state, now)
      case TIMER.store:
        return isLeading(state, now) ? pacing.storeLongerLock(state, now) : storeShorterLock(state, now)
      default:
        // `expire`: `step` has ended the term already.
        return unchanged(state)
    }
  }

  function react(
    state: LocalLeaderState,
    input: Input<LocalLeaderMessage, LocalLeaderCommand>,
    now: Micros,
  ): LocalLeaderStep {
    switch (input.type) {
      case 'message': {
        const { from, body } = input
        const receipt = receiptIn(state, (input.receipt as Receipt | null) ?? ASSUMED_FAST)
        const step = handleMessage(state, from, body, receipt, now)
        if (!isMajority) return step
        const next = takeOverLevel(step.state, from, body, now)
        const again = hasLowerLevel(next, step.state) ? [setTimer(TIMER.alive, now)] : NOTHING
        const effects = again.length === 0 ? step.effects : [...step.effects, ...again]
        return { state: recordEpochGrowth(state, next, now), effects }
      }
      case 'timer':
        return handleTimer(state, input.name, now)
      case 'command':
        return handleCommand(state, input.command, now)
      case 'suspended':
        return handleSuspended(state, now)
      case 'link':
      case 'register':
        return unchanged(state)
      default:
        return unreachable(input)
    }
  }

  function reportLeaderChange(was: LocalLeaderState, given: LocalLeaderStep, now: Micros): LocalLeaderStep {
    const timed = noteTimers(given.state, given.effects, now)
    const step = timed === given.state ? given : { state: timed, effects: given.effects }
    const before = was.known.following?.leader ?? null
    const after = step.state.known.following?.leader ?? null
    if (before === after || (after === null && step.state.term !== null)) return step
    const token = step.state.known.following?.token ?? null
    return {
      state: step.state,
      effects: [...step.effects, output({ type: 'following', leader: after, token })],
    }
  }

  return {
    start(kept, now) {
      const stable = kept === null ? null : checkedStable(kept)
      const isSilent = rules.mustStaySilent(stable)
      const state = initialState(identity, settings, stable, now)
      return {
        state,
        effects: [
          persist(stableOf(state)),
          ...(usesHeartbeats || isSilent
            ? [setTimer(TIMER.heartbeat, state.silentUntil ?? firstHeartbeatAt(state, now))]
            : []),
          ...(isSilent ? [] : [setTimer(TIMER.alive, listenUntil(state, now))]),
        ],
      }
    },
    step(state, input, now) {
      const { term } = state
      if (term === null || !isLeaseOver(term.until, now)) {
        return reportLeaderChange(state, react(state, input, now), now)
      }
      const over = expireLease(state)
      const next = reportLeaderChange(over.state, react(over.state, input, now), now)
      return { state: next.state, effects: [...over.effects, ...next.effects] }
    },
    view: (state, now) => viewOfState(state, now),
    shift: shiftTimes,
  }

  function viewOfState(state: LocalLeaderState, now: Micros): View {
    const { term } = state
    const { following } = state.known
    if (term !== null && now < term.until) {
      return {
        role: 'leader',
        leader: self,
        token: term.token,
        until: term.until,
        members: term.members,
        detail: detailOf(term.config),
      }
    }
    const isLed = following !== null && now < following.until
    const view = isLed && following.view !== null && now < following.view.until ? following.view : null
    const role = !isVoter(state.vote.config, self)
      ? 'observer'
      : state.eligibility.candidate && !isLed
        ? 'candidate'
        : 'follower'
    return {
      role,
      leader: isLed ? following.leader : null,
      token: isLed ? following.token : null,
      until: view === null ? null : view.until,
      members: view === null ? null : view.members,
      detail: detailOf(state.vote.config),
    }
  }
}

/** The detail of a view. The last value is memoized, so that equal views share it. */
function createDetail(
  isMajority: boolean,
): (config: Configuration) => { readonly config: Configuration } | null {
  if (!isMajority) return () => null
  let last: { readonly config: Configuration } | null = null
  return (config) => {
    if (last === null || last.config !== config) last = { config }
    return last
  }
}
