/** Closed links in the untimed world: pairs of node indexes. */
import type { NodeId } from '../../core/index.ts'
import type { Connected } from '../trace/index.ts'
import { type Ends, endOf } from './link-ends.ts'

/** Pairs of node indexes, the smaller first, sorted. */
export type Cut = readonly (readonly [number, number])[]

export function isCut(cut: Cut, a: number, b: number): boolean {
  return cut.some(([x, y]) => (x === a && y === b) || (x === b && y === a))
}

export function toggleLink(cut: Cut, a: number, b: number): Cut {
  if (isCut(cut, a, b)) return cut.filter((pair) => !isCut([pair], a, b))
  return [...cut, [Math.min(a, b), Math.max(a, b)] as const].sort((p, q) => p[0] - q[0] || p[1] - q[1])
}

/** The links that are not up at both ends in the same incarnation. */
export function closedPairs(nodes: number, ends: Ends): Cut {
  const places = Array.from({ length: nodes }, (_, place) => place)
  return places.flatMap((a) =>
    places.slice(a + 1).flatMap((b) => {
      const { up, lead } = endOf(ends, nodes, a, b)
      return up && lead === 0 ? [] : [[a, b] as const]
    }),
  )
}

export function connectedPairs(nodes: readonly NodeId[], up: readonly number[], cut: Cut): Connected {
  const pairs = up.flatMap((a) => up.filter((b) => b > a).map((b) => [a, b] as const))
  const open = pairs.filter(([a, b]) => !isCut(cut, a, b))
  if (open.length === pairs.length) return 'full'
  return open.map(([a, b]) => [nodes[a] as NodeId, nodes[b] as NodeId] as const)
}
