/** What an operator can ask a node in addition to its view: when the term ends, whose votes count, who is reachable. */
import type { Micros, NodeId } from '../core/index.ts'

/** A membership view, for protocols that have views. */
export type SeenView = {
  readonly id: readonly [number: number, leader: NodeId | null]
  /** In order. */
  readonly members: readonly NodeId[]
  /** The incarnation of each member. */
  readonly incarnations: readonly number[]
}

export type Membership = {
  /** Null while this node is in no view. */
  readonly view: SeenView | null
  /** The incarnation of this node. */
  readonly incarnation: number
  /** Whether more than half of the members answer: nodes act on a view only then. */
  readonly inQuorum: boolean
  /** How many members may fail at once, in any combination, so that the remaining ones can form the next view. */
  readonly failureTolerance: number
  /** What a group without a quorum waits for; null while it has a quorum. */
  readonly waitingFor: Waiting | null
}

/**
 * A view without a majority that is linked with this node, and its unreachable members. `view` null: a majority of all
 * nodes is needed, or every node for a first view that must contain all. `mayHaveFormed`: the unreachable members may have
 * installed the view, and any of them can tell.
 */
export type Waiting = {
  readonly view: readonly [number: number, leader: NodeId | null] | null
  readonly members: readonly NodeId[]
  readonly mayHaveFormed: boolean
  readonly unreachable: readonly NodeId[]
}

/** Why peers count as reachable. */
export type Evidence = {
  /** When each peer was last known to be reachable: by its own timely message, or by the leader's report. */
  readonly of: readonly { readonly id: NodeId; readonly at: Micros }[]
  /** How long a peer counts as reachable after that. */
  readonly lasts: Micros
}

export type Insight = {
  /**
   * When the current term ends, on this node's own clock; null if no leader is known. The leader knows the exact time.
   * Followers count from when they received it, which is up to Δ too long. Where leases tune themselves, they count on
   * the success of the last renewal: while a majority does not support the renewals, it is up to a lease too long.
   * Under omega, which has no leases: until when this node counts itself in the quorum without another message.
   */
  readonly leadUntil: Micros | null
  /** The sets of voters. A leader needs a majority of each; there are two while one set replaces another. */
  readonly voters: readonly (readonly NodeId[])[]
  /** All nodes that have a vote in any of these sets, or will have one. */
  readonly named: readonly NodeId[]
  /** The reachable peers: this node has recently received a timely message of each. */
  readonly heard: readonly NodeId[]
  /** The evidence for `heard`; null if the protocol has none. */
  readonly evidence: Evidence | null
  /** Until when the node takes no part after a restart; null if it takes part. */
  readonly silentUntil: Micros | null
  /** Null if the protocol has no views. */
  readonly membership: Membership | null
}

/** What changes with every renewal, and what its readers must learn at once when it changes. */
export type Pulse = {
  readonly leader: NodeId | null
  /** The members under this leader, and until when that is certain. */
  readonly members: readonly NodeId[] | null
  readonly membersUntil: Micros | null
  /** `at` and `lasts` of the evidence for each node, in the order of the nodes; null without evidence. */
  readonly evidence: readonly (Micros | null)[]
  readonly evidenceFor: Micros
}

/** Leases that tune themselves: the level in force, what it gives and costs, and why. Durations are in microseconds. */
export type LeaseInsight = {
  /** The level of the leader; where no leader is known, of this node. And the levels that this node uses. */
  readonly level: number
  readonly levels: readonly [least: number, most: number]
  /** How long a voter is bound by a request of this level, and the bounds of that duration. */
  readonly lock: Micros
  readonly bounds: readonly [shortest: Micros, longest: Micros]
  /** What is left of a lease when the first try to renew it takes as long as it may. */
  readonly margin: Micros
  /** σ and δ at this level: how late a timer and a message may be. */
  readonly assumed: { readonly sigma: Micros; readonly delta: Micros }
  /** From the crash of the leader until another node leads, at this level; null: no node can. */
  readonly failOver: { readonly typical: Micros; readonly worst: Micros } | null
  /** As a leader: how often it renews. Null on other nodes. */
  readonly renewalPeriod: Micros | null
  /** As a leader: the level that the evidence asks for, and why. Null on other nodes. */
  readonly need: LeaseNeed | null
  /** As a leader: what each voter reported last, as upper bounds, and when, on this node's clock. */
  readonly voters: readonly {
    readonly node: NodeId
    readonly lateness: Micros
    readonly delay: Micros
    /** The part of the messages that got lost; 0: it noticed no loss. */
    readonly loss: number
    readonly at: Micros
  }[]
  /** Peers that have refused a lock, and the locks that they grant. */
  readonly refusals: readonly { readonly node: NodeId; readonly bounds: readonly [Micros, Micros] }[]
}

/** `cause`: late, delay, round, loss, quiet, bounds or inherited. `by`: the node that supplied the evidence. */
export type LeaseNeed = {
  readonly level: number
  readonly lock: Micros
  readonly cause: string
  readonly by: NodeId | null
  /** How late or how slow it was, as an upper bound; null for other causes. */
  readonly amount: Micros | null
}
