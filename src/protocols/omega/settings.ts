/** The settings of a node of Omega+. */
import { compareIds, type NodeId } from '../../core/index.ts'
import type { OmegaRules } from './rules.ts'

export type OmegaSettings = {
  /** When a proposed view may be installed: always, with a majority of all nodes, or by dynamic voting. */
  readonly quorum: 'none' | 'static' | 'dynamic'
  /** Dynamic voting: exactly half of a view is enough if it includes the least node of the view. */
  readonly tie: boolean
  /** When all nodes are dead, form a first view: never, when all nodes are linked, or when the quorum rule allows it. */
  readonly reinit: 'never' | 'all' | 'quorum'
  /** Leaves out dead nodes that are linked with only some of the members, so that they do not block a view. */
  readonly filter: boolean
  /** The node with the least weight leads (default 0). Ties are broken by id. */
  readonly weights: { readonly [id: string]: number }
  readonly rules: OmegaRules
}

export function byWeight(weights: OmegaSettings['weights']): (a: NodeId, b: NodeId) => number {
  const weightOf = (id: NodeId): number => weights[String(id)] ?? 0
  return (a, b) => weightOf(a) - weightOf(b) || compareIds(a, b)
}
