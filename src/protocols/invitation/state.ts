import type { NodeId } from '../../core/index.ts'
import type { Group } from './messages.ts'

export type InvitationState = {
  readonly status: 'Election' | 'Reorganization' | 'Normal'
  /** The identifier of the group. Its coordinator is c. */
  readonly group: Group
  /** In the coordinator: the members that accepted (Up). Empty in other nodes. */
  readonly up: readonly NodeId[]
  /** The task, d: here the id of the coordinator that gave it. */
  readonly d: NodeId
  /** The number of groups that this node has formed. */
  readonly counter: number
  /** The greatest counter in an invitation of each other coordinator, sorted by node. */
  readonly seen: readonly (readonly [NodeId, number])[]
  /** The check in progress, and the nodes that answered yes; null when there is none. `queries` numbers it. */
  readonly query: { readonly yes: readonly NodeId[] } | null
  readonly queries: number
  /** Soft policy: the coordinators that the last check found, while this node waits for a higher one to invite. */
  readonly found: readonly NodeId[] | null
  /** How often the current `accept` or `ready` was resent. */
  readonly repeats: number
  /** Members that have not answered `ready` yet. */
  readonly unready: readonly NodeId[]
  /** The number of consecutive unanswered `areYouThere` messages; null while none is in flight. */
  readonly misses: number | null
}

/** The counter, unless it is volatile. */
export type InvitationStable = { readonly counter: number }
