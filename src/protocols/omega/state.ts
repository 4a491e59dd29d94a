/** The state of a node of Omega+: stable data, which survives a crash, and data that is lost with a link or a process. */
import type { NodeId } from '../../core/index.ts'

/** Members of a view with their lives (incarnation numbers), in the order of their ids. */
export type Members = readonly (readonly [id: NodeId, life: number])[]

/** The maximum number of nodes. It lets a token be one number that grows with every view. */
export const MOST_LEADERS = 10_000

/** A token is the number of a view times MOST_LEADERS, and must stay a safe integer. */
export const MOST_VIEWS = 2 ** 39

/** Views are ordered by number, then by leader. The view before the first has number 0 and no leader. */
export type ViewId = readonly [n: number, leader: NodeId | null]
export type OmegaView = { readonly id: ViewId; readonly members: Members }

/** Persisted before any message that depends on it is sent. */
export type OmegaStable = {
  readonly life: number
  readonly view: OmegaView
  /** The highest view that this node has promised to a proposer. */
  readonly promised: ViewId
  /** With dynamic voting, the newest view that this node knows to be installed somewhere; otherwise no view. */
  readonly formed: OmegaView
  /**
   * With dynamic voting, open attempts: views newer than `formed` that this node has recorded, and that their proposer
   * may have installed. At most one per proposer, in the order of their ids. The first entry may be an overtaken attempt,
   * newer than `view` but not newer than `formed`: then this node must not support its view any more.
   */
  readonly attempts: readonly OmegaView[]
}

/** The last status that a peer sent in this incarnation of the link. */
export type Status = {
  readonly life: number
  readonly ok: boolean
  readonly view: OmegaView
  readonly promised: number
  readonly formed: OmegaView
  readonly attempts: readonly OmegaView[]
  /**
   * Only with `filter`; otherwise empty and false. `links`: the peers that it is linked with. `torn`: it is dead and
   * linked with living nodes of two views.
   */
  readonly links: readonly NodeId[]
  readonly torn: boolean
  /** Whether it is ineligible. This is the name of the field on the wire. */
  readonly aside: boolean
}

/** A candidacy that a peer asks this node to accept. `isAnswered`: this node has replied that the number is too low. */
export type Pending = {
  readonly n: number
  readonly members: Members
  readonly base: ViewId
  readonly isAnswered: boolean
}

/** A link that is up, and what was exchanged over it since it came up. */
export type Link = {
  readonly peer: NodeId
  readonly status: Status | null
  readonly pending: Pending | null
  /** The number of the candidacy that this node has accepted and not withdrawn; 0 when there is none. */
  readonly accepted: number
}

/** The accept of a peer. `recorded`: the peer has recorded the proposal as an attempt. */
export type Accept = {
  readonly peer: NodeId
  readonly formed: OmegaView
  readonly attempts: readonly OmegaView[]
  readonly recorded: boolean
}

/** The proposal of this node. `isAttempt`: all have accepted it, there is a quorum, and the members now record it. */
export type Proposal = {
  readonly n: number
  readonly members: Members
  readonly base: ViewId
  readonly accepts: readonly Accept[]
  readonly isAttempt: boolean
}

export type OmegaState = OmegaStable & {
  /** Alive: the view is installed and names this life, and the life has not ended since. */
  readonly ok: boolean
  /** Whether the application would lead. Only then does the node act as leader. */
  readonly willing: boolean
  /** Whether it announces that it is ineligible, so that other nodes are preferred to it. */
  readonly isIneligible: boolean
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
 * `campaign` sets whether the node would lead. `lapse`: work of its term has not ended yet, so it announces that it is
 * ineligible only after a delay. `stepDown`: the leader gives up its term.
 */
export type OmegaCommand =
  | { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }
  | { readonly do: 'stepDown' }

export const NO_VIEW: OmegaView = { id: [0, null], members: [] }

/** The stable data of a process that has never run: it belongs to no view. */
export const BRAND_NEW: OmegaStable = {
  life: 0,
  view: NO_VIEW,
  promised: [0, null],
  formed: NO_VIEW,
  attempts: [],
}
