/** Errors of checkpoints, one class per condition. */
import type { NodeId } from '../../../core/index.ts'

/** A column that could not be used, and why. */
export type BadColumn = {
  readonly node: NodeId
  readonly column: number
  readonly problem: string
  /** The column itself is missing or damaged, so that it must be rebuilt. Otherwise its node did not answer. */
  readonly isLost: boolean
}

/** Fewer good columns were found than the code needs. */
export class UnrestorableError extends Error {
  override readonly name = 'UnrestorableError'
  readonly code = 'ERR_CONCLAVE_UNRESTORABLE'
  readonly bad: readonly BadColumn[]

  constructor(checkpoint: string, needed: number, good: number, bad: readonly BadColumn[]) {
    const each = bad.map(({ node, column, problem }) => `column ${column} at node ${node}: ${problem}`)
    super(
      `${checkpoint} cannot be restored: ${needed} columns are needed, ${good} are good${each.length === 0 ? '' : ` (${each.join('; ')})`}`,
    )
    this.bad = bad
  }
}

/** The columns are good, but what they restore is not what was stored. */
export class DigestMismatchError extends Error {
  override readonly name = 'DigestMismatchError'
  readonly code = 'ERR_CONCLAVE_DIGEST_MISMATCH'

  constructor(checkpoint: string, found: string, expected: string) {
    super(`${checkpoint} has the digest ${found}, must be ${expected}`)
  }
}

/** The payload was not the same when it was read the second time. */
export class PayloadChangedError extends Error {
  override readonly name = 'PayloadChangedError'
  readonly code = 'ERR_CONCLAVE_PAYLOAD_CHANGED'

  constructor(checkpoint: string, problem: string) {
    super(
      `the payload of ${checkpoint} changed while it was stored (${problem}): do not change the state before the checkpoint has ended`,
    )
  }
}
