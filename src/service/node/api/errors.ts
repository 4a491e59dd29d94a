/** The errors that callers of the library can meet. Each has a stable `code`. */
import { InvalidFieldError } from '../../runtime/index.ts'
import type { Loss, LossReason } from './loss-reason.ts'

export { InvalidOptionsError } from '../../config/problems.ts'

/** The term has ended, or its lease is too short for what the caller wants to start. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError'
  readonly code = 'ERR_CONCLAVE_LEADERSHIP_LOST'
  readonly reason: LossReason
  /** What the reason does not say; null when there is no more to say. */
  readonly detail: string | null

  constructor({ reason, detail, cause }: Loss) {
    super(`this node no longer leads: ${reason}${detail === null ? '' : `: ${detail}`}`, { cause })
    this.reason = reason
    this.detail = detail
  }
}

/** A method was called with an invalid argument, which `field` names. Nothing has happened. */
export class InvalidArgumentError extends InvalidFieldError {
  override readonly name = 'InvalidArgumentError'
  readonly code = 'ERR_CONCLAVE_INVALID_ARGUMENT'
}

/** A node runs one `lead` at a time. */
export class AlreadyLeadingError extends Error {
  override readonly name = 'AlreadyLeadingError'
  readonly code = 'ERR_CONCLAVE_ALREADY_LEADING'

  constructor() {
    super(
      'another `lead` of this node is running; do all the work in one `lead`, or abort the first by its signal and wait until it returns',
    )
  }
}

/** The node was closed, by its owner or because its election failed. */
export class NodeClosedError extends Error {
  override readonly name = 'NodeClosedError'
  readonly code = 'ERR_CONCLAVE_NODE_CLOSED'
}

/** The protocol refuses a command: for example, only a leader can change the voters. */
export class CommandRefusedError extends Error {
  override readonly name = 'CommandRefusedError'
  readonly code = 'ERR_CONCLAVE_COMMAND_REFUSED'
  /** The argument that must change; null if it is not an argument. */
  readonly field: string | null

  constructor(command: string, why: string, field: string | null = null) {
    super(`${command} was refused: ${why}`)
    this.field = field
  }
}

/** The worker thread of the election ended by itself or did not start. Join again, or restart the process. */
export class WorkerLostError extends Error {
  override readonly name = 'WorkerLostError'
  readonly code = 'ERR_CONCLAVE_WORKER_LOST'

  constructor(why: string, options?: ErrorOptions) {
    super(`the worker thread of the election is gone: ${why}`, options)
  }
}

/** The store is unsuitable, or this node is no longer part of the group: it must stop. */
export class StoreFailedError extends Error {
  override readonly name = 'StoreFailedError'
  readonly code = 'ERR_CONCLAVE_STORE_FAILED'
}
