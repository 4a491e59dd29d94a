/** The JSON bodies of an agent's HTTP responses, shared by the agent, the client and the command line. */

export type Id = string | number

export type LeaderResponse = {
  readonly group: string
  /** Null when the agent knows of no leader. */
  readonly leader: {
    readonly id: Id
    /** Fencing token of the term. Null in local mode. */
    readonly token: number | null
    /**
     * Time until the lease expires unless the leader renews it. Exact when the agent itself leads. On a follower it is
     * counted from the arrival of the last renewal, so it can be too long by up to Δ. Where leases tune themselves, it
     * assumes that this renewal succeeds: while a majority does not support the renewals, it is too long by up to a
     * whole lease. Null under a protocol without leases.
     */
    readonly expiresInMs: number | null
  } | null
  readonly self: { readonly id: Id; readonly role: string }
}

/** A view, under a protocol with views: its number and leader, its members, and the incarnation of each member. */
export type ViewResponse = {
  readonly id: readonly [number: number, leader: Id | null]
  readonly members: readonly Id[]
  readonly incarnations: readonly number[]
}

export type NodeResponse = {
  readonly id: Id
  readonly voter: boolean
  readonly leader: boolean
  /** Whether the agent has recent evidence that it can exchange messages with the node. */
  readonly reachable: boolean
  /** Age of the newest evidence that the node is reachable. 0 for the agent itself, null without evidence. */
  readonly evidenceMsAgo: number | null
  /** Time since the agent last received a message from the node. 0 for the agent itself, null if it never did. */
  readonly heardMsAgo: number | null
}

export type MembersResponse = {
  readonly group: string
  readonly self: LeaderResponse['self']
  readonly nodes: readonly NodeResponse[]
}

/** Percentiles over a window of time, in milliseconds. */
export type Percentiles = { readonly p50: number; readonly p99: number; readonly max: number }

/** What a node measured about itself over the last minutes, beside the constants that assume it. */
export type Measured = {
  readonly windowMs: number
  /** How late its timers fired. Null before the first measurement. */
  readonly latenessMs: Percentiles | null
  /** σ: how late a timer may fire. */
  readonly sigmaMs: number
  /** Upper bounds of how long messages from its peers took. Null before the first measurement. */
  readonly delayMs: Percentiles | null
  /** δ: how long a message may take to be timely. */
  readonly deltaMs: number
  /** What was left of the lease when it was renewed. Null on a node that has not led in this window. */
  readonly renewalMarginMs: { readonly min: number; readonly p50: number } | null
}

/** Whom a node hears: for each other node, when it last received a message from it, and the round-trip time. */
export type Hears = {
  readonly [id: string]: { readonly heardMsAgo: number | null; readonly rttMs: number | null }
}

/** A node, with what it reported about itself. Fields are null until it has reported them. */
export type ObservedNodeResponse = NodeResponse & {
  /** HOST:PORT of its datagrams. */
  readonly address: string | null
  /** IP address and port to which this node sends datagrams for it; null for itself, and while its name is not resolved. */
  readonly resolvedAddress: string | null
  readonly role: 'voter' | 'witness' | 'observer'
  readonly priority: number | null
  readonly version: string | null
  /** URL of the page of its agent. */
  readonly page: string | null
  /** Whether it can store its votes: a voter that cannot does not vote for another leader. */
  readonly canStore: boolean | null
  /** Round-trip time from this node to it. */
  readonly rttMs: number | null
  readonly hears: Hears | null
  readonly measured: Measured | null
}

/**
 * Why leases have their length. `late`: a node handled timers late. `delay`: messages to a node were slow. `round`: a
 * majority answered slowly. `loss`: messages got lost. `quiet`: nothing was late. `bounds`: the bounds of a node.
 * `inherited`: from the leader before, or from an election that needed more time.
 */
export type LevelCause = 'late' | 'delay' | 'round' | 'loss' | 'quiet' | 'bounds' | 'inherited'

/** The leader changed the length of leases. */
export type LevelStep = {
  readonly level: number
  readonly leaseMs: number
  /** The length before. */
  readonly fromMs: number
  readonly cause: LevelCause
  readonly by: Id | null
}

export type LevelNeed = {
  readonly level: number
  readonly leaseMs: number
  readonly cause: LevelCause
  /** The node that supplied the evidence; null if none did. */
  readonly by: Id | null
  /** One sentence. */
  readonly text: string
}

/** Upper bounds: measurements travel as levels. */
export type VoterEvidence = {
  readonly id: Id
  readonly latenessMs: number
  readonly delayMs: number
  /** The part of the leader's messages that it missed. */
  readonly loss: number
  readonly msAgo: number
}

