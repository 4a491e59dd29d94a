/** What is fixed for a node of Omega+. */
import { compareIds, type NodeId } from '../../core/index.ts'
import type { OmegaRules } from './rules.ts'

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
  readonly rules: OmegaRules
}

export function byWeight(weights: OmegaSettings['weights']): (a: NodeId, b: NodeId) => number {
  const weightOf = (id: NodeId): number => weights[String(id)] ?? 0
  return (a, b) => weightOf(a) - weightOf(b) || compareIds(a, b)
}
