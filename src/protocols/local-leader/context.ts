/** What all parts of the protocol know of the process they belong to: fixed for its life, or read off its state. */
import {
  type Effect,
  type Identity,
  type Micros,
  NOTHING,
  type NodeId,
  present,
  type Step,
} from '../../core/index.ts'
import type { LocalLeaderMessage, Request } from './messages.ts'
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
  /** Time to look whether it should stand, or whether its lease must be renewed. */
  alive: 'alive',
  /** Every fast answer to a request is in. */
  release: 'release',
  /** The lease is over. */
  expire: 'expire',
  heartbeat: 'heartbeat',
  /** The leader should have renewed. */
  overdue: 'overdue',
  /** Children in the tree have been waited for long enough. */
  gather: 'gather',
  /** Whoever was not heard along the tree is asked directly. */
  ask: 'ask',
} as const

/** How low a process ranks that would not lead at all, or keeps failing to be elected. */
export const UNWILLING = 3

export type Context = ReturnType<typeof contextOf>

export function contextOf({ self, nodes }: Identity, settings: LocalLeaderSettings) {
  const { timing, rules, mostRequests, witnesses } = settings
  const isMajority = timing.mode === 'majority'
  const mayLead = !witnesses.includes(self)
  const indexOf = new Map(nodes.map((id, index) => [id, index]))

  const leads = ({ lead }: LocalLeaderState, now: Micros): boolean => lead !== null && now < lead.until

  /** It votes: it is a voter, and has been silent for long enough after a restart. */
  const takesPart = (state: LocalLeaderState): boolean =>
    state.silentUntil === null && isVoter(state.vote.config, self)

  function lowOf({ standing, known }: LocalLeaderState, now: Micros): number {
    if (!standing.willing || standing.record.proofs !== null) return UNWILLING
    if (standing.lowUntil !== null && now < standing.lowUntil) return 2
    const { holdUntil, following } = known
    const waits = holdUntil !== null && now < holdUntil && following !== null && now < following.until
    return waits ? 1 : 0
  }

  function rankOf(state: LocalLeaderState, now: Micros): Rank {
    return {
      low: lowOf(state, now),
      priority: state.standing.priority,
      incumbent: settings.sticky && leads(state, now),
    }
  }

  return {
    self,
    nodes,
    settings,
    timing,
    isMajority,
    mayLead,
    /** Whether it sends heartbeats at all. */
    usesHeartbeats: rules.measuresRoundTrips() && mostRequests === null,
    /** Where a majority is enough, a process that cannot win must not stand in the way of others (record.ts). */
    recordsFailures:
      isMajority && settings.rule === 'quorum' && mostRequests === null && rules.recordsFailures(),
    others: nodes.map((id, index) => ({ id, index })).filter(({ id }) => id !== self),
    knows: (node: NodeId): boolean => indexOf.has(node),
    placeOf: (node: NodeId): number => present(indexOf.get(node), 'node'),
    leads,
    takesPart,
    /** It may stand for election. */
    isEligible: (state: LocalLeaderState): boolean => mayLead && state.standing.willing && takesPart(state),
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
