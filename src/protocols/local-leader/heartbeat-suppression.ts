/**
 * Keeping quiet. A leader that renews speaks to all in every round, so it says nothing besides; and it names those who
 * supported the round before, so these need not tell each other all the time that they are there: the leader vouches
 * for them. Whoever is led and named tells its equals only now and then, together with its answer to the leader.
 *
 * A voter that is heard and not named is told at every round, as often as if nobody kept quiet: nobody vouches to it for
 * those that do, or for itself to them, and it must know whether it could win. One that is neither heard nor named is
 * told seldom; it remembers that it is not heard (`deafMemory` in hearing.ts), so that it does not stand in vain.
 *
 * When a renewal is overdue, whoever misses it speaks up, to all. A leader that is there answers: so a request that got
 * lost does no harm. If it is not there, all have heard each other again before anybody gives it up. One that is not
 * named, or not led, beats as if nobody kept quiet; and one whose rank is another tells it at once.
 *
 * Only where a majority is enough (majority mode, quorum rule): who is there then decides which process stands for
 * election, and never whether a leadership is safe. Elsewhere a leader depends on all that it hears.
 */
import { type Micros, NOTHING, type NodeId, send, setTimer } from '../../core/index.ts'
import type { Beacons } from './beacon.ts'
import { type Context, type LocalLeaderEffect, type LocalLeaderStep, TIMER } from './context.ts'
import type { Beacon, LocalLeaderMessage } from './messages.ts'
import { isAlive, withHeardAt } from './peers.ts'
import { changed, type LocalLeaderState, type Peer, withKnown } from './state.ts'

export type HeartbeatSuppression = ReturnType<typeof createHeartbeatSuppression>

export function createHeartbeatSuppression(context: Context, { broadcast, beaconFor }: Beacons) {
  const { self, others, lowOf, usesHeartbeats, leads, takesPart, timing } = context
  const { heartbeat, renewalPeriod, roundTrip, expires } = timing
  const suppression = usesHeartbeats ? timing.suppression : null

  /** Says how it stands, to those that need it. */
  function sendHeartbeat(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    if (suppression === null || !isVouchedFor(state, now)) return sendHeartbeats(state, now, () => true)
    // The leader hears its answers.
    const leader = state.known.following?.leader
    if (mustAnnounce(state, now)) return sendHeartbeats(state, now, (to) => to !== leader)
    const unnamed = unnamedPeers(state, now)
    if (unnamed.length === 0) return { state, effects: NOTHING }
    return { state, effects: broadcast(state, now, heartbeatWith, (to) => unnamed.includes(to)) }
  }

  /** Those that it hears, and for whom the leader does not vouch. */
  function unnamedPeers({ known }: LocalLeaderState, now: Micros): readonly NodeId[] {
    const { following, peers } = known
    if (following === null || following.view === null) return NOTHING
    const { leader, view } = following
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

  /** When it beats next, if nothing happens. */
  function nextHeartbeatAt(state: LocalLeaderState, now: Micros): Micros {
    const { announced: last, lowUntil } = state.standing
    const isSuppressed = takesPart(state) && isVouchedFor(state, now)
    if (suppression === null || last === null || !isSuppressed) return now + heartbeat
    let next = last.at + suppression.longest
    for (const change of [lowUntil, state.known.holdUntil]) {
      if (change !== null && change > now && change < next) next = change
    }
    return next
  }

  function isVouchedFor({ known, standing, candidacy, lead }: LocalLeaderState, now: Micros): boolean {
    if (suppression === null || standing.candidate || candidacy !== null || lead !== null) return false
    const { following } = known
    if (following === null || following.view === null || now - following.roundAt >= suppression.patience)
      return false
    return following.view.members.includes(self)
  }

  /** It is long ago that it told all how it stands, or it stands differently. */
  function mustAnnounce(state: LocalLeaderState, now: Micros): boolean {
    const { announced: last, priority } = state.standing
    if (suppression === null || last === null || last.priority !== priority) return true
    return last.low !== lowOf(state, now) || now - last.at >= suppression.longest - renewalPeriod
  }

  function recordAnnouncement(state: LocalLeaderState, now: Micros): LocalLeaderState {
    if (suppression === null) return state
    const { willing, priority, lowUntil, candidate, record, deferringSince, stoodAt } = state.standing
    const last = { low: lowOf(state, now), priority, at: now }
    return changed(state, {
      standing: { willing, priority, lowUntil, candidate, record, deferringSince, stoodAt, announced: last },
    })
  }

  /** The leader says who answered the round that came here at `roundAt`: they were there, if they were of late. */
  function refreshVouchedPeers(
    state: LocalLeaderState,
    members: readonly NodeId[],
    roundAt: Micros,
  ): LocalLeaderState {
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

  // ---- What follows from a round ----

  /** With the answer to a renewal: a beat, if it is time for one; and when the next renewal would be overdue. */
  function heartbeatWithReply(before: LocalLeaderState, step: LocalLeaderStep, now: Micros): LocalLeaderStep {
    const { following } = step.state.known
    const isNew = following !== null && following.view !== null && following !== before.known.following
    if (suppression === null || !isNew || following.roundAt !== now) return step
    const overdue = setTimer(TIMER.overdue, now + suppression.patience)
    if (!takesPart(step.state) || !isVouchedFor(step.state, now)) {
      return { state: step.state, effects: [...step.effects, overdue] }
    }
    const { state, effects } = sendHeartbeat(step.state, now)
    if (state === step.state) return { state, effects: [...step.effects, ...effects, overdue] }
    const next = setTimer(TIMER.heartbeat, nextHeartbeatAt(state, now))
    return { state, effects: [...step.effects, ...effects, next, overdue] }
  }

  /** A renewal has not come: whoever votes speaks up to all; another asks its leader alone. */
  function handleOverdueRenewal(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const { following } = state.known
    if (suppression === null || state.silentUntil !== null) return { state, effects: NOTHING }
    if (!takesPart(state)) {
      return { state, effects: following === null ? NOTHING : [heartbeatTo(state, following.leader, now)] }
    }
    const { state: next, effects } = sendHeartbeat(state, now)
    return { state: next, effects: [...effects, setTimer(TIMER.heartbeat, now + roundTrip)] }
  }

  // ---- What a leader says ----

  /** It has just spoken to all, or is about to. */
  function delayHeartbeat(now: Micros): readonly LocalLeaderEffect[] {
    return suppression === null ? NOTHING : [setTimer(TIMER.heartbeat, now + suppression.patience)]
  }

  /** The first word of a new leader: all learn of it before its next round. */
  function announceLeader(state: LocalLeaderState, now: Micros): readonly LocalLeaderEffect[] {
    return suppression === null ? NOTHING : [...broadcast(state, now, heartbeatWith), ...delayHeartbeat(now)]
  }

  /** Whoever beats for a leader that keeps quiet has missed it. Another leader is not answered: it would answer, too. */
  function reassure(
    state: LocalLeaderState,
    from: NodeId,
    beacon: Beacon,
    now: Micros,
  ): readonly LocalLeaderEffect[] {
    if (suppression === null || from === self || beacon.lease !== null || !leads(state, now)) return NOTHING
    return [heartbeatTo(state, from, now)]
  }

  function heartbeatTo(state: LocalLeaderState, to: NodeId, now: Micros): LocalLeaderEffect {
    return send(to, heartbeatWith(beaconFor(state, to, now)))
  }

  /** How it stands is another matter now: all are told at once. */
  function announceRank(now: Micros): readonly LocalLeaderEffect[] {
    return suppression === null ? NOTHING : [setTimer(TIMER.heartbeat, now)]
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
