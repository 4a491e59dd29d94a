import { compareIds, type NodeId } from '../../core/index.ts'
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

export function createState(self: NodeId): InvitationState {
  return {
    status: 'Normal',
    group: { coordinator: self, counter: 0 },
    up: [],
    d: self,
    counter: 0,
    seen: [],
    query: null,
    queries: 0,
    found: null,
    repeats: 0,
    unready: [],
    misses: null,
  }
}

/** A state with some fields changed. Written out, because a spread takes longer than the rest of a step. */
export function change(state: InvitationState, changes: Partial<InvitationState>): InvitationState {
  const {
    status = state.status,
    group = state.group,
    up = state.up,
    d = state.d,
    counter = state.counter,
    seen = state.seen,
    query = state.query,
    queries = state.queries,
    found = state.found,
    repeats = state.repeats,
    unready = state.unready,
    misses = state.misses,
  } = changes
  return { status, group, up, d, counter, seen, query, queries, found, repeats, unready, misses }
}

/** Ends all operations in progress. */
export function clearPending(state: InvitationState): InvitationState {
  return change(state, { query: null, found: null, repeats: 0, unready: [], misses: null })
}

export function withSeen(
  seen: InvitationState['seen'],
  { coordinator, counter }: Group,
): InvitationState['seen'] {
  const rest = seen.filter(([node]) => node !== coordinator)
  return [...rest, [coordinator, counter] as const].sort(([a], [b]) => compareIds(a, b))
}

export function leaderOf(state: InvitationState): NodeId | null {
  return state.status === 'Normal' ? state.group.coordinator : null
}
