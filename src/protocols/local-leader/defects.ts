/**
 * Defects of the paper or of a careless implementation, each as the rules that it replaces. The option `misreading`
 * chooses one in simulations and searches, where the specifications must catch it. Real nodes refuse the option.
 */
import { paperKappaOf } from './constants.ts'
import { NO_EPOCH } from './messages.ts'
import { type LocalLeaderRules, RULES } from './rules.ts'

export const MISREADINGS = [
  'none',
  'release-while-leader',
  'short-kappa',
  'no-echo',
  'quick-restart',
  'renewal-after-expiry',
  'volatile-promises',
  'revoked-promises',
  'no-suspend-check',
  'stubborn-candidates',
  'shortened-lock',
  'lease-of-newest-level',
  'forgotten-longest-lock',
  'silence-of-present-level',
] as const
export type Misreading = (typeof MISREADINGS)[number]

const DEFECTS: { readonly [name in Misreading]: Partial<LocalLeaderRules> } = {
  none: {},
  /** A failed renewal releases the locks that still protect the lease, and an outranked leader continues. */
  'release-while-leader': { isBoundByLease: () => false },
  /** The paper's κ, which lacks one σ, and its rule by which the first attempt always fails. */
  'short-kappa': {
    kappa: paperKappaOf,
    attemptedAt: (now) => now,
    canSucceed: ({ at, previousAt }, { expires }) => previousAt !== null && at - previousAt < expires,
  },
  /** Without Echo and heartbeats followers never have a round trip. */
  'no-echo': { measuresRoundTrips: () => false, recordsFailures: () => false },
  /** A restarted node votes at once, although it has forgotten its lock. */
  'quick-restart': { mustStaySilent: () => false },
  /** A renewal that completes after the lease starts a second term with the same token. */
  'renewal-after-expiry': { isLeaseOver: () => false },
  /** A crash loses the promises of epochs. */
  'volatile-promises': { recallPromise: () => NO_EPOCH },
  /** A voter takes a promise back although a node led by it. */
  'revoked-promises': { canRevokePromise: () => true },
  /** A node trusts a clock that stood still. */
  'no-suspend-check': { distrustsSuspendedClock: () => false },
  /** A candidate keeps its rank however often it fails, and others believe it however long it stands. */
  'stubborn-candidates': { recordsFailures: () => false },
  /** Adaptive timing: a request with a shorter lock shortens the lock that protects an earlier request. */
  'shortened-lock': { lockEnd: (_before, next) => next },
  /** Adaptive timing: the lease is measured by the level in force when the answers come. */
  'lease-of-newest-level': { lockOfLease: (_own, present) => present },
  /** Adaptive timing: a voter grants longer locks than it has stored. */
  'forgotten-longest-lock': { longestLockToStore: (stored) => stored },
  /** Adaptive timing: a restarted node is silent for a lock of its present level only. */
  'silence-of-present-level': { lockToOutlast: (_stored, present) => present },
}

export function rulesWith(misreading: Misreading): LocalLeaderRules {
  return { ...RULES, ...DEFECTS[misreading] }
}
