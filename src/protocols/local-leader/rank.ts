/** Ranks: which node should lead. Each node sends its rank in every message; safety never depends on it. */
import { compareIds, type NodeId } from '../../core/index.ts'

export type Rank = {
  /**
   * 0 by default. Larger while the node prefers that others lead: 1 during a hold-down, 2 after it stepped down, 3 when
   * it does not want to lead or keeps failing.
   */
  readonly low: number
  /** Higher is preferred. */
  readonly priority: number
  /** It leads, and leaders are sticky: a node of equal priority does not depose it. */
  readonly incumbent: boolean
}

/** Negative when `a` should lead rather than `b`. */
export function compareRanks(a: Rank, aId: NodeId, b: Rank, bId: NodeId): number {
  if (a.low !== b.low) return a.low - b.low
  if (a.priority !== b.priority) return b.priority - a.priority
  if (a.incumbent !== b.incumbent) return a.incumbent ? -1 : 1
  return compareIds(aId, bId)
}
