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
     * counted from the arrival of the last renewal, so it can be too long by up to Δ. Null under a protocol without leases.
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

/** From best to worst. */
export type Level = 'healthy' | 'degraded' | 'at-risk' | 'no-leader' | 'alarm'

/** What a group without a quorum waits for, under a protocol with views. */
export type WaitingResponse = {
  /** The view that lacks a majority. Null before the first view: then a majority of all nodes is needed. */
  readonly view: ViewResponse['id'] | null
  readonly members: readonly Id[]
  /** True if the unreachable members may have formed that view. The return of any one of them settles it. */
  readonly mayHaveFormed: boolean
  readonly unreachable: readonly Id[]
}

export type StatusResponse = LeaderResponse & {
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
   * Computed from the constants: the length of a lease, and what remains of it after the slowest renewal that succeeds at
   * the first attempt. Under a protocol without leases: the same for the replies of a peer.
   */
  readonly lease: { readonly lengthMs: number; readonly marginMs: number }
  readonly nodes: readonly NodeResponse[]
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
 * An event, as one agent observed it. `elected` and `revoked` are about the agent's own terms, `change` about the leader
 * that it follows, `view` about the membership. `warning` and `alarm` are for operators.
 */
export type AgentEvent = {
  readonly at: string
  readonly group: string
  /** The node that observed the event. */
  readonly self: Id
  readonly event: 'elected' | 'revoked' | 'change' | 'view' | 'warning' | 'alarm'
  readonly leader: Id | null
  readonly token: number | null
  /** `elected` and `revoked`: number of the term in this process, from 1. Null for other events. */
  readonly term: number | null
  readonly reason: string | null
  /** `view` only. A node that returns with a new incarnation is in both `left` and `joined`. */
  readonly view?:
    | (ViewResponse & { readonly joined: readonly Id[]; readonly left: readonly Id[] })
    | undefined
}

export type StepDownResponse = {
  readonly group: string
  readonly steppedDown: { readonly id: Id; readonly token: number | null }
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
