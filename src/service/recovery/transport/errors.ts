/** Errors of the transport between nodes, one class per condition. */

/** The other node answered, and refused. `status` is the HTTP status. */
export class TransferRefusedError extends Error {
  override readonly name: string = 'TransferRefusedError'
  readonly code: string = 'ERR_CONCLAVE_TRANSFER_REFUSED'
  readonly status: number

  constructor(peer: string, status: number, message: string) {
    super(`${peer} refused (${status}): ${message}`)
    this.status = status
  }
}

/** The other node has promised to ignore views as old as the sender's. */
export class StaleTokenError extends TransferRefusedError {
  override readonly name = 'StaleTokenError'
  override readonly code = 'ERR_CONCLAVE_STALE_TOKEN'
}

/** No answer, a broken connection, or an answer that does not bear the group's key. */
export class TransferFailedError extends Error {
  override readonly name = 'TransferFailedError'
  readonly code = 'ERR_CONCLAVE_TRANSFER_FAILED'

  constructor(peer: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`transfer with ${peer} failed: ${why}`, { cause })
  }
}

/** Bytes that were not sent by a holder of the group's key, or not in this order, or not all of them. */
export class InvalidBodyError extends Error {
  override readonly name = 'InvalidBodyError'
  readonly code = 'ERR_CONCLAVE_INVALID_BODY'
}
