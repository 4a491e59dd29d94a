/** The connected components of an undirected graph, each in the order of `all`. */
export function components<T>(all: readonly T[], linked: (a: T, b: T) => boolean): readonly (readonly T[])[] {
  const left = new Set(all)
  const parts: (readonly T[])[] = []
  for (const first of all) {
    if (!left.delete(first)) continue
    const part = new Set([first])
    for (const a of part) {
      for (const b of left) {
        if (!linked(a, b)) continue
        left.delete(b)
        part.add(b)
      }
    }
    parts.push(all.filter((each) => part.has(each)))
  }
  return parts
}
