/** What an agent answers over HTTP: the words that agent, client and command line share. */

export type Id = string | number

export type LeaderAnswer = {
  readonly group: string
  /**
   * `token` is null in local mode. `expiresInMs`: how long it goes on leading unless it renews; sure when the asked agent
   * leads itself, otherwise counted from when that was told, which is up to Δ too long; null under omega, which has no
   * leases.
   */
  readonly leader: {
    readonly id: Id
    readonly token: number | null
    readonly expiresInMs: number | null
  } | null
  readonly self: { readonly id: Id; readonly role: string }
}

/** A view of the living, under omega: its number and leader, and the members, each with the number of its life. */
export type ViewAnswer = {
  readonly id: readonly [number: number, leader: Id | null]
  readonly members: readonly Id[]
  readonly lives: readonly number[]
}

export type MemberAnswer = {
  readonly id: Id
  readonly voter: boolean
  readonly leader: boolean
  /** Whether the asked agent hears it in time. */
  readonly there: boolean
  /** How old the evidence is that it is there: 0 for the asked agent itself, null when there is none. */
  readonly evidenceMsAgo: number | null
  /** How long ago the asked agent last heard it: 0 for itself, null when it never did. */
  readonly heardMsAgo: number | null
}

export type MembersAnswer = {
  readonly group: string
  readonly self: LeaderAnswer['self']
  readonly members: readonly MemberAnswer[]
}

/** From good to bad. */
export type Level = 'healthy' | 'degraded' | 'at-risk' | 'no-leader' | 'alarm'

/** `isAttempt`: the missing nodes may have formed that view, and any one of them can tell. */
export type WaitingAnswer = {
  readonly view: ViewAnswer['id'] | null
  readonly members: readonly Id[]
  readonly isAttempt: boolean
  readonly missing: readonly Id[]
}

export type StatusAnswer = LeaderAnswer & {
  /** One sentence, the same wherever it is shown. */
  readonly banner: string
  readonly level: Level
  readonly mode: 'local' | 'majority' | 'store'
  readonly voters: readonly Id[]
  /** How many more of the voters may fail, whichever they are, before nobody can lead; 0 also when it is too late. */
  readonly spareFailures: number
  /** For how long evidence that a node is there counts; null where the protocol does not say. */
  readonly evidenceForMs: number | null
  /** For how long the asked agent has known of no leader; null while it knows of one. */
  readonly leaderlessMs: number | null
  /**
   * By the constants: how long a lease lasts, and what is left of it when it has been renewed by the first try, which
   * took as long as it may. Under omega, which has no leases: the same of the answers of a peer.
   */
  readonly lease: { readonly lengthMs: number; readonly marginMs: number }
  readonly members: readonly MemberAnswer[]
  /** Only under omega: the view that the asked agent is in, null while in none; its own life; whether more than half answer. */
  readonly view?: ViewAnswer | null | undefined
  readonly life?: number | undefined
  readonly inQuorum?: boolean | undefined
  /** Only under omega: the nodes that a group without a quorum waits for; null while it has a quorum. */
  readonly waitsFor?: WaitingAnswer | null | undefined
  /** epochs with fencing: whether this node knows that it leads and has cut all others off. */
  readonly primary?: boolean | undefined
  /** When the asked agent said so, on its wall clock. */
  readonly at: string
}

/**
 * What happened, as one agent saw it. `elected` and `revoked` are about itself; `change` is about whom it takes for the
 * leader; `view`, under omega, is about who is alive; `warning` and `alarm` are for the operator.
 */
export type AgentEvent = {
  readonly at: string
  readonly group: string
  /** Whose view it is. */
  readonly self: Id
  readonly event: 'elected' | 'revoked' | 'change' | 'view' | 'warning' | 'alarm'
  readonly leader: Id | null
  readonly token: number | null
  /** `elected` and `revoked`: which leadership of this process it is, counted from 1; null in the others. */
  readonly term: number | null
  readonly reason: string | null
  /** Only of `view`: whoever came back under a new life has left and joined. */
  readonly view?: (ViewAnswer & { readonly joined: readonly Id[]; readonly left: readonly Id[] }) | undefined
}

export type ErrorAnswer = {
  readonly error: { readonly name: string; readonly message: string; readonly field: string | null }
}
