/**
 * Heartbeat suppression. A leader that renews sends a request to all nodes in every round, so it needs no heartbeats. Each
 * request names the supporters of the round before: the leader vouches for them. So named followers send heartbeats to
 * each other only once in several rounds, together with their answer to the leader.
 *
 * A voter that is heard but not named receives a heartbeat in every round, as without suppression: no leader vouches for
 * the others to it, and it must know whether it could win. A voter that is neither heard nor named receives one rarely. It
 * remembers that it is not heard (`oneWayMemory` in reachability.ts), so that it does not become a candidate in vain.
 *
 * When a renewal is overdue, the voters that miss it send heartbeats to all. A leader that is up answers, so a lost
 * request does no harm. If it is down, all voters have heard each other again before any of them gives the leader up. A
 * node that is not named, or follows no leader, sends heartbeats as without suppression. A node whose rank changes sends
 * one at once.
 *
 * Only where a majority is enough (majority mode, quorum rule): there reachability decides which node becomes a candidate,
 * and never whether a term is safe. Elsewhere a leader depends on all nodes that it hears.
 */
import { type Micros, NOTHING, type NodeId, send, setTimer } from '../../core/index.ts'
import type { Beacons } from './beacon.ts'
import type { Suppression } from './constants.ts'
import { type Context, type LocalLeaderEffect, type LocalLeaderStep, TIMER, unchanged } from './context.ts'
import { levelFor } from './levels.ts'
import type { Beacon, LocalLeaderMessage } from './messages.ts'
import { isAlive, withHeardAt } from './peers.ts'
import { type Following, type LocalLeaderState, type Peer, replaceEligibility, withKnown } from './state.ts'

export type HeartbeatSuppression = ReturnType<typeof createHeartbeatSuppression>

