/** Reachability: which nodes are reachable, which one leads, and how they rank, according to their beacons. */
import { compareIds, type Micros, type NodeId, replaced } from '../../core/index.ts'
import type { Receipt } from '../../links/index.ts'
import type { Timing } from './constants.ts'
import { type Context, UNWILLING } from './context.ts'
import type { HeartbeatSuppression } from './heartbeat-suppression.ts'
import { LONGEST_LOCK, levelFor } from './levels.ts'
import { type Beacon, type Election, isSame } from './messages.ts'
import { isAlive, isOneWay, isRival, laterEpoch, outranks, peerOf } from './peers.ts'
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

/**
 * In a large group only the first reachable nodes send heartbeats. The leader learns from answers that the others are
 * up.
 */
export const HEARTBEAT_SENDERS = 16

export type Reachability = ReturnType<typeof createReachability>

export function createReachability(context: Context, { refreshVouchedPeers }: HeartbeatSuppression) {
  const {
    self,
    others,
    placeOf,
    isGroupNode,
    recordsFailures,
    rankOf,
    isEligible,
    isMajority,
    usesHeartbeats,
    lockOf,
    leaseUnder,
    settings,
    timingIn,
  } = context
  const { witnesses, tree, mostRequests, adaptive } = settings
  /** With adaptive timing a leader may have other bounds than this node. */
  const longestLease = adaptive === null ? settings.timing.lease : LONGEST_LOCK
  /** How long this node believes that a candidate may win. */
  const patienceIn = (state: LocalLeaderState): Micros =>
    recordsFailures ? timingIn(state).candidacy : Number.POSITIVE_INFINITY
  /**
   * Voters hear a leader for the last time up to Δ later than its successor does, and must have given it up when they
   * receive the request. In local mode the successor waits for that. In majority mode, where ranks are only a
   * preference, voters give up a rival earlier by the same time.
   */
  const rivalExpiresOf = ({ expires, fast }: Timing): Micros => (isMajority ? expires - fast : expires)
  /**
   * A node with suppressed heartbeats rarely reports that it does not hear this node; between two such reports it
   * counts as unreachable. The memory of a report must outlast that silence and one lost message. Otherwise every
   * report would look like the first message of a node that has just started, and this node would become a candidate
   * each time.
   */
  const oneWayMemoryOf = ({ suppression }: Timing): Micros =>
    suppression === null ? 0 : 2 * suppression.longest

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
      // The node is reachable, but a later message has already announced its rank.
      return withKnown(state, {
        peers: replaced(known.peers, place, { ...before, heardAt: now, saidAt: now }),
        seen,
      })
    }
    // Nodes that send no heartbeats cannot be heard, which says nothing about the link.
    const isMissed = !beacon.heard && isHeartbeatSender(state, now)
    const peer = peerOf(beacon, isMissed, before, patienceIn(state), now)
    const following = followingAfter(state, from, beacon, now)
    const holdUntil = settings.holdDown === 0 ? null : holdAfter(known, following, peer, state, now)
    return replaceKnown(state, { peers: replaced(known.peers, place, peer), seen, following, holdUntil })
  }

  /** Whether this node sends heartbeats. */
  function isHeartbeatSender(state: LocalLeaderState, now: Micros): boolean {
    if (tree === null) return true
    const { expires } = timingIn(state)
    let before = 0
    for (const { id, index } of others) {
      if (compareIds(id, self) > 0 || !isAlive(state.known.peers[index] ?? null, now, expires)) continue
      before += 1
      if (before === HEARTBEAT_SENDERS) return false
    }
    return true
  }

  /** The leader that this node follows after a beacon. */
  function followingAfter(
    state: LocalLeaderState,
    from: NodeId,
    { lease: claimed }: Beacon,
    now: Micros,
  ): Following | null {
    const { following } = state.known
    if (claimed === null) return following?.leader === from ? null : following
    const until = now + Math.min(claimed.left, longestLease)
    const isKnown = following !== null && following.leader === from && following.token === claimed.token
    if (!(isKnown && isMajority) && !isBelievable(state, from, claimed.token, now)) return following
    if (isKnown) {
      const { leader, token, round, roundAt, trust, lock, epoch, view } = following
      const latest = adaptive === null ? until : Math.max(until, following.until)
      return { leader, token, until: latest, round, roundAt, trust, lock, epoch, view }
    }
    return {
      leader: from,
      token: claimed.token,
      until,
      round: null,
      roundAt: now,
      trust: 0,
      lock: 0,
      epoch: 0,
      view: null,
    }
  }

  /** Of two nodes that claim to lead, believe the larger token; in local mode, the node that this one supports. */
  function isBelievable(state: LocalLeaderState, from: NodeId, token: number | null, now: Micros): boolean {
    const { following } = state.known
    const { lock } = state.vote
    if (!isMajority && isVoter(state.vote.config, self)) {
      return lock !== null && lock.owner === from && now <= lock.until
    }
    if (following === null || now >= following.until) return true
    return token !== null && following.token !== null && token > following.token
  }

  /** A node that would depose a leader first waits for `holdDown`, counted from when it first heard the leader. */
  function holdAfter(
    known: Known,
    following: Following | null,
    leader: Peer,
    { eligibility }: LocalLeaderState,
    now: Micros,
  ): Micros | null {
    if (following === null) return null
    if (known.holdUntil !== null && known.following?.leader === following.leader) return known.holdUntil
    const own: Rank = { low: 0, priority: eligibility.priority, incumbent: false }
    return outranks(own, self, leader, following.leader) ? now + settings.holdDown : null
  }

  /** A follower learns from each round of its leader which nodes supported the round before. */
  function recordRound(
    state: LocalLeaderState,
    from: NodeId,
    election: Election,
    { bound }: Receipt,
    now: Micros,
  ): LocalLeaderState {
    const { request, epoch, view } = election
    const { following } = state.known
    if (following === null || following.leader !== from) return state
    const isNext = view !== null && following.round !== null && isSame(view.round, following.round)
    const reported = isNext
      ? {
          round: view.round,
          members: view.members,
          until: following.roundAt + following.trust,
          epoch: following.epoch,
        }
      : null
    const { leader, token } = following
    const until = Math.max(following.until, renewedUntil(election, now))
    const lock = lockOf(election)
    const trust = viewTrust(lock, bound, timingIn(state))
    const next = isNext ? refreshVouchedPeers(state, view.members, following.roundAt) : state
    return withKnown(next, {
      following: { leader, token, until, round: request, roundAt: now, trust, lock, epoch, view: reported },
    })
  }

  /**
   * With adaptive timing: the latest end of the lease that a renewal gives if it succeeds. The lease that it shows is that
   * of the round before. Of a short lease little is left then, so a follower would forget its leader whenever the next
   * round is a few milliseconds late.
   */
  function renewedUntil({ renew, lock }: Election, now: Micros): Micros {
    if (adaptive === null || !renew || lock === undefined) return now
    return now + leaseUnder(lock)
  }

  /** Forgets nodes that have expired. */
  function forgetExpiredPeers(state: LocalLeaderState, now: Micros): LocalLeaderState {
    const { following, peers } = state.known
    const timing = timingIn(state)
    const isOver = following !== null && now >= following.until
    const isGone = peers.some((peer) => peer !== null && !isKept(peer, timing, now))
    if (!isOver && !isGone) return state
    return withKnown(state, {
      following: isOver ? null : following,
      peers: isGone ? peers.map((peer) => (peer !== null && isKept(peer, timing, now) ? peer : null)) : peers,
    })
  }

  function isKept(peer: Peer, timing: Timing, now: Micros): boolean {
    const { oneWaySince, saidAt } = peer
    return (
      isAlive(peer, now, timing.expires) || (oneWaySince !== null && now - saidAt < oneWayMemoryOf(timing))
    )
  }

  /**
   * When the last reachable node of better rank for which `counts` holds will have expired; null: there is no such
   * node.
   */
  function betterUntil(state: LocalLeaderState, now: Micros, counts: (peer: Peer) => boolean): Micros | null {
    const rank = rankOf(state, now)
    const { expires } = timingIn(state)
    let until: Micros | null = null
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (!isAlive(peer, now, expires) || !counts(peer)) continue
      if (!outranks(peer, id, rank, self) || witnesses.includes(id)) continue
      if (isOneWay(peer, now, expires) || !isVoter(state.vote.config, id)) continue
      const gone = peer.heardAt + expires
      if (until === null || gone > until) until = gone
    }
    return until
  }

  /** Whether another reachable node could lead. */
  function hasSuccessor(state: LocalLeaderState, now: Micros): boolean {
    const { expires } = timingIn(state)
    return others.some(({ id, index }) => {
      const peer = state.known.peers[index] ?? null
      return (
        isAlive(peer, now, expires) &&
        !isOneWay(peer, now, expires) &&
        peer.low < UNWILLING &&
        !witnesses.includes(id) &&
        isVoter(state.vote.config, id)
      )
    })
  }

  /**
   * With adaptive timing, a node that stood still has a higher level for a while, and would believe for longer that a leader
   * which has crashed is up. So rivals of a candidate expire by the level of its request, if that is lower.
   */
  function rivalExpiresFor(election: Election, timing: Timing): Micros {
    const own = rivalExpiresOf(timing)
    if (adaptive === null || election.lock === undefined) return own
    return Math.min(own, rivalExpiresOf(adaptive.timingAt(levelFor(election.lock))))
  }

  /**
   * Whether a candidate asks for a shorter lock than this node would. A node that stood still needs more time for a while. It
   * would become a candidate late, and the group would get long leases: the other node is the better leader now.
   */
  function asksForLess({ pace }: LocalLeaderState, { lock }: Election): boolean {
    return pace !== null && lock !== undefined && levelFor(lock) < pace.level
  }

  /** Whether no other candidate, nor this node, ranks before the sender. */
  function isBestCandidate(state: LocalLeaderState, from: NodeId, election: Election, now: Micros): boolean {
    if (mostRequests !== null) return true
    const { beacon } = election
    const rank: Rank = beacon
    const timing = timingIn(state)
    const { expires } = timing
    const rivalExpires = rivalExpiresFor(election, timing)
    const patience = patienceIn(state)
    // This node supports a leader until it has made sure that it could lead itself, and announces its candidacy. A node
    // that has lost its rank prefers every other node: where all have lost it, the first of them may be unable to win.
    const { candidate, record } = state.eligibility
    const isContent = recordsFailures && ((beacon.lease !== null && !candidate) || record.proofs !== null)
    // The cheap conditions first: almost every request comes from a leader with which this node is content.
    if (from !== self && !isContent && !asksForLess(state, election) && isEligible(state)) {
      const isAbove = outranks(rankOf(state, now), self, rank, from)
      if (isAbove && !isWithoutMajority(state, now)) return false
    }
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (id === from || !isAlive(peer, now, rivalExpires) || !isRival(peer, now, patience)) continue
      if (!outranks(peer, id, rank, from) || !isVoter(state.vote.config, id)) continue
      if (!isOneWay(peer, now, expires)) return false
    }
    return true
  }

  /**
   * The state in which a node supports a request: rivals that were gone for this decision stay gone. At a higher level they
   * would count again, and the node would refuse the next renewal.
   */
  function forgetExpiredRivals(state: LocalLeaderState, election: Election, now: Micros): LocalLeaderState {
    if (adaptive === null) return state
    const rivalExpires = rivalExpiresFor(election, timingIn(state))
    const isGone = (peer: Peer | null): boolean =>
      peer !== null && peer.candidate && !isAlive(peer, now, rivalExpires)
    const { peers } = state.known
    return peers.some(isGone)
      ? withKnown(state, { peers: peers.map((peer) => (isGone(peer) ? null : peer)) })
      : state
  }

  /** A candidate that has not heard this node for long would not hear its answer, so a lock would only harm others. */
  function isUnheardBy(state: LocalLeaderState, from: NodeId, now: Micros): boolean {
    const peer = from === self ? null : (state.known.peers[placeOf(from)] ?? null)
    const { expires } = timingIn(state)
    return isAlive(peer, now, expires) && isOneWay(peer, now, expires)
  }

  /**
   * Whether this node hears a majority. If not, it must not ask for votes: its supporters would promise it a larger
   * epoch, and would refuse the leader of the other nodes.
   */
  function couldWin(state: LocalLeaderState, now: Micros): boolean {
    if (!isMajority || !usesHeartbeats || tree !== null) return true
    const reachable = [self]
    const { expires } = timingIn(state)
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (isAlive(peer, now, expires) && !isOneWay(peer, now, expires)) reachable.push(id)
    }
    return holdsMajorities(state.vote.config, reachable)
  }

  /**
   * Where a majority is enough, a node that does not hear one must not be a candidate: it would keep its voters from
   * electing another node.
   */
  function isWithoutMajority(state: LocalLeaderState, now: Micros): boolean {
    return settings.rule === 'quorum' && !couldWin(state, now)
  }

  /** Whether all nodes that it hears support it. Nodes that do not hear this node need not. */
  function isSupportedByAll(state: LocalLeaderState, supporters: readonly NodeId[], now: Micros): boolean {
    const { expires } = timingIn(state)
    for (const { id, index } of others) {
      const peer = state.known.peers[index] ?? null
      if (!isAlive(peer, now, expires) || isOneWay(peer, now, expires)) continue
      if (isVoter(state.vote.config, id) && !supporters.includes(id)) return false
    }
    return true
  }

  /** The wanted voters, once a majority of them is reachable: a leader must not depend on voters that it does not hear. */
  function reachableVoters(state: LocalLeaderState, now: Micros): readonly NodeId[] | null {
    const { wanted } = state
    if (wanted === null) return null
    const { expires } = timingIn(state)
    const reachable = wanted.filter(
      (node) =>
        node === self ||
        (isGroupNode(node) && isAlive(state.known.peers[placeOf(node)] ?? null, now, expires)),
    )
    return reachable.length * 2 > wanted.length ? wanted : null
  }

  return {
    patienceIn,
    recordBeacon,
    isHeartbeatSender,
    recordRound,
    forgetExpiredPeers,
    betterUntil,
    hasSuccessor,
    isBestCandidate,
    forgetExpiredRivals,
    isUnheardBy,
    couldWin,
    isWithoutMajority,
    isSupportedByAll,
    reachableVoters,
  }
}

/**
 * A follower may trust the leader's report of a round for this long after that round's request arrived, which was `bound`
 * after it was sent, at most: its supporters may have been bound since then.
 */
function viewTrust(lock: Micros, bound: Micros | null, { fast, rho }: Pick<Timing, 'fast' | 'rho'>): Micros {
  return Math.floor(lock * (1 - 4 * rho)) - Math.ceil((bound ?? fast) * (1 + rho))
}
