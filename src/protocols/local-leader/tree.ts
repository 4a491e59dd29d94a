/**
 * Answers gathered along a tree (the paper's Fig. 28): in a large group the candidate would otherwise receive the answers
 * of all voters at the same moment. The candidate is the root of a k-ary tree over a list that its request carries; an
 * inner node waits for its children and passes their votes on with its own. The carrier of a vote does not matter: it
 * is a lock for one request. A parent gives a silent child up at its level's time; the candidate then asks every missing
 * voter directly, with the same request.
 */
import type { Micros, NodeId } from '../../core/index.ts'

export type Tree = {
  readonly fanout: number
  /** The number of levels below the candidate. */
  readonly levels: number
  /** How much longer a node waits for its children than they wait for theirs. */
  readonly patience: Micros
}

export function levelsOf(nodes: number, fanout: number): number {
  let levels = 0
  for (let covered = 1, width = 1; covered < nodes; levels++) {
    width *= fanout
    covered += width
  }
  return levels
}

function levelOf(place: number, fanout: number): number {
  let level = 0
  for (let above = place; above > 0; above = parentPlace(above, fanout)) level += 1
  return level
}

function parentPlace(place: number, fanout: number): number {
  return Math.floor((place - 1) / fanout)
}

/** The place of a node in the tree over this list: its parent, its children, and how long it waits for them. */
export function placeInTree(
  order: readonly NodeId[],
  self: NodeId,
  { fanout, levels, patience }: Tree,
): { readonly parent: NodeId; readonly children: readonly NodeId[]; readonly wait: Micros } | null {
  const place = order.indexOf(self)
  if (place <= 0) return null
  const first = place * fanout + 1
  return {
    parent: order[parentPlace(place, fanout)] as NodeId,
    children: order.slice(first, first + fanout),
    wait: patience * (levels - levelOf(place, fanout)),
  }
}
