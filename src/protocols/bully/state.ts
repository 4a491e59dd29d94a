/** The state of a node, and its stable data. */
import type { NodeId } from '../../core/index.ts'

export type BullyState = {
  /** `waitAnswer`: election messages are out (T runs). `waitCoordinator`: a higher node answered (T' runs). */
  readonly mode: 'idle' | 'waitAnswer' | 'waitCoordinator'
  /** The lecture's variable electd; null is its ⊥. */
  readonly elected: NodeId | null
  /** Nodes that are believed to have failed. */
  readonly dead: readonly NodeId[]
  /** Repaired form only: a lower node may have learned the leader from this node, so it must learn every change. */
  readonly hasAnnounced: boolean
}

/** What survives a crash. The literal form persists nothing. */
export type BullyStable = { readonly hasAnnounced: true }

export const FRESH: BullyState = { mode: 'idle', elected: null, dead: [], hasAnnounced: false }
