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
  /**
   * As a leader with the shortest leases: how long the first try of a renewal may take, judging by the last windows. Null:
   * as long as the constants say.
   */
  readonly firstTry: Micros | null
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
  /** When timers are due. */
  readonly due: { readonly [timer: string]: Micros }
}

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
    firstTry: null,
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
      due: {},
    },
    peers: Array.from({ length: nodes }, () => null),
  }
}

export function shiftPace(pace: Pace, by: Micros): Pace {
  const { measured, peers, hold } = pace
  const due = Object.fromEntries(Object.entries(measured.due).map(([name, at]) => [name, at + by]))
  return {
    ...pace,
    largeAt: pace.largeAt + by,
    hold: shiftHold(hold, by),
    measured: { ...measured, since: measured.since + by, halvedAt: measured.halvedAt + by, due },
    peers: peers.map((peer) =>
      peer === null || peer.evidence === null ? peer : { ...peer, at: peer.at + by },
    ),
  }
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
