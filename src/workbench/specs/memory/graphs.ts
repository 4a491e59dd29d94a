/** Small graphs: connections, maximal cliques, and minimum clique covers. */
import type { NodeId } from '../../../core/index.ts'
import type { Connected } from '../../trace/index.ts'

/** Exact clique covers are computed up to this many nodes. */
export const MOST_FOR_COVER = 10

export type Graph = { readonly nodes: readonly NodeId[]; linked(a: NodeId, b: NodeId): boolean }

export function graphOf(nodes: readonly NodeId[], connected: Connected): Graph {
  return {
    nodes,
    linked: (a, b) =>
      connected === 'full' || connected.some(([x, y]) => (x === a && y === b) || (x === b && y === a)),
  }
}

/** The neighbours of each node as a bitmask, by index. */
function neighbours({ nodes, linked }: Graph): readonly number[] {
  return nodes.map((a) =>
    nodes.reduce<number>((bits, b, place) => (a !== b && linked(a, b) ? bits | (1 << place) : bits), 0),
  )
}

function isClique(bits: number, next: readonly number[]): boolean {
  for (let place = 0; place < next.length; place++) {
    const isIn = (bits & (1 << place)) !== 0
    if (isIn && (bits & ~(1 << place) & ~(next[place] as number)) !== 0) return false
  }
  return true
}

/** The least number of cliques that partition the nodes, by dynamic programming over subsets. */
export function leastCliqueCover(graph: Graph): number {
  const next = neighbours(graph)
  const all = (1 << graph.nodes.length) - 1
  const cover = new Uint8Array(all + 1).fill(255)
  cover[0] = 0
  for (let set = 1; set <= all; set++) {
    const lowest = set & -set
    for (let part = set; part > 0; part = (part - 1) & set) {
      if ((part & lowest) === 0 || !isClique(part, next)) continue
      const rest = (cover[set & ~part] as number) + 1
      if (rest < (cover[set] as number)) cover[set] = rest
    }
  }
  return cover[all] as number
}

/** Cliques to which no node can be added. */
export function maximalCliques(graph: Graph): readonly (readonly NodeId[])[] {
  const next = neighbours(graph)
  const all = (1 << graph.nodes.length) - 1
  const cliques: (readonly NodeId[])[] = []
  for (let set = 1; set <= all; set++) {
    if (!isClique(set, next)) continue
    const canGrow = next.some((bits, place) => (set & (1 << place)) === 0 && (set & ~bits) === 0)
    if (!canGrow) cliques.push(graph.nodes.filter((_, place) => (set & (1 << place)) !== 0))
  }
  return cliques
}

export function areAllLinked({ linked }: Graph, part: readonly NodeId[]): boolean {
  return part.every((a, place) => part.slice(place + 1).every((b) => linked(a, b)))
}
