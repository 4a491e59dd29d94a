/** How a process takes part. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Timing } from './constants.ts'
import type { Tree } from './tree.ts'

/** Faults of the paper or of a careless implementation, each put back on purpose to see it caught. */
export const MISREADINGS = [
  'none',
  // A failed renewal releases the locks that still protect the lease; and a leader that is outranked goes on.
  'release-while-leader',
  // The paper's κ, and its rule by which the first try always fails: one σ is missing.
  'short-kappa',
  // Neither Echo nor heartbeats: followers never have a round trip.
  'no-echo',
  // A restarted process takes part at once, though it has forgotten its lock.
  'quick-restart',
  // A renewal that completes when the lease is over begins a second leadership with the same token.
  'renewal-after-expiry',
  // Promises of epochs are forgotten in a crash.
  'volatile-promises',
  // A promise is taken back although somebody led by it.
  'revoked-promises',
  // A clock that stood still is trusted.
  'no-suspend-check',
  // A candidate keeps its rank however often it fails, and is believed however long it stands.
  'stubborn-candidates',
] as const
export type Misreading = (typeof MISREADINGS)[number]

export type LocalLeaderSettings = {
  readonly timing: Timing
  /** Majority mode: a majority is enough, or all that are heard must be among the supporters, as in the paper. */
  readonly rule: 'quorum' | 'equality'
  readonly sticky: boolean
  readonly priority: number
  /** How long a process of better rank waits before it deposes a leader; 0: not at all. */
  readonly holdDown: Micros
  /** How long one leads before it is another's turn; null: as long as it can. */
  readonly term: Micros | null
  /** How answers are gathered; null: each answers directly. */
  readonly tree: Tree | null
  readonly voters: readonly NodeId[]
  readonly witnesses: readonly NodeId[]
  /**
   * Whether somebody works under its lead who must end first: then a leader that should give way only says so, and lets
   * nobody go before it is told to step down. If that does not come, its lease lapses.
   */
  readonly yieldWhenTold: boolean
  readonly misreading: Misreading
  /**
   * For searches of every interleaving: nobody knows anything of anybody, so whoever may lead may stand at any moment,
   * so many times at most. Null: as it should be.
   */
  readonly mostRequests: number | null
}
