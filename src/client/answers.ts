/** What an agent answers over HTTP: the words that agent, client and command line share. */

export type Id = string | number

export type LeaderAnswer = {
  readonly group: string
  /**
   * `token` is null in local mode. `expiresInMs`: how long it goes on leading unless it renews; sure when the asked agent
   * leads itself, otherwise counted from when that was told, which is up to Δ too long.
   */
  readonly leader: { readonly id: Id; readonly token: number | null; readonly expiresInMs: number } | null
  readonly self: { readonly id: Id; readonly role: string }
}

export type MemberAnswer = {
  readonly id: Id
  readonly voter: boolean
  readonly leader: boolean
  /** Whether the asked agent hears it in time. */
  readonly there: boolean
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

export type StatusAnswer = LeaderAnswer & {
  /** One sentence, the same wherever it is shown. */
  readonly banner: string
  readonly level: Level
  readonly mode: 'local' | 'majority' | 'store'
  readonly voters: readonly Id[]
  /** How many more of the voters may fail, whichever they are, before nobody can lead; 0 also when it is too late. */
  readonly spareFailures: number
  /** For how long the asked agent has known of no leader; null while it knows of one. */
  readonly leaderlessMs: number | null
  readonly members: readonly MemberAnswer[]
  /** When the asked agent said so, on its wall clock. */
  readonly at: string
}

/**
 * What happened, as one agent saw it. `elected` and `revoked` are about itself; `change` is about whom it takes for the
 * leader; `warning` and `alarm` are for the operator.
 */
export type AgentEvent = {
  readonly at: string
  readonly group: string
  /** Whose view it is. */
  readonly self: Id
  readonly event: 'elected' | 'revoked' | 'change' | 'warning' | 'alarm'
  readonly leader: Id | null
  readonly token: number | null
  /** `elected` and `revoked`: which leadership of this process it is, counted from 1; null in the others. */
  readonly term: number | null
  readonly reason: string | null
}

export type ErrorAnswer = {
  readonly error: { readonly name: string; readonly message: string; readonly field: string | null }
}
