/** The messages. Every message carries a beacon: the rank and the lease of its sender at that moment. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Configuration } from './voters.ts'

/** The requests of a node are numbered within each of its incarnations. */
export type Request = { readonly incarnation: number; readonly counter: number }

/** The number of a candidacy. The larger one wins; no two terms have the same number. */
export type Epoch = { readonly number: number; readonly owner: NodeId | null }

export type Beacon = {
  /** The sender is a candidate, because it hears of no candidate of better rank. */
  readonly candidate: boolean
  readonly low: number
  readonly priority: number
  readonly incumbent: boolean
  /** Whether the sender has lately heard the receiver in time. */
  readonly heard: boolean
  /** The largest epoch that the sender has seen. */
  readonly seen: Epoch
  /** For how much longer the sender leads, and under which token; null when it does not lead. */
  readonly lease: { readonly left: Micros; readonly token: number | null } | null
}

/** All requests of a node up to this one are void, because it no longer leads by any of them. */
export type Certificate = { readonly owner: NodeId; readonly request: Request }

/** The supporters of a leader in a round, which all nodes learn in the next round. */
export type MembershipView = { readonly round: Request; readonly members: readonly NodeId[] }

export type Election = {
  readonly kind: 'Election'
  readonly beacon: Beacon
  readonly request: Request
  readonly epoch: number
  /** The sender leads and renews its lease. */
  readonly renew: boolean
  readonly config: Configuration
  readonly certificate: Certificate | null
  readonly view: MembershipView | null
  /** With adaptive timing: how long a supporter is bound. */
  readonly lock?: Micros
  /** The voters that the sender shall establish: nodes among them without a vote answer to show that they are up. */
  readonly wanted: readonly NodeId[] | null
  /** The order in which answers are gathered along a tree; null when each node answers directly. */
  readonly tree: readonly NodeId[] | null
}

/** The same request with a lock. Written out, because every round makes one, and copies with changes are slow. */
export function withLock(election: Election, lock: Micros): Election {
  const { kind, beacon, request, epoch, renew, config, certificate, view, wanted, tree } = election
  return { kind, beacon, request, epoch, renew, config, certificate, view, lock, wanted, tree }
}

/** What a leader with adaptive timing must know of a voter to choose its level. */
export type Evidence = Measurements & {
  /** The lowest and the highest level at which the node grants locks. */
  readonly least: number
  readonly most: number
}

/** What a node has measured lately, rounded to levels. */
export type Measurements = {
  /** The lowest level at which the node acts in time. */
  readonly late: number
  /** The lowest level at which requests of this leader are fast. */
  readonly delay: number
  /** Of the requests of this leader, about one in 2^loss got lost; NO_LOSS: none. */
  readonly loss: number
}

export const NO_LOSS = 15

export type Ballot = {
  readonly node: NodeId
  readonly support: boolean
  readonly evidence?: Evidence
  /** The node refuses because the lock of the request is outside its bounds, which these are. */
  readonly bounds?: { readonly shortest: Micros; readonly longest: Micros }
}

export type Reply = {
  readonly kind: 'Reply'
  readonly beacon: Beacon
  /** The sender of the request: on a tree not always the receiver of the reply. */
  readonly candidate: NodeId
  readonly request: Request
  /** The sender's own vote, and the votes that it gathered. */
  readonly votes: readonly Ballot[]
  /** The epoch that the sender has promised to support, and to whom. */
  readonly promised: Epoch
  /** The configuration that the sender has stored: a candidate may have missed it. */
  readonly config: Configuration
}

export type Release = {
  readonly kind: 'Release'
  readonly beacon: Beacon
  readonly request: Request
  /** The sender led and gave it up: all its requests up to this one are void. */
  readonly yields: boolean
  /** With `yields`: the node that shall lead next, if it was chosen. */
  readonly to?: NodeId
}

export type Heartbeat = { readonly kind: 'Heartbeat'; readonly beacon: Beacon }

export type LocalLeaderMessage = Election | Reply | Release | Heartbeat

export type LocalLeaderCommand =
  | { readonly do: 'stepDown'; readonly to?: NodeId }
  /** `lapse`: the node keeps its lease until it expires, but does not renew it. */
  | { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }
  | { readonly do: 'setPriority'; readonly priority: number }
  | { readonly do: 'addVoter'; readonly voter: NodeId }
  | { readonly do: 'removeVoter'; readonly voter: NodeId }
  | { readonly do: 'setLeaseBounds'; readonly leaseMinMs: number; readonly leaseMaxMs: number }

export const NO_EPOCH: Epoch = { number: 0, owner: null }

export function isLater(a: Request, b: Request): boolean {
  return a.incarnation > b.incarnation || (a.incarnation === b.incarnation && a.counter > b.counter)
}

export function isSame(a: Request, b: Request): boolean {
  return a.incarnation === b.incarnation && a.counter === b.counter
}
