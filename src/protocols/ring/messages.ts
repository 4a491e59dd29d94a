import { compareIds, type NodeId } from '../../core/index.ts'

/**
 * The identifier of a node in an election: the lecture's <1/load, i>. The load itself is sent, because a message cannot
 * carry 1/0. A smaller load is a larger identifier. The default load is 0.
 */
export type Key = { readonly load: number; readonly node: NodeId }

export type RingMessage =
  | { readonly kind: 'election'; readonly key: Key }
  | { readonly kind: 'elected'; readonly key: Key }

/** `start`: start an election. `setLoad`: change the load of this node. */
export type RingCommand = { readonly do: 'start' } | { readonly do: 'setLoad'; readonly load: number }

export function compareKeys(a: Key, b: Key): number {
  return b.load - a.load || compareIds(a.node, b.node)
}
