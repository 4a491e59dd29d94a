/** The messages and commands. */
import type { NodeId } from '../../core/index.ts'

/** The lecture's three messages. `coordinator` names the coordinator, which need not be the sender. */
export type BullyMessage =
  | { readonly kind: 'election' }
  | { readonly kind: 'answer' }
  | { readonly kind: 'coordinator'; readonly id: NodeId }

export const ELECTION: BullyMessage = { kind: 'election' }
export const ANSWER: BullyMessage = { kind: 'answer' }

export function coordinator(id: NodeId): BullyMessage {
  return { kind: 'coordinator', id }
}

/** "Node `of` has failed": the report of a failure detector, or of a person. */
export type BullyCommand = { readonly do: 'detect'; readonly of: NodeId }
