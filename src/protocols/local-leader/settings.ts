/** The settings of one node. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Timing } from './constants.ts'
import type { LevelBounds } from './levels.ts'
import type { LocalLeaderRules } from './rules.ts'
import type { LevelPlace } from './scaled-timing.ts'
import type { Tree } from './tree.ts'

/** With adaptive timing: the levels of a node. */
export type AdaptiveTiming = {
  readonly bounds: LevelBounds
  /** The level at which a node starts. */
  readonly start: number
  timingAt(level: number): Timing
  /** The constants of a node at this level, which are lenient at the highest level that it can use. */
  timingWithin(place: LevelPlace): Timing
  /** How many leases may be lost in a day. */
  readonly lossPerDay: number
  /** For tests: each request has a random level, independent of all evidence. */
  readonly isDrawn: boolean
}

export type LocalLeaderSettings = {
  /** The constants; with adaptive timing, those of the highest level. */
  readonly timing: Timing
  /** Null: the timing is fixed. */
  readonly adaptive: AdaptiveTiming | null
  /** Majority mode: a majority is enough, or all reachable nodes must support the leader, as in the paper. */
  readonly rule: 'quorum' | 'equality'
  readonly sticky: boolean
  readonly priority: number
  /** How long a node of better rank waits before it deposes a leader; 0: not at all. */
  readonly holdDown: Micros
  /** How long a node leads before it hands over; null: as long as it can. */
  readonly rotationPeriod: Micros | null
  /** The tree along which answers are gathered; null: each node answers directly. */
  readonly tree: Tree | null
  readonly voters: readonly NodeId[]
  readonly witnesses: readonly NodeId[]
  /**
   * Whether an application works under the lease and must end first. Then a leader that should yield only announces it,
   * and releases its supporters when it receives `stepDown`. Without that command its lease expires.
   */
  readonly yieldWhenTold: boolean
  readonly rules: LocalLeaderRules
  /**
   * For searches of every interleaving: nodes know nothing of each other, so any node that may lead may become a
   * candidate at any moment, at most this many times. Null: no limit, as in real nodes.
   */
  readonly mostRequests: number | null
}
