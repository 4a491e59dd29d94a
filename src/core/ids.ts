/** A node's name. Numbers come before strings; numbers by value, strings by code unit. */
export type NodeId = number | string

export function compareIds(a: NodeId, b: NodeId): number {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0
  return typeof a === 'number' ? -1 : 1
}

/** The canonical form of a set of nodes. */
export function sortIds(ids: Iterable<NodeId>): readonly NodeId[] {
  return [...ids].sort(compareIds)
}

/** `set` with `id`: the same array when nothing changes. */
export function withId(set: readonly NodeId[], id: NodeId): readonly NodeId[] {
  return set.includes(id) ? set : sortIds([...set, id])
}

/** `set` with all of them: the same array when nothing changes. */
export function withIds(set: readonly NodeId[], ids: readonly NodeId[]): readonly NodeId[] {
  const added = ids.filter((id) => !set.includes(id))
  return added.length === 0 ? set : sortIds([...set, ...added])
}

/** `set` without `id`: the same array when nothing changes. */
export function withoutId(set: readonly NodeId[], id: NodeId): readonly NodeId[] {
  return set.includes(id) ? set.filter((other) => other !== id) : set
}
