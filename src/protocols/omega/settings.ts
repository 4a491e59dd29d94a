/** What is fixed for a node of Omega+. */
import { compareIds, type NodeId } from '../../core/index.ts'

/** Rules that can be left out, so that tests show what each is there for. No option of the protocol sets these. */
export type Flaw =
  | 'no attempts'
  | 'no life'
  | 'no yield'
  /** An attempt counts from the moment it is accepted, with or without a quorum. */
  | 'early attempts'
  /** A peer supports the view that it is in, whatever it has recorded. */
  | 'double support'
  /** With a static majority, too, the members of the view are counted and not all nodes. */
  | 'view majority'

export type OmegaSettings = {
  /** When a proposed view may be installed: always; with a majority of all nodes; by dynamic voting. */
  readonly quorum: 'none' | 'static' | 'dynamic'
  /** Dynamic voting: exactly half counts, too, when the least node is in it. */
  readonly tie: boolean
  /** When nobody is alive: never begin again; when all nodes are linked; whenever the quorum rule allows it. */
  readonly reinit: 'never' | 'all' | 'quorum'
  /** Dead nodes that are linked with only some of the members do not hold up the others. */
  readonly filter: boolean
  /** The least weight leads; equal weights (0 by default) by id. */
  readonly weights: { readonly [id: string]: number }
  readonly flaws: readonly Flaw[]
}

export function byWeight(weights: OmegaSettings['weights']): (a: NodeId, b: NodeId) => number {
  const weightOf = (id: NodeId): number => weights[String(id)] ?? 0
  return (a, b) => weightOf(a) - weightOf(b) || compareIds(a, b)
}
