import { compareIds, type NodeId } from '../../core/index.ts'

/**
 * A process's identifier for an election: the lecture's <1/load, i>. The load itself is sent, because 1/0 is no
 * number that a message can carry; a smaller load is a larger identifier. Without loads every load is 0.
 */
export type Key = { readonly load: number; readonly node: NodeId }

export type RingMessage =
  | { readonly kind: 'election'; readonly key: Key }
  | { readonly kind: 'elected'; readonly key: Key }

/** `start`: begin an election. `setLoad`: this process's load is another from now on. */
export type RingCommand = { readonly do: 'start' } | { readonly do: 'setLoad'; readonly load: number }

export function compareKeys(a: Key, b: Key): number {
  return b.load - a.load || compareIds(a.node, b.node)
}
