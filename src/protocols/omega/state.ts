/** What a node of Omega+ knows: stable data that outlives a crash, and what is forgotten with a link or a process. */
import type { NodeId } from '../../core/index.ts'

/** Members of a view with their lives, by id. */
export type Members = readonly (readonly [id: NodeId, life: number])[]

/** No group has more nodes than this; so a token is one number, and larger for every later view. */
export const MOST_LEADERS = 10_000

/** A token is a view's number times MOST_LEADERS, and must stay a whole number. */
export const MOST_VIEWS = 2 ** 39

/** Views are ordered by number, then by leader. The view before the first has number 0 and no leader. */
export type ViewId = readonly [n: number, leader: NodeId | null]
export type OmegaView = { readonly id: ViewId; readonly members: Members }

/** Written before any message leaves that depends on it. */
export type OmegaStable = {
  readonly life: number
  readonly view: OmegaView
  /** The highest view promised to anybody. */
  readonly promised: ViewId
  /** With dynamic voting, the newest view that this node knows to be installed somewhere; otherwise no view. */
  readonly formed: OmegaView
  /**
   * With dynamic voting, views newer than `formed` that their proposer may have installed: this node has told it that it
   * may, and does not know that it did not. At most one per proposer, in the order of their ids. Before them at most one
   * that is not newer than `formed`, but than `view`: this node must not support its view any more.
   */
  readonly attempts: readonly OmegaView[]
}

/** What a peer last said of itself in this incarnation of the link. */
export type Status = {
  readonly life: number
  readonly ok: boolean
  readonly view: OmegaView
  readonly promised: number
  readonly formed: OmegaView
  readonly attempts: readonly OmegaView[]
  /** With `filter` only, else empty and false: whom it is linked with; whether it is dead and sees two live views. */
  readonly links: readonly NodeId[]
  readonly torn: boolean
  /** It would rather not lead. */
  readonly aside: boolean
}

/** A candidacy that a peer asked us to accept. `told`: the peer has learnt that its number is too low. */
export type Pending = {
  readonly n: number
  readonly members: Members
  readonly base: ViewId
  readonly told: boolean
}

/** A link that is up, and all that was exchanged over it since it came up. */
export type Link = {
  readonly peer: NodeId
  readonly status: Status | null
  readonly pending: Pending | null
  /** The number of the candidacy that we have accepted and not withdrawn; 0 when there is none. */
  readonly accepted: number
}

/** `recorded`: it has recorded the proposal as an attempt. */
export type Accept = {
  readonly peer: NodeId
  readonly formed: OmegaView
  readonly attempts: readonly OmegaView[]
  readonly recorded: boolean
}

/** What this node proposes, and who has accepted it. `isAttempt`: all have, with a quorum, and are to record it. */
export type Proposal = {
  readonly n: number
  readonly members: Members
  readonly base: ViewId
  readonly accepts: readonly Accept[]
  readonly isAttempt: boolean
}

export type OmegaState = OmegaStable & {
  /** Alive: the view is installed, names this life, and nothing has happened since that ended it. */
  readonly ok: boolean
  /** Whether its application would do anything with the lead: only then does it act. */
  readonly willing: boolean
  /** Whether it announces that it is ineligible: others are preferred to it. */
  readonly aside: boolean
  readonly links: readonly Link[]
  readonly proposal: Proposal | null
}

export type OmegaMessage =
  | ({ readonly kind: 'status' } & Status)
  | { readonly kind: 'cand'; readonly n: number; readonly members: Members; readonly base: ViewId }
  | { readonly kind: 'cancel'; readonly n: number }
  | {
      readonly kind: 'accept'
      readonly n: number
      readonly formed: OmegaView
      readonly attempts: readonly OmegaView[]
    }
  | { readonly kind: 'attempt'; readonly n: number }
  | { readonly kind: 'attempted'; readonly n: number }
  | { readonly kind: 'withdraw'; readonly n: number }

/**
 * It would lead from now on, or would not (`lapse`: work that began under its lead has not ended, though it should: others
 * take over only if that lasts); it gives the lead up, if it has it.
 */
export type OmegaCommand =
  | { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }
  | { readonly do: 'stepDown' }

export const NO_VIEW: OmegaView = { id: [0, null], members: [] }

/** A process that has never run: it belongs to no view, and can only be taken into one. */
export const BRAND_NEW: OmegaStable = {
  life: 0,
  view: NO_VIEW,
  promised: [0, null],
  formed: NO_VIEW,
  attempts: [],
}
