/** How a process takes part. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Timing } from './constants.ts'
import type { LocalLeaderRules } from './rules.ts'
import type { Tree } from './tree.ts'

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
  readonly rules: LocalLeaderRules
  /**
   * For searches of every interleaving: nobody knows anything of anybody, so whoever may lead may stand at any moment,
   * so many times at most. Null: as it should be.
   */
  readonly mostRequests: number | null
}
