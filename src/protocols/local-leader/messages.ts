/** What processes say to each other. Every message carries a beacon: how its sender stands at that moment. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Configuration } from './voters.ts'

/** Requests of a process are numbered, and the numbers of its incarnations do not mix. */
export type Request = { readonly incarnation: number; readonly counter: number }

/** A number under which somebody wanted to lead. The larger one wins; nobody leads twice with the same. */
export type Epoch = { readonly number: number; readonly owner: NodeId | null }

export type Beacon = {
  /** Stands for election, because it hears of nobody of better rank who does. */
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

/** All requests of a process up to this one are void, because it no longer leads by any of them. */
export type Certificate = { readonly owner: NodeId; readonly request: Request }

/** Who supported a leader in a round: known to all in the next. */
export type MembershipView = { readonly round: Request; readonly members: readonly NodeId[] }

export type Election = {
  readonly kind: 'Election'
  readonly beacon: Beacon
  readonly request: Request
  readonly epoch: number
  /** The sender leads and wants to go on. */
  readonly renew: boolean
  readonly config: Configuration
  readonly certificate: Certificate | null
  readonly view: MembershipView | null
  /** The voters that the sender is to bring about: those without a vote so far show that they are there. */
  readonly wanted: readonly NodeId[] | null
  /** The order in which answers are gathered along a tree; null when each answers directly. */
  readonly tree: readonly NodeId[] | null
}

export type Ballot = { readonly node: NodeId; readonly support: boolean }

export type Reply = {
  readonly kind: 'Reply'
  readonly beacon: Beacon
  /** Whose request it answers: not always the receiver's, on a tree. */
  readonly candidate: NodeId
  readonly request: Request
  /** The sender's own vote, and those that it gathered. */
  readonly votes: readonly Ballot[]
  /** The epoch that the sender has promised to support, and to whom. */
  readonly promised: Epoch
  /** The configuration that it has stored: a candidate may have missed it. */
  readonly config: Configuration
}

export type Release = {
  readonly kind: 'Release'
  readonly beacon: Beacon
  readonly request: Request
  /** The sender led and gave it up: all its requests up to this one are void. */
  readonly yields: boolean
}

export type Heartbeat = { readonly kind: 'Heartbeat'; readonly beacon: Beacon }

export type LocalLeaderMessage = Election | Reply | Release | Heartbeat

export type LocalLeaderCommand =
  | { readonly do: 'stepDown' }
  /** `lapse`: what it leads by it keeps until that lapses, but does not renew it. */
  | { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }
  | { readonly do: 'setPriority'; readonly priority: number }
  | { readonly do: 'addVoter'; readonly voter: NodeId }
  | { readonly do: 'removeVoter'; readonly voter: NodeId }

export const NO_EPOCH: Epoch = { number: 0, owner: null }

export function isLater(a: Request, b: Request): boolean {
  return a.incarnation > b.incarnation || (a.incarnation === b.incarnation && a.counter > b.counter)
}

export function isSame(a: Request, b: Request): boolean {
  return a.incarnation === b.incarnation && a.counter === b.counter
}
