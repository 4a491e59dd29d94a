/** State and messages of Phi, Psi and Omega, in the terms of the paper. */
import type { NodeId } from '../../core/index.ts'

/** `down`: cand_dn(j), a failure; `up`: cand_up(j), a recovery. */
export type Change = 'down' | 'up'

/** A cand, accept or cancel about node `of`. The round is 0 if rounds are not numbered. */
export type PrintedMessage =
  | {
      readonly kind: 'cand' | 'accept' | 'cancel'
      readonly is: Change
      readonly of: NodeId
      readonly round: number
    }
  /** Not in the paper: the leader sends the result to the others in the most obvious way. */
  | { readonly kind: 'view'; readonly members: readonly NodeId[] }

/** A remembered message: the change that it is about, and its receiver or sender. */
export type Note = {
  readonly is: Change
  readonly of: NodeId
  readonly peer: NodeId
  readonly round: number
}

export type PrintedState = {
  readonly dead: boolean
  /** Peers whose link is up. */
  readonly up: readonly NodeId[]
  readonly conn: readonly NodeId[]
  /** The set `dead` of the paper: nodes that were isolated at the start. */
  readonly isolated: readonly NodeId[]
  readonly sentCand: readonly Note[]
  readonly gotCand: readonly Note[]
  readonly sentAccept: readonly Note[]
  readonly gotAccept: readonly Note[]
  /** The number of cancelled rounds, which numbers the current one. Stays 0 if rounds are not numbered. */
  readonly rounds: number
  readonly leader: NodeId | null
}

export const NO_NOTES: readonly Note[] = []
