/** Why a term ended. */
import type { NodeId, Output } from '../../../core/index.ts'
import type { CauseKind, Explanation } from '../../runtime/index.ts'

export const LOSS_REASONS = [
  /** The lease was not renewed in time. */
  'expired',
  /** The host slept, so that the clock of the lease stood still. */
  'suspended',
  /** The thread of the application was blocked for longer than `maxStallMs`. */
  'stalled',
  /** The work returned, or `stepDown` was called. */
  'stepped down',
  /** The signal given to `lead` was aborted. */
  'stopped',
  /** `healthy` did not answer true. */
  'unhealthy',
  /** The node was closed. */
  'closed',
  /** A node with a higher rank is a candidate. */
  'outranked',
  /** The protocol limits the length of terms, and this one is over. */
  'term over',
  /** This node was removed from the voters. */
  'no longer a voter',
  /** The node is no longer a candidate. */
  'withdrew',
  /** Under a protocol with views: the node left its view, a newer view was installed, or the view lost its quorum. */
  'left the view',
  'another view',
  'out of quorum',
  /** The protocol ended the term for another reason; `detail` says which. */
  'deposed',
  /** The election cannot go on; `cause` is the error. */
  'failed',
  /** `assertHeld` asked for more time than is left of the lease. */
  'lease too short',
] as const

export type LossReason = (typeof LOSS_REASONS)[number]

export type Loss = {
  readonly reason: LossReason
  /** What the reason does not say; null when there is no more to say. */
  readonly detail: string | null
  /** The error that ended the election. */
  readonly cause?: Error
  /** The kind of cause, where the reason alone does not decide it, and the node that caused it, if it is another one. */
  readonly kind?: CauseKind
  readonly node?: NodeId
}

/** What explains a loss: `kind`, `detail` and `node` of an explanation, as far as they are known. */
type Details = Explanation | Output

/** The loss that a cause of the protocol stands for. */
export function lossFrom(cause: string, details: Details | null = null): Loss {
  const reason = LOSS_REASONS.find((known) => known === cause)
  if (reason === undefined) return { reason: 'deposed', detail: cause }
  const { kind, detail, node } = (details ?? {}) as { readonly [field: string]: unknown }
  return {
    reason,
    detail: typeof detail === 'string' ? detail : null,
    ...(typeof kind === 'string' ? { kind: kind as CauseKind } : {}),
    ...(typeof node === 'string' || typeof node === 'number' ? { node } : {}),
  }
}

/** Of two reports of one loss, the more exact one. */
export function moreExact(first: Loss, second: Loss): Loss {
  const isVague = first.detail === null || first.kind === 'unknown'
  return isVague && first.reason === second.reason && second.detail !== null ? second : first
}
