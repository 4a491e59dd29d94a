/** Hearing how others stand: who is there, who leads, who ranks before whom. */
import { compareIds, type Micros, type NodeId, replaced } from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import { type Context, UNWILLING } from './context.ts'
import type { HeartbeatSuppression } from './heartbeat-suppression.ts'
import { type Beacon, type Election, isSame } from './messages.ts'
import { isAlive, isDeaf, isRival, laterEpoch, outranks, peerOf } from './peers.ts'
import type { Rank } from './rank.ts'
import {
  type Following,
  type Known,
  type LocalLeaderState,
  type Peer,
  replaceKnown,
  withKnown,
} from './state.ts'
import { holdsMajorities, isVoter } from './voters.ts'

/** In a large group only so many beat, the first that are there: who else is there the leader learns from answers. */
export const HEARTBEAT_SENDERS = 16

export type Reachability = ReturnType<typeof createReachability>

export function createReachability(context: Context, { refreshVouchedPeers }: HeartbeatSuppression) {
  const {
    self,
    others,
    placeOf,
    knows,
    recordsFailures,
    rankOf,
    isEligible,
    isMajority,
    usesHeartbeats,
    settings,
    timing,
  } = context
  const { witnesses, tree, mostRequests } = settings
  const { expires, fast: threshold, rho, lockTime } = timing
  /** How long a candidate is believed that it may win. */
  const patience = recordsFailures ? timing.candidacy : Number.POSITIVE_INFINITY
  /** A follower may trust what it was told of a round for this long after that round's request came. */
  const viewTrust = Math.floor(lockTime * (1 - 4 * rho)) - Math.ceil(threshold * (1 + rho))
  /**
   * Voters hear a leader for the last time up to Δ later than its successor does, and must have given it up when they
   * are asked. In local mode the successor waits for that; in majority mode, where ranks only say who is preferred,
   * voters give a rival up earlier by as much.
   */
  const rivalExpires = isMajority ? expires - threshold : expires
  /**
   * A process that keeps quiet says too seldom that it does not hear this one: between two such messages it counts as
   * gone. What it said must outlast that silence, and one message that got lost, or every message would look like the
   * first of a process that has just come, and this one would stand for election each time.
   */
  const deafMemory = timing.suppression === null ? 0 : 2 * timing.suppression.longest

  function recordBeacon(
    state: LocalLeaderState,
    from: NodeId,
    beacon: Beacon,
    { fast: isFast, overtaken }: Receipt,
    now: Micros,
  ): LocalLeaderState {
    if (mostRequests !== null) return state
    const { known } = state
    const seen = laterEpoch(known.seen, beacon.seen)
    if (from === self || !isFast) return seen === known.seen ? state : withKnown(state, { seen })
    const place = placeOf(from)
    const before = known.peers[place] ?? null
    if (overtaken && before !== null) {
      // It is there; how it stands, a later message has said.
      return withKnown(state, {
        peers: replaced(known.peers, place, { ...before, heardAt: now, saidAt: now }),
        seen,
      })
    }
    // Whoever does not beat is not heard, and that says nothing of the link.
    const isMissed = !beacon.heard && isHeartbeatSender(state, now)
    const peer = peerOf(beacon, isMissed, before, patience, now)
    const following = followingAfter(state, from, beacon, now)
    const holdUntil = settings.holdDown === 0 ? null : holdAfter(known, following, peer, state, now)
    return replaceKnown(state, { peers: replaced(known.peers, place, peer), seen, following, holdUntil })
  }

  /** Whether it beats. */
  function isHeartbeatSender(state: LocalLeaderState, now: Micros): boolean {
    if (tree === null) return true
    let before = 0
    for (const { id, index } of others) {
      if (compareIds(id, self) > 0 || !isAlive(state.known.peers[index] ?? null, now, expires)) continue
      before += 1
      if (before === HEARTBEAT_SENDERS) return false
    }
    return true
  }

  /** Whom it takes for the leader, after this beacon. */
  function followingAfter(
    state: LocalLeaderState,
    from: NodeId,
    { lease: claimed }: Beacon,
    now: Micros,
  ): Following | null {
    const { following } = state.known
    if (claimed === null) return following?.leader === from ? null : following
    const until = now + claimed.left
    const isKnown = following !== null && following.leader === from && following.token === claimed.token
    if (!(isKnown && isMajority) && !isBelievable(state, from, claimed.token, now)) return following
    if (isKnown) {
      const { leader, token, round, roundAt, epoch, view } = following
      return { leader, token, until, round, roundAt, epoch, view }
    }
    return { leader: from, token: claimed.token, until, round: null, roundAt: now, epoch: 0, view: null }
  }

  /** Of two that claim to lead the larger token does; in local mode whom one supports does. */
  function isBelievable(state: LocalLeaderState, from: NodeId, token: number | null, now: Micros): boolean {
    const { following } = state.known
    const { lock } = state.vote
    if (!isMajority && isVoter(state.vote.config, self)) {
      return lock !== null && lock.owner === from && now <= lock.until
    }
    if (following === null || now >= following.until) return true
    return token !== null && following.token !== null && token > following.token
  }

  /** Whoever would depose a leader waits first, from when it began to hear it. */
  function holdAfter(
    known: Known,
    following: Following | null,
    leader: Peer,
    { standing }: LocalLeaderState,
    now: Micros,
  ): Micros | null {
    if (following === null) return null
    if (known.holdUntil !== null && known.following?.leader === following.leader) return known.holdUntil
    const own: Rank = { low: 0, priority: standing.priority, incumbent: false }
    return outranks(own, self, leader, following.leader) ? now + settings.holdDown : null
  }

  /** What a follower learns from its leader's rounds: who supported the one before this. */
  function recordRound(
    state: LocalLeaderState,
    from: NodeId,
    { request, epoch, view }: Election,
    now: Micros,
  ): LocalLeaderState {
    const { following } = state.known
    if (following === null || following.leader !== from) return state
    const isNext = view !== null && following.round !== null && isSame(view.round, following.round)
    const told = isNext
      ? {
          round: view.round,
          members: view.members,
          until: following.roundAt + viewTrust,
          epoch: following.epoch,
        }
      : null
    const { leader, token, until } = following
    const next = isNext ? refreshVouchedPeers(state, view.members, following.roundAt) : state
    return withKnown(next, {
      following: { leader, token, until, round: request, roundAt: now, epoch, view: told },
    })
  }

  /** Forgets whom it has not heard for too long. */
  function forgetExpiredPeers(state: LocalLeaderState, now: Micros): LocalLeaderState {
    const { following, peers } = state.known
    const isOver = following !== null && now >= following.until
    const isGone = peers.some((peer) => peer !== null && !isKept(peer, now))
    if (!isOver && !isGone) return state
    return withKnown(state, {
      following: isOver ? null : following,
      peers: isGone ? peers.map((peer) => (peer !== null && isKept(peer, now) ? peer : null)) : peers,
    })
  }

  function isKept(peer: Peer, now: Micros): boolean {
    const { deafSince, saidAt } = peer
    return isAlive(peer, now, expires) || (deafSince !== null && now - saidAt < deafMemory)
  }

  /** Whether somebody of better rank is there for whom `counts`; and when the last such will have been silent too long. */
  function betterUntil(state: LocalLeaderState, now: Micros, counts: (peer: Peer) => boolean): Micros | null {
    const rank = rankOf(state, now)
    let until: Micros | null = null
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (!isAlive(peer, now, expires) || !counts(peer)) continue
      if (!outranks(peer, id, rank, self) || witnesses.includes(id)) continue
      if (isDeaf(peer, now, expires) || !isVoter(state.vote.config, id)) continue
      const gone = peer.heardAt + expires
      if (until === null || gone > until) until = gone
    }
    return until
  }

  /** Whether anybody is there that could lead instead. */
  function hasSuccessor(state: LocalLeaderState, now: Micros): boolean {
    return others.some(({ id, index }) => {
      const peer = state.known.peers[index] ?? null
      return (
        isAlive(peer, now, expires) &&
        !isDeaf(peer, now, expires) &&
        peer.low < UNWILLING &&
        !witnesses.includes(id) &&
        isVoter(state.vote.config, id)
      )
    })
  }

  /** Nobody that stands for election ranks before it, and neither does the one that is asked. */
  function isBestCandidate(state: LocalLeaderState, from: NodeId, beacon: Beacon, now: Micros): boolean {
    if (mostRequests !== null) return true
    const rank: Rank = beacon
    // A leader is supported until this process has made sure that it could lead itself, and says so. And one that has
    // lost its rank prefers anybody: where all have, the first of them may be the one that cannot win.
    const { candidate, record } = state.standing
    const isContent = recordsFailures && ((beacon.lease !== null && !candidate) || record.proofs !== null)
    if (from !== self && !isContent && isEligible(state) && outranks(rankOf(state, now), self, rank, from)) {
      if (!isWithoutMajority(state, now)) return false
    }
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (id === from || !isAlive(peer, now, rivalExpires) || !isRival(peer, now, patience)) continue
      if (!outranks(peer, id, rank, from) || !isVoter(state.vote.config, id)) continue
      if (!isDeaf(peer, now, expires)) return false
    }
    return true
  }

  /** A candidate that has not heard this process for long would not hear its answer: only others would suffer from a lock. */
  function isUnheardBy(state: LocalLeaderState, from: NodeId, now: Micros): boolean {
    const peer = from === self ? null : (state.known.peers[placeOf(from)] ?? null)
    return isAlive(peer, now, expires) && isDeaf(peer, now, expires)
  }

  /**
   * Whether it hears a majority. If not it need not ask, and must not: whoever supports it promises a larger epoch, and
   * would refuse the leader of the others for as long as that leads.
   */
  function couldWin(state: LocalLeaderState, now: Micros): boolean {
    if (!isMajority || !usesHeartbeats || tree !== null) return true
    const reachable = [self]
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (isAlive(peer, now, expires) && !isDeaf(peer, now, expires)) reachable.push(id)
    }
    return holdsMajorities(state.vote.config, reachable)
  }

  /** Where a majority is enough, one that hears none does not stand: those that hear it could not elect another. */
  function isWithoutMajority(state: LocalLeaderState, now: Micros): boolean {
    return settings.rule === 'quorum' && !couldWin(state, now)
  }

  /** All that it hears support it; those that do not hear it need not. */
  function isSupportedByAll(state: LocalLeaderState, supporters: readonly NodeId[], now: Micros): boolean {
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (!isAlive(peer, now, expires) || isDeaf(peer, now, expires)) continue
      if (isVoter(state.vote.config, id) && !supporters.includes(id)) return false
    }
    return true
  }

  /** The voters that are wanted, once a majority of them is there: a leader must not depend on those it does not hear. */
  function reachableVoters(state: LocalLeaderState, now: Micros): readonly NodeId[] | null {
    const { wanted } = state
    if (wanted === null) return null
    const reachable = wanted.filter(
      (node) =>
        node === self || (knows(node) && isAlive(state.known.peers[placeOf(node)] ?? null, now, expires)),
    )
    return reachable.length * 2 > wanted.length ? wanted : null
  }

  return {
    patience,
    recordBeacon,
    isHeartbeatSender,
    recordRound,
    forgetExpiredPeers,
    betterUntil,
    hasSuccessor,
    isBestCandidate,
    isUnheardBy,
    couldWin,
    isWithoutMajority,
    isSupportedByAll,
    reachableVoters,
  }
}