/** Leases that tune themselves: their present length, what it gives, and why. Durations are in milliseconds. */
export type TimingResponse = {
  /**
   * The level of the leader, also on a follower; where no leader is known, of this node, if it leads next. And the lowest
   * and highest level between the bounds. Each level is 5/4 of the one before.
   */
  readonly level: number
  readonly levels: readonly [least: number, most: number]
  /** The length of leases at this level, and how often the leader renews its lease. */
  readonly leaseMs: number
  readonly renewalMs: number
  /** What remains of the lease after the slowest renewal that succeeds at the first attempt. */
  readonly marginMs: number
  /** The bounds of this node. */
  readonly leaseMinMs: number
  readonly leaseMaxMs: number
  /** From the crash of the leader until another node leads, at this level. Null: no node can. */
  readonly failoverMs: { readonly typical: number; readonly worst: number } | null
  /** The level that the measurements ask for, and why. Only the leader knows it: null on other nodes. */
  readonly need: LevelNeed | null
  /** What each voter measured, as the leader last heard. Empty on other nodes. */
  readonly evidence: readonly VoterEvidence[]
  /** Nodes that refused a lease outside their bounds, and those bounds. */
  readonly refusals: readonly { readonly id: Id; readonly leaseMinMs: number; readonly leaseMaxMs: number }[]
}

/** A warning of this node. A repeated warning is listed once, with the time of the last. */
export type WarningResponse = {
  readonly at: string
  readonly what: string
  readonly detail: string
  readonly count: number
}

/** From best to worst. */
export type Level = 'healthy' | 'degraded' | 'at-risk' | 'no-leader' | 'alarm'

/** What a group without a quorum waits for, under a protocol with views. */
export type WaitingResponse = {
  /**
   * The view that lacks a majority. Null before the first view: then a majority of all nodes is needed, or all of them
   * (option `reinit: all`).
   */
  readonly view: ViewResponse['id'] | null
  readonly members: readonly Id[]
  /** True if the unreachable members may have formed that view. The return of any one of them settles it. */
  readonly mayHaveFormed: boolean
  readonly unreachable: readonly Id[]
}

export type StatusResponse = LeaderResponse & {
  /** Version of the agent. */
  readonly version: string
  /** How long the agent has known this leader with this token. Null without a leader. */
  readonly leaderSince: { readonly msAgo: number } | null
  /** One sentence about the condition of the group. The page, HTTP and the terminal show the same sentence. */
  readonly banner: string
  readonly level: Level
  readonly mode: 'local' | 'majority' | 'store'
  readonly voters: readonly Id[]
  /** Number of further voters that can fail, in the worst case, before the group loses its leader; 0 also without a quorum. */
  readonly failureTolerance: number
  /** How long evidence of reachability counts. Null where the protocol has no such limit. */
  readonly evidenceTtlMs: number | null
  /** Time since the agent last knew of a leader. Null while it knows of one. */
  readonly leaderlessMs: number | null
  /**
   * The length of a lease, and what remains of it after the slowest renewal that succeeds at the first attempt. Computed
   * from the constants, or from the level in force. Under a protocol without leases: the same for the replies of a peer.
   */
  readonly lease: { readonly lengthMs: number; readonly marginMs: number }
  /** Only where leases tune themselves. */
  readonly timing?: TimingResponse | undefined
  /** Null where the election measures nothing, as in a store. */
  readonly measured: Measured | null
  /** The newest first, at most 50. */
  readonly warnings: readonly WarningResponse[]
  readonly nodes: readonly ObservedNodeResponse[]
  /** Only under a protocol with views: the view that the agent is in; null while it is in none. */
  readonly view?: ViewResponse | null | undefined
  /** Only under a protocol with views: the incarnation of the agent's node. */
  readonly incarnation?: number | undefined
  /** Only under a protocol with views: whether more than half of the view respond in it. */
  readonly inQuorum?: boolean | undefined
  /** Only under a protocol with views: the nodes that a group without a quorum waits for; null while it has a quorum. */
  readonly waitingFor?: WaitingResponse | null | undefined
  /** Only in a store with fencing: whether this node knows that it leads and that all other nodes are fenced off. */
  readonly primary?: boolean | undefined
  /** Time of the response, on the agent's wall clock. */
  readonly at: string
}

/**
 * `started`: the agent has just started and knows of no leader yet. `crashed`: the process of the leader ended. `late`:
 * its timers fired later than σ. `slow-messages`: messages took longer than δ. `paused`: its process was stopped for a
 * while. `partitioned`: it could not exchange messages with a majority. `slept`: its host was suspended.
 */
export type CauseKind =
  | 'started'
  | 'crashed'
  | 'late'
  | 'slow-messages'
  | 'handed-over'
  | 'stepped-down'
  | 'paused'
  | 'partitioned'
  | 'slept'
  | 'unknown'

