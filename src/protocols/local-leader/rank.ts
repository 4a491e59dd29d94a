/** Ranks: which node should lead. Each node sends its rank in every message; safety never depends on it. */
import { compareIds, type NodeId } from '../../core/index.ts'

export type Rank = {
  /** 0 as a rule; more while it leaves the lead to others: 1 while it waits, 2 after it stepped down, 3 when it would not lead or keeps failing. */
  readonly low: number
  /** Higher is preferred. */
  readonly priority: number
  /** It leads and leaders are sticky: then equals do not depose it. */
  readonly incumbent: boolean
}

/** Negative when a should lead rather than b. */
export function compareRanks(a: Rank, aId: NodeId, b: Rank, bId: NodeId): number {
  if (a.low !== b.low) return a.low - b.low
  if (a.priority !== b.priority) return b.priority - a.priority
  if (a.incumbent !== b.incumbent) return a.incumbent ? -1 : 1
  return compareIds(aId, bId)
}
