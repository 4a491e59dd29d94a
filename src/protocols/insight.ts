/** What an operator may ask of a process beyond its view: how long the lead lasts, whose votes count, who is heard. */
import type { Micros, NodeId } from '../core/index.ts'

/** A view of the living, where the protocol has such. */
export type SeenView = {
  readonly id: readonly [number: number, leader: NodeId | null]
  /** In order, and the life of each. */
  readonly members: readonly NodeId[]
  readonly incarnations: readonly number[]
}

export type Membership = {
  /** Null while this process is in none. */
  readonly view: SeenView | null
  /** Which life of this process it is. */
  readonly incarnation: number
  /** Whether more than half of the view answer from it: only then does anybody act on it. */
  readonly inQuorum: boolean
  /** How many members of the view may fail at once, whichever they are, so that those who are left form the next. */
  readonly failureTolerance: number
  /** Whose return a group without a quorum waits for; null while it has one. */
  readonly waitingFor: Waiting | null
}

/**
 * A view of which no majority is linked with this process (null: no view yet, so of all nodes), and who of it is missing.
 * `isAttempt`: it may have been installed by those who are missing, and any of them can tell.
 */
export type Waiting = {
  readonly view: readonly [number: number, leader: NodeId | null] | null
  readonly members: readonly NodeId[]
  readonly mayHaveFormed: boolean
  readonly unreachable: readonly NodeId[]
}

/** Why peers are called reachable. */
export type Evidence = {
  /** When each was last known to be reachable: a timely message of its own, or the leader's word that it answered. */
  readonly of: readonly { readonly id: NodeId; readonly at: Micros }[]
  /** A peer is called reachable for this long after that, and no longer. */
  readonly lasts: Micros
}

export type Insight = {
  /**
   * Until when whoever leads leads, on this process's own clock; null when nobody is known to. Of itself a leader knows
   * it for sure; others count from when they were told, which is up to Δ too long. Under omega, which has no leases:
   * until when this process counts itself in quorum if it hears nothing more.
   */
  readonly leadUntil: Micros | null
  /** Sets of voters, each of which must give a majority; two while one replaces the other. */
  readonly voters: readonly (readonly NodeId[])[]
  /** Whoever has a vote in any of them, or is to have one. */
  readonly named: readonly NodeId[]
  /** Whom it has heard of late, in time: those that it calls reachable. */
  readonly heard: readonly NodeId[]
  /** On what that rests; null where the protocol does not say. */
  readonly evidence: Evidence | null
  /** Until when it takes no part, because it has been restarted; null when it does take part. */
  readonly silentUntil: Micros | null
  /** Null where the protocol has no views. */
  readonly membership: Membership | null
}
