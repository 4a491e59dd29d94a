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
  let place = 0
  while (place < set.length && compareIds(set[place] as NodeId, id) < 0) place += 1
  if (place < set.length && set[place] === id) return set
  const next = set.slice()
  // Faster than `splice` for the short lists that these are.
  for (let at = next.length; at > place; at--) next[at] = next[at - 1] as NodeId
  next[place] = id
  return next
}

/** From this size on, sorting the union is faster than inserting one by one. */
const MANY = 16

/** `set` with all of them: the same array when nothing changes. */
export function withIds(set: readonly NodeId[], ids: readonly NodeId[]): readonly NodeId[] {
  if (ids.length >= MANY) {
    const all = new Set([...set, ...ids])
    return all.size === set.length ? set : sortIds(all)
  }
  let next = set
  for (const id of ids) next = withId(next, id)
  return next
}

/** `set` without `id`: the same array when nothing changes. */
export function withoutId(set: readonly NodeId[], id: NodeId): readonly NodeId[] {
  return set.includes(id) ? set.filter((other) => other !== id) : set
}
