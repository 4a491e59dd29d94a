/** Why a term ended. */

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
}

/** The loss that a cause of the protocol stands for. */
export function lossFrom(cause: string): Loss {
  const reason = LOSS_REASONS.find((known) => known === cause)
  return reason === undefined ? { reason: 'deposed', detail: cause } : { reason, detail: null }
}
