/**
 * Rules of the protocol that are easy to get wrong, as small functions. Nodes always run these. Tests replace single
 * rules with those of a defect (defects.ts) to show that the specifications catch it.
 */
import type { Micros } from '../../core/index.ts'
import { kappaOf, type Timing } from './constants.ts'
import { type Epoch, NO_EPOCH } from './messages.ts'
import type { LocalLeaderStable } from './stable.ts'
import type { Candidacy } from './state.ts'

export type LocalLeaderRules = {
  /** κ, the bound on the time without a leader. */
  kappa(timing: Timing): Micros
  /** Whether nodes exchange echoes and heartbeats, so that followers have round trips to judge messages by. */
  measuresRoundTrips(): boolean
  /** Whether a candidate that keeps failing lowers its rank (record.ts). */
  recordsFailures(): boolean
  /** When a vote for the same owner binds the voter: the end of a lock never moves back. */
  lockEnd(before: Micros, next: Micros): Micros
  /** The lock by which a lease is measured: the lock of its own request, also when the level has changed since. */
  lockOfLease(own: Micros, present: Micros): Micros
  /** The longest lock to store, when the node grants a longer lock than it has stored. */
  longestLockToStore(stored: Micros, granted: Micros): Micros
  /** The longest lock that a node may have granted before it restarted. */
  lockToOutlast(stored: Micros, present: Micros): Micros
  /** Whether a node must stay silent after a start, because it may have forgotten a lock. */
  mustStaySilent(stable: LocalLeaderStable | null): boolean
  /** The epoch that a node had promised before it crashed. */
  recallPromise(stable: LocalLeaderStable | null): Epoch
  /** Whether a promise may be taken back. A promise that somebody led by is final. */
  canRevokePromise(hasLed: boolean): boolean
  /** Whether the lease binds the node: it keeps the locks that protect it, and steps down before a better node wins. */
  isBoundByLease(leads: boolean): boolean
  /** Whether a lease has ended. A renewal that completes later must not extend it; null: there is no lease. */
  isLeaseOver(until: Micros | null, now: Micros): boolean
  /** Whether a clock that stood still voids leases, requests and what is known of others. */
  distrustsSuspendedClock(): boolean
  /** The time of an attempt to be elected, where a later attempt depends on it. */
  attemptedAt(now: Micros): Micros | null
  /** Whether an attempt with enough support may succeed. */
  canSucceed(attempt: Candidacy, timing: Timing): boolean
}

export const RULES: LocalLeaderRules = {
  kappa: kappaOf,
  measuresRoundTrips: () => true,
  recordsFailures: () => true,
  lockEnd: (before, next) => Math.max(before, next),
  lockOfLease: (own) => own,
  longestLockToStore: (_stored, granted) => granted,
  lockToOutlast: (stored) => stored,
  mustStaySilent: (stable) => stable !== null,
  recallPromise: (stable) => stable?.promised ?? NO_EPOCH,
  canRevokePromise: (hasLed) => !hasLed,
  isBoundByLease: (leads) => leads,
  isLeaseOver: (until, now) => until === null || now >= until,
  distrustsSuspendedClock: () => true,
  attemptedAt: () => null,
  canSucceed: () => true,
}
