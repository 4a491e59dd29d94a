/** What a node of Phi, Psi and Omega remembers, and what it sends, in the paper's words. */
import type { NodeId } from '../../core/index.ts'

/** `down`: cand_dn(j), a failure; `up`: cand_up(j), a recovery. */
export type Change = 'down' | 'up'

/** A cand, accept or cancel about node `of`; the round is 0 where rounds are not numbered. */
export type PrintedMessage =
  | {
      readonly kind: 'cand' | 'accept' | 'cancel'
      readonly is: Change
      readonly of: NodeId
      readonly round: number
    }
  /** Not in the paper: the result, told to the others in the most obvious way. */
  | { readonly kind: 'view'; readonly members: readonly NodeId[] }

/** One message remembered: what it was about, and whom it went to or came from. */
export type Note = {
  readonly is: Change
  readonly of: NodeId
  readonly peer: NodeId
  readonly round: number
}

export type PrintedState = {
  readonly dead: boolean
  /** Available links. */
  readonly up: readonly NodeId[]
  readonly conn: readonly NodeId[]
  /** The set `dead` of the paper: who was isolated in the beginning. */
  readonly isolated: readonly NodeId[]
  readonly sentCand: readonly Note[]
  readonly gotCand: readonly Note[]
  readonly sentAccept: readonly Note[]
  readonly gotAccept: readonly Note[]
  /** How many candidacies have been cancelled; the next has the number after it. Stays 0 where rounds are not numbered. */
  readonly rounds: number
  readonly leader: NodeId | null
}

export const NO_NOTES: readonly Note[] = []