/** Why a term ended, and why there was no leader after it. */
export type Cause = {
  readonly kind: CauseKind
  /** The node that the cause is about. */
  readonly node: Id | null
  /** One sentence, such as "n1 was late by 93 ms (σ is 30 ms)". */
  readonly text: string
}

/** A term of a leader, or a gap between two terms, as one agent observed it. */
export type TermResponse = {
  /** Counts the entries of this run of the agent, from 1. A changed entry keeps its number. */
  readonly number: number
  /** Null: a gap. */
  readonly leader: Id | null
  readonly token: number | null
  readonly from: string
  /** Null while it lasts. */
  readonly until: string | null
  /** Gaps only: why there was no leader. May be refined when the former leader returns. */
  readonly cause: Cause | null
  /** Terms only: why it ended. Null while it lasts. */
  readonly ended: Cause | null
}

/** What the agent measured at one time; null where nothing was measured. */
export type SampleResponse = {
  readonly at: string
  /** Largest round-trip time to a reachable node. */
  readonly rttMs: number | null
  /** 99th percentile of the lateness of this node. */
  readonly latenessMs: number | null
  /** 99th percentile of the delays of messages to this node. */
  readonly delayMs: number | null
  /** Smallest margin of a renewal. */
  readonly renewalMarginMs: number | null
  /** Length of the last gap that ended since the sample before. */
  readonly failoverMs: number | null
}

export type HistoryResponse = {
  readonly group: string
  readonly self: LeaderResponse['self']
  readonly at: string
  /** Oldest first, at most 500. */
  readonly terms: readonly TermResponse[]
  /** One per 5 s, oldest first, at most 720. */
  readonly samples: readonly SampleResponse[]
}

/** Only under `conclave up`: where its supervisor listens, and the state of each process. */
export type LocalResponse = {
  readonly url: string
  readonly nodes: { readonly [id: string]: 'up' | 'paused' | 'down' }
  /** Links that are cut, each as the node that does not hear and the node that it does not hear. */
  readonly cut: readonly (readonly [hearer: string, sender: string])[]
}

/**
 * An event, as one agent observed it. `elected` and `revoked` are about the agent's own terms, `change` about the leader
 * that it follows, `view` about the membership, `level` about the length of leases. `warning` and `alarm` are for
 * operators.
 */
export type AgentEvent = {
  readonly at: string
  readonly group: string
  /** The node that observed the event. */
  readonly self: Id
  readonly event: 'elected' | 'revoked' | 'change' | 'view' | 'level' | 'warning' | 'alarm'
  readonly leader: Id | null
  readonly token: number | null
  /** `elected` and `revoked`: number of the term in this process, from 1. Null for other events. */
  readonly term: number | null
  readonly reason: string | null
  /** Why a term ended. Only in events that end one; then `leader` of a `revoked` is the former leader. */
  readonly cause?: Cause | undefined
  /** `level` only: this agent leads, and changed the length of leases. `reason` says why in a sentence. */
  readonly level?: LevelStep | undefined
  /** `view` only. A node that returns with a new incarnation is in both `left` and `joined`. */
  readonly view?:
    | (ViewResponse & { readonly joined: readonly Id[]; readonly left: readonly Id[] })
    | undefined
}

export type StepDownResponse = {
  readonly group: string
  readonly steppedDown: { readonly id: Id; readonly token: number | null }
  /** The node that the term was handed over to. Null when any node could follow. */
  readonly to: Id | null
  /**
   * With `to`: who leads next, and how long after the release of the lease the agent knew it. Null if the agent did not
   * learn it within 5 s.
   */
  readonly successor: { readonly id: Id; readonly token: number | null; readonly afterMs: number } | null
  /** With `to`: why another node leads, or none. Null when the chosen node leads. */
  readonly problem: string | null
}

export type LeaseBoundsResponse = {
  readonly group: string
  readonly id: Id
  /** The bounds of the agent's node from now on, and those before. */
  readonly leaseMinMs: number
  readonly leaseMaxMs: number
  readonly former: { readonly leaseMinMs: number; readonly leaseMaxMs: number }
  /** The bounds are not stored: a restarted agent has the bounds of its configuration. */
  readonly until: 'restart'
  /** Which fields to set in the configuration, to keep the bounds after a restart. */
  readonly toKeep: string
}

export type RemoveResponse = { readonly group: string; readonly removing: Id }

/** A claim on the term of an agent: permission for another process to act on it. */
export type ClaimResponse = {
  readonly group: string
  /** The node that leads. */
  readonly id: Id
  /** Id of the claim, for renewal and release. */
  readonly claim: string
  readonly token: number | null
  /** How long the claim is valid, counted from the moment before the request was sent. */
  readonly expiresInMs: number
  /** Whether the agent wants to end its term and waits for the release of this claim. */
  readonly ending: boolean
}

export type ErrorResponse = {
  readonly error: { readonly code: string; readonly message: string; readonly field: string | null }
}
