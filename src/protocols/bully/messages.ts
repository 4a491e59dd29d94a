import type { NodeId } from '../../core/index.ts'

/** The lecture's three messages. `coordinator` names the coordinator, who need not be the one that sends it. */
export type BullyMessage =
  | { readonly kind: 'election' }
  | { readonly kind: 'answer' }
  | { readonly kind: 'coordinator'; readonly id: NodeId }

export const ELECTION: BullyMessage = { kind: 'election' }
export const ANSWER: BullyMessage = { kind: 'answer' }

export function coordinator(id: NodeId): BullyMessage {
  return { kind: 'coordinator', id }
}

/** "The process `of` has failed": what a failure detector says, or a person in its place. */
export type BullyCommand = { readonly do: 'detect'; readonly of: NodeId }
