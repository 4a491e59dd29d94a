/**
 * The pace of a node with adaptive timing: its level, and the locks that it grants.
 *
 * Safety needs little here. A voter is bound for as long as the request says, a lease never outlasts the locks of the
 * request it comes from, and a node remembers through crashes how long it may have been bound. All else that follows
 * from a level concerns progress only.
 */
import { hashPlain, type Micros, type NodeId } from '../../core/index.ts'
import type { Need } from './evidence.ts'
import { type LevelBounds, lockAt, storedLockFor } from './levels.ts'
import type { Evidence, Request } from './messages.ts'
import { type Hold, initialHold, shiftHold } from './policy.ts'
import { type Losses, NO_LOSSES, NO_SAMPLES, type Peak, type Samples } from './samples.ts'

export type Pace = {
  /** The level in force. A leader chooses it, followers take it over. */
  readonly level: number
  readonly bounds: LevelBounds
  /** The highest level at which a majority grants locks, as far as the node knows. */
  readonly ceiling: number
  /** When this node last granted a lock that is longer than half of the longest. */
  readonly largeAt: Micros
  /** Why the level is what it is. */
  readonly need: Need
  /** The level that this node announced last, as a leader. */
  readonly announced: number
  readonly hold: Hold
  /** Candidacies in a row that too few voters answered. */
  readonly unanswered: number
  readonly measured: Measured
  /** What is known of the other nodes, in the order of the nodes. */
  readonly peers: readonly (PeerPace | null)[]
}

/** What the node has measured itself. */
export type Measured = {
  /** When the present window began. */
  readonly since: Micros
  /** Timers. */
  readonly late: Samples
  /** As a leader: from a request until a majority supports it. */
  readonly round: Samples
  /** The leader, the delays of its requests, and how many of them got lost. */
  readonly leader: NodeId | null
  readonly delay: Samples
  readonly losses: Losses
  /** When the losses were last halved. */
  readonly halvedAt: Micros
  readonly request: Request | null
  readonly due: Due
}

/** When the timers are due whose lateness counts; null: not set, or it tells nothing. */
export type Due = { readonly [timer in MeasuredTimer]: Micros | null }

export type MeasuredTimer = 'alive' | 'release' | 'heartbeat' | 'overdue'

export const NOTHING_DUE: Due = { alive: null, release: null, heartbeat: null, overdue: null }

export type PeerPace = {
  /** How slow its messages are. */
  readonly heard: Peak
  /** What it reported last, and when. */
  readonly evidence: Evidence | null
  readonly at: Micros
  /** The locks that it grants, if it has refused the last one. */
  readonly bounds: { readonly shortest: Micros; readonly longest: Micros } | null
}

export function initialPace(bounds: LevelBounds, level: number, nodes: number, now: Micros): Pace {
  return {
    level,
    bounds,
    ceiling: bounds.most,
    largeAt: now,
    need: { level, cause: 'quiet', by: null },
    announced: level,
    hold: initialHold(now),
    unanswered: 0,
    measured: {
      since: now,
      late: NO_SAMPLES,
      round: NO_SAMPLES,
      leader: null,
      delay: NO_SAMPLES,
      losses: NO_LOSSES,
      halvedAt: now,
      request: null,
      due: NOTHING_DUE,
    },
    peers: Array.from({ length: nodes }, () => null),
  }
}

/** Like states (`changed` in state.ts), all are made in one shape. */
export function changedPace(pace: Pace, change: Partial<Pace>): Pace {
  const { level, bounds, ceiling, largeAt, need, announced, hold, unanswered, measured, peers } = change
  return {
    level: level ?? pace.level,
    bounds: bounds ?? pace.bounds,
    ceiling: ceiling ?? pace.ceiling,
    largeAt: largeAt ?? pace.largeAt,
    need: need ?? pace.need,
    announced: announced ?? pace.announced,
    hold: hold ?? pace.hold,
    unanswered: unanswered ?? pace.unanswered,
    measured: measured ?? pace.measured,
    peers: peers ?? pace.peers,
  }
}

export function changedMeasured(measured: Measured, change: Partial<Measured>): Measured {
  const { since, late, round, leader, delay, losses, halvedAt, request, due } = change
  return {
    since: since ?? measured.since,
    late: late ?? measured.late,
    round: round ?? measured.round,
    leader: leader === undefined ? measured.leader : leader,
    delay: delay ?? measured.delay,
    losses: losses ?? measured.losses,
    halvedAt: halvedAt ?? measured.halvedAt,
    request: request === undefined ? measured.request : request,
    due: due ?? measured.due,
  }
}

export function shiftPace(pace: Pace, by: Micros): Pace {
  const { measured, peers, hold, largeAt } = pace
  const { since, halvedAt, due } = measured
  const later = (at: Micros | null): Micros | null => (at === null ? null : at + by)
  return changedPace(pace, {
    largeAt: largeAt + by,
    hold: shiftHold(hold, by),
    measured: changedMeasured(measured, {
      since: since + by,
      halvedAt: halvedAt + by,
      due: {
        alive: later(due.alive),
        release: later(due.release),
        heartbeat: later(due.heartbeat),
        overdue: later(due.overdue),
      },
    }),
    peers: peers.map((peer) =>
      peer === null || peer.evidence === null ? peer : { ...peer, at: peer.at + by },
    ),
  })
}

/** The bound that a lock breaks; null when the node grants such locks. */
export function brokenLockBound(
  { bounds: { shortest, longest } }: Pace,
  lock: Micros,
): { readonly name: 'leaseMinMs' | 'leaseMaxMs'; readonly micros: Micros } | null {
  if (lock < shortest) return { name: 'leaseMinMs', micros: shortest }
  return lock > longest ? { name: 'leaseMaxMs', micros: longest } : null
}

/** A node halves the longest lock that it has stored after this many times that lock, at least. */
const RELAXED = 20

/** As many times, and up to twice as many: voters do not all write to their disks in the same round. */
export function relaxedAfter(self: NodeId): number {
  return RELAXED + (hashPlain(['longest lock', self]) % RELAXED)
}

/** The longest lock that the node may have granted, after it grants one more. It is stored before the vote is known. */
export function longestAfter(
  longest: Micros,
  { bounds, largeAt }: Pace,
  lock: Micros,
  now: Micros,
): { readonly longestLock: Micros; readonly largeAt: Micros } {
  if (lock > longest) return { longestLock: storedLockFor(lock, bounds), largeAt: now }
  return { longestLock: longest, largeAt: 2 * lock > longest ? now : largeAt }
}

/** The longest lock may be halved when every lock longer than half of it expired long ago: `relaxed` times the longest. */
export function canRelax(longest: Micros, { largeAt }: Pace, relaxed: number, now: Micros): boolean {
  return now - largeAt >= relaxed * longest
}

/** For tests: a level for each request that looks random. */
export function drawnLevel(
  { least, most }: LevelBounds,
  self: NodeId,
  { incarnation, counter }: Request,
  what: 'lock' | 'pace',
): number {
  return least + (hashPlain([what, self, incarnation, counter]) % (most - least + 1))
}

/** The lock that a leader needs for a request whose lease must not end before `until`. */
export function coveringLock(lock: Micros, until: Micros, now: Micros, rho: number): Micros {
  return Math.max(lock, Math.ceil((until - now) / (1 - 2 * rho)) + 1)
}

export function lockIn({ level }: Pace): Micros {
  return lockAt(level)
}