export function createHeartbeatSuppression(context: Context, { broadcast, beaconFor }: Beacons) {
  const { self, others, lowOf, usesHeartbeats, isLeading, isParticipating, timingIn } = context
  const { adaptive } = context.settings
  const suppressionIn = (state: LocalLeaderState): Suppression | null =>
    usesHeartbeats ? timingIn(state).suppression : null

  /** A leader renews by the level of its requests. A node that stood still may be at a higher one for a while. */
  function patienceWith({ patience }: Suppression, { lock }: Following): Micros {
    return Math.min(patience, adaptive?.timingAt(levelFor(lock)).suppression?.patience ?? patience)
  }

  /** Sends a heartbeat to the nodes that need one. */
  function sendHeartbeat(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    if (suppressionIn(state) === null || !isVouchedFor(state, now))
      return sendHeartbeats(state, now, () => true)
    // The leader hears this node's answers.
    const leader = state.known.following?.leader
    if (mustAnnounce(state, now)) return sendHeartbeats(state, now, (to) => to !== leader)
    const unnamed = unnamedPeers(state, now)
    if (unnamed.length === 0) return { state, effects: NOTHING }
    return { state, effects: broadcast(state, now, heartbeatWith, (to) => unnamed.includes(to)) }
  }

  /** The nodes that this node hears, and for which the leader does not vouch. */
  function unnamedPeers(state: LocalLeaderState, now: Micros): readonly NodeId[] {
    const { following, peers } = state.known
    if (following === null || following.view === null) return NOTHING
    const { leader, view } = following
    const { expires } = timingIn(state)
    const unnamed: NodeId[] = []
    for (const { id, index } of others) {
      if (id === leader || view.members.includes(id)) continue
      if (isAlive(peers[index] ?? null, now, expires)) unnamed.push(id)
    }
    return unnamed
  }

  function sendHeartbeats(
    state: LocalLeaderState,
    now: Micros,
    isMeant: (to: NodeId) => boolean,
  ): LocalLeaderStep {
    const next = recordAnnouncement(state, now)
    return { state: next, effects: broadcast(next, now, heartbeatWith, isMeant) }
  }

  /** When the next heartbeat is due, if nothing happens. */
  function nextHeartbeatAt(state: LocalLeaderState, now: Micros): Micros {
    const { announced: last, lowUntil } = state.eligibility
    const suppression = suppressionIn(state)
    const isSuppressed = isParticipating(state) && isVouchedFor(state, now)
    if (suppression === null || last === null || !isSuppressed) return now + timingIn(state).heartbeat
    let next = last.at + suppression.longest
    for (const change of [lowUntil, state.known.holdUntil]) {
      if (change !== null && change > now && change < next) next = change
    }
    return next
  }

  function isVouchedFor(state: LocalLeaderState, now: Micros): boolean {
    const { known, eligibility, candidacy, term } = state
    const suppression = suppressionIn(state)
    if (suppression === null || eligibility.candidate || candidacy !== null || term !== null) return false
    const { following } = known
    if (following === null || following.view === null) return false
    if (now - following.roundAt >= patienceWith(suppression, following)) return false
    return following.view.members.includes(self)
  }

  /** Whether the last announcement of the rank is long ago, or the rank has changed. */
  function mustAnnounce(state: LocalLeaderState, now: Micros): boolean {
    const { announced: last, priority } = state.eligibility
    const suppression = suppressionIn(state)
    if (suppression === null || last === null || last.priority !== priority) return true
    return (
      last.low !== lowOf(state, now) || now - last.at >= suppression.longest - timingIn(state).renewalPeriod
    )
  }

  function recordAnnouncement(state: LocalLeaderState, now: Micros): LocalLeaderState {
    if (suppressionIn(state) === null) return state
    const { willing, priority, lowUntil, candidate, record, deferringSince, lastRequestAt } =
      state.eligibility
    const last = { low: lowOf(state, now), priority, at: now }
    return replaceEligibility(state, {
      willing,
      priority,
      lowUntil,
      candidate,
      record,
      deferringSince,
      lastRequestAt,
      announced: last,
    })
  }

  /** The leader vouches for the nodes that answered the round which arrived here at `roundAt`. */
  function refreshVouchedPeers(
    state: LocalLeaderState,
    members: readonly NodeId[],
    roundAt: Micros,
  ): LocalLeaderState {
    const suppression = suppressionIn(state)
    if (suppression === null) return state
    let peers: (Peer | null)[] | null = null
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (peer === null || !members.includes(id)) continue
      const heardAt = Math.min(roundAt, peer.saidAt + 2 * suppression.longest)
      if (heardAt <= peer.heardAt) continue
      peers ??= state.known.peers.slice()
      peers[index] = withHeardAt(peer, heardAt)
    }
    return peers === null ? state : withKnown(state, { peers })
  }

  // ---- After a round ----

  /** With the answer to a renewal: a heartbeat, if one is due, and the time when the next renewal is overdue. */
  function heartbeatWithReply(before: LocalLeaderState, step: LocalLeaderStep, now: Micros): LocalLeaderStep {
    const { following } = step.state.known
    const isNew = following !== null && following.view !== null && following !== before.known.following
    const suppression = suppressionIn(step.state)
    if (suppression === null || !isNew || following.roundAt !== now) return step
    const overdue = watchRenewals(step.state, patienceWith(suppression, following), now)
    const isQuiet = isParticipating(step.state) && isVouchedFor(step.state, now)
    const { state, effects } = isQuiet ? sendHeartbeat(step.state, now) : unchanged(step.state)
    const next = state === step.state ? NOTHING : [setTimer(TIMER.heartbeat, nextHeartbeatAt(state, now))]
    return { state, effects: [...step.effects, ...effects, ...next, ...overdue] }
  }

  /**
   * Sets the timer for an overdue renewal. Where the node knows that it fires soon enough, it stays: postponed once in a
   * few rounds (`handleOverdueRenewal`) instead of in each, it wakes up an idle process less often.
   */
  function watchRenewals(
    { pace }: LocalLeaderState,
    patience: Micros,
    now: Micros,
  ): readonly LocalLeaderEffect[] {
    const pending = pace?.measured.due.overdue ?? now
    const dueAt = now + patience
    return pending > now && pending <= dueAt ? NOTHING : [setTimer(TIMER.overdue, dueAt)]
  }

  /**
   * A renewal is overdue: a voter sends heartbeats to all nodes; another node sends one to its leader only. Where a renewal
   * has come since the timer was set, it is set again, and so is the timer of the candidacy, which is never reached then.
   */
  function handleOverdueRenewal(
    state: LocalLeaderState,
    now: Micros,
    postponeAlive: (state: LocalLeaderState, now: Micros) => LocalLeaderStep,
  ): LocalLeaderStep {
    const { following } = state.known
    const suppression = suppressionIn(state)
    if (suppression === null || state.silentUntil !== null) return unchanged(state)
    const dueAt = following === null ? now : following.roundAt + patienceWith(suppression, following)
    if (dueAt > now) {
      const { state: next, effects } = postponeAlive(state, now)
      return { state: next, effects: [setTimer(TIMER.overdue, dueAt), ...effects] }
    }
    if (!isParticipating(state)) {
      return { state, effects: following === null ? NOTHING : [heartbeatTo(state, following.leader, now)] }
    }
    const { state: next, effects } = sendHeartbeat(state, now)
    return { state: next, effects: [...effects, setTimer(TIMER.heartbeat, now + timingIn(next).roundTrip)] }
  }

  // ---- Heartbeats of a leader ----

  /** The leader has just sent a request to all nodes, or is about to. */
  function delayHeartbeat(state: LocalLeaderState, now: Micros): readonly LocalLeaderEffect[] {
    const suppression = suppressionIn(state)
    return suppression === null ? NOTHING : [setTimer(TIMER.heartbeat, now + suppression.patience)]
  }

  /** All nodes learn of a new leader before its next round. */
  function announceLeader(state: LocalLeaderState, now: Micros): readonly LocalLeaderEffect[] {
    return suppressionIn(state) === null
      ? NOTHING
      : [...broadcast(state, now, heartbeatWith), ...delayHeartbeat(state, now)]
  }

  /** A follower that sends a heartbeat has missed a renewal. Another leader gets no answer, because it would answer too. */
  function reassure(
    state: LocalLeaderState,
    from: NodeId,
    beacon: Beacon,
    now: Micros,
  ): readonly LocalLeaderEffect[] {
    if (suppressionIn(state) === null || from === self || beacon.lease !== null || !isLeading(state, now))
      return NOTHING
    return [heartbeatTo(state, from, now)]
  }

  function heartbeatTo(state: LocalLeaderState, to: NodeId, now: Micros): LocalLeaderEffect {
    return send(to, heartbeatWith(beaconFor(state, to, now)))
  }

  /** The rank has changed: all nodes learn it at once. */
  function announceRank(state: LocalLeaderState, now: Micros): readonly LocalLeaderEffect[] {
    return suppressionIn(state) === null ? NOTHING : [setTimer(TIMER.heartbeat, now)]
  }

  return {
    sendHeartbeat,
    nextHeartbeatAt,
    refreshVouchedPeers,
    heartbeatWithReply,
    handleOverdueRenewal,
    delayHeartbeat,
    announceLeader,
    reassure,
    announceRank,
  }
}

function heartbeatWith(beacon: Beacon): LocalLeaderMessage {
  return { kind: 'Heartbeat', beacon }
}
