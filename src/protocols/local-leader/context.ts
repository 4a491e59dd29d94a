/** What all parts of the protocol know of their node: fixed values, and values derived from its state. */
import {
  type Effect,
  type Identity,
  type Micros,
  NOTHING,
  type NodeId,
  present,
  type Step,
} from '../../core/index.ts'
import { MOST_PRIORITY } from './bounds.ts'
import { leaseOf, type Timing } from './constants.ts'
import type { Election, LocalLeaderMessage, Request } from './messages.ts'
import type { Rank } from './rank.ts'
import type { LocalLeaderSettings } from './settings.ts'
import type { LocalLeaderStable } from './stable.ts'
import type { LocalLeaderState } from './state.ts'
import { isVoter } from './voters.ts'

export type LocalLeaderStep = Step<LocalLeaderState, LocalLeaderMessage, LocalLeaderStable>
export type LocalLeaderEffect = Effect<LocalLeaderMessage, LocalLeaderStable>

export function unchanged(state: LocalLeaderState): LocalLeaderStep {
  return { state, effects: NOTHING }
}

export const TIMER = {
  /** Check whether to become a candidate, and whether the lease must be renewed. */
  alive: 'alive',
  /** The round ends: every fast answer has arrived, or it is time for the next try. */
  release: 'release',
  /** The lease is over. */
  expire: 'expire',
  heartbeat: 'heartbeat',
  /** The leader should have renewed. */
  overdue: 'overdue',
  /** The node has waited long enough for its children in the tree. */
  gather: 'gather',
  /** Ask the voters directly whose answer has not come along the tree. */
  ask: 'ask',
  /** Store another longest lock, in a step of its own. */
  store: 'store',
} as const

/** The `low` of a node that does not want to lead, or keeps failing to be elected. */
export const UNWILLING = 3

/** Before every other rank: voters support a node that the last leader has chosen, even if they rank before it. */
export const CHOSEN_RANK: Rank = { low: 0, priority: MOST_PRIORITY, incumbent: true }

export type Context = ReturnType<typeof contextOf>

export function contextOf({ self, nodes }: Identity, settings: LocalLeaderSettings) {
  const { timing, adaptive, rules, mostRequests, witnesses } = settings
  const isMajority = timing.mode === 'majority'
  const canLead = !witnesses.includes(self)
  const indexOf = new Map(nodes.map((id, index) => [id, index]))

  /** The constants in force. */
  const timingIn: (state: LocalLeaderState) => Timing =
    adaptive === null ? () => timing : ({ pace }) => adaptive.timingWithin(present(pace, 'pace'))

  const isLeading = ({ term }: LocalLeaderState, now: Micros): boolean => term !== null && now < term.until

  /** When a leader renews a lease that ends at `until`: early enough for all tries. */
  function renewalStartOf(state: LocalLeaderState, until: Micros): Micros {
    const { tries, tryTime } = timingIn(state)
    return until - tries * tryTime
  }

  /** Whether the node votes: it is a voter, and its silence after a restart is over. */
  const isParticipating = (state: LocalLeaderState): boolean =>
    state.silentUntil === null && isVoter(state.vote.config, self)

  function lowOf({ eligibility, known }: LocalLeaderState, now: Micros): number {
    if (!eligibility.willing || eligibility.record.proofs !== null) return UNWILLING
    if (eligibility.lowUntil !== null && now < eligibility.lowUntil) return 2
    const { holdUntil, following } = known
    const waits = holdUntil !== null && now < holdUntil && following !== null && now < following.until
    return waits ? 1 : 0
  }

  function rankOf(state: LocalLeaderState, now: Micros): Rank {
    if (state.candidacy?.isChosen === true) return CHOSEN_RANK
    return {
      low: lowOf(state, now),
      priority: state.eligibility.priority,
      incumbent: settings.sticky && isLeading(state, now),
    }
  }

  return {
    self,
    nodes,
    settings,
    timingIn,
    /** How long a supporter of this request is bound. */
    lockOf: ({ lock }: Pick<Election, 'lock'>): Micros => lock ?? timing.lockTime,
    /** The longest lease under this lock. */
    leaseUnder: (lock: Micros): Micros => leaseOf(lock, timing.rho),
    /** A node that knows of no other node listens until then before it becomes a candidate. */
    listenUntil(state: LocalLeaderState, now: Micros): Micros {
      const { roundTrip, heartbeat } = timingIn(state)
      return now + roundTrip + heartbeat
    },
    isMajority,
    canLead,
    /** Whether nodes send heartbeats at all. */
    usesHeartbeats: rules.measuresRoundTrips() && mostRequests === null,
    /** Where a majority is enough, a node that cannot win must not block other candidates (record.ts). */
    recordsFailures:
      isMajority && settings.rule === 'quorum' && mostRequests === null && rules.recordsFailures(),
    others: nodes.map((id, index) => ({ id, index })).filter(({ id }) => id !== self),
    isGroupNode: (node: NodeId): boolean => indexOf.has(node),
    placeOf: (node: NodeId): number => present(indexOf.get(node), 'node'),
    isLeading,
    renewalStartOf,
    isParticipating,
    /** Whether the node may be a candidate. */
    isEligible: (state: LocalLeaderState): boolean =>
      canLead && state.eligibility.willing && isParticipating(state),
    lowOf,
    rankOf,
    latest: ({ incarnation, requests }: LocalLeaderState): Request => ({ incarnation, counter: requests }),
    stableOf: ({ incarnation, longestLock, vote }: LocalLeaderState): LocalLeaderStable => ({
      incarnation,
      lockTime: longestLock,
      promised: vote.promised,
      config: vote.config,
    }),
  }
}
