/** What a node measures of itself and its links, and what nodes tell each other about themselves. */
import type { NodeId } from '../../core/index.ts'

/** Percentiles of the last minutes, in milliseconds. */
export type Spread = { readonly p50: number; readonly p99: number; readonly max: number }

/** The measurements of a node over the last `windowMs`. A field is null while nothing was measured. */
export type Measured = {
  readonly windowMs: number
  /** Scheduling lateness: how much later than due the timers of the election fired. */
  readonly latenessMs: Spread | null
  /** σ: the lateness that the protocol assumes at most. */
  readonly sigmaMs: number
  /** Delays of the messages from all peers; in a store, the duration of accesses. */
  readonly delayMs: Spread | null
  /** δ: the delay that the protocol assumes at most. */
  readonly deltaMs: number
  /** What was left of the lease when it was renewed, on the leader. */
  readonly renewalMarginMs: { readonly min: number; readonly p50: number } | null
}

export type CauseKind =
  | 'started'
  | 'crashed'
  | 'late'
  | 'slow-messages'
  | 'handed-over'
  | 'paused'
  | 'partitioned'
  | 'slept'
  | 'stepped-down'
  | 'unknown'

/** Why a term ended, in one word and in one sentence. */
export type Cause = { readonly kind: CauseKind; readonly node: NodeId | null; readonly text: string }

export type NodeRole = 'voter' | 'witness' | 'observer'

/** How well a node hears one peer. */
export type Hearing = { readonly heardMsAgo: number | null; readonly rttMs: number | null }

/** How the last term of a node ended. */
export type EndedTerm = { readonly token: number | null; readonly cause: Cause; readonly endedMsAgo: number }

/** What is known about a node apart from its reachability. All of it is for operators; no election uses it. */
export type NodeDetails = {
  /** As configured; null for this node itself and in a store. */
  readonly address: string | null
  /** IP address and port to which datagrams for it are sent; null while its name is not resolved. */
  readonly resolvedAddress: string | null
  readonly role: NodeRole
  readonly priority: number | null
  /** Names the run of its process: another value after a restart. */
  readonly run: string | null
  /** The version of Conclave that it runs. */
  readonly version: string | null
  /** The URL of its agent's page. */
  readonly page: string | null
  /** Whether it can store its votes; null until it has reported it. */
  readonly canStore: boolean | null
  /** The round-trip time from this node to it. */
  readonly rttMs: number | null
  /** The nodes that it hears, by id, as it last reported. */
  readonly hears: { readonly [id: string]: Hearing } | null
  readonly measured: Measured | null
  readonly lastTerm: EndedTerm | null
}

/** What an agent tells the other nodes about itself. */
export type Announcement = {
  /** The URL of its page; null: it has none. */
  readonly page: string | null
}

export const NO_DETAILS: NodeDetails = {
  address: null,
  resolvedAddress: null,
  role: 'voter',
  priority: null,
  run: null,
  version: null,
  page: null,
  canStore: null,
  rttMs: null,
  hears: null,
  measured: null,
  lastTerm: null,
}

export const NOTHING_MEASURED: Measured = {
  windowMs: 0,
  latenessMs: null,
  sigmaMs: 0,
  delayMs: null,
  deltaMs: 0,
  renewalMarginMs: null,
}
