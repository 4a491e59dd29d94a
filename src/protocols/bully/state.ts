import type { NodeId } from '../../core/index.ts'

export type BullyState = {
  /** `waitAnswer`: election messages are out (T runs). `waitCoordinator`: a higher process answered (T' runs). */
  readonly mode: 'idle' | 'waitAnswer' | 'waitCoordinator'
  /** The lecture's variable electd; null is its ⊥. */
  readonly elected: NodeId | null
  /** Who is believed to have failed. */
  readonly dead: readonly NodeId[]
  /** Repaired form only: somebody below may have heard from this process who leads, so it must hear of changes. */
  readonly told: boolean
}

/** What survives a crash. The literal form keeps nothing. */
export type BullyStable = { readonly told: true }

export const FRESH: BullyState = { mode: 'idle', elected: null, dead: [], told: false }
