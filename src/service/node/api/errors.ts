/** What a caller may have to handle. */
import { InvalidFieldError } from '../../runtime/index.ts'

export { InvalidOptionsError } from '../../config/problems.ts'

/** The term is over, or so close to its end that nothing safe can be begun. */
export class LeadershipLostError extends Error {
  override readonly name = 'LeadershipLostError'
  readonly code = 'ERR_CONCLAVE_LEADERSHIP_LOST'
  /** Why, in one of a few words: expired, stalled, stepped down, unhealthy, outranked, suspended, closed, ... */
  readonly reason: string

  constructor(reason: string) {
    super(`this process no longer leads: ${reason}`)
    this.reason = reason
  }
}

/** A method was called with something that cannot be; `field` names it. Nothing has happened. */
export class InvalidArgumentError extends InvalidFieldError {
  override readonly name = 'InvalidArgumentError'
  readonly code = 'ERR_CONCLAVE_INVALID_ARGUMENT'
}

/** A node does the work of one `lead` at a time. */
export class AlreadyLeadingError extends Error {
  override readonly name = 'AlreadyLeadingError'
  readonly code = 'ERR_CONCLAVE_ALREADY_LEADING'

  constructor() {
    super(
      'a `lead` of this node is under way already: do all the work in that one, or end it first, by its signal, and wait until it has returned',
    )
  }
}

/** The node was closed, by its owner or because it could not go on. */
export class NodeClosedError extends Error {
  override readonly name = 'NodeClosedError'
  readonly code = 'ERR_CONCLAVE_NODE_CLOSED'
}

/** The protocol does not do what it was asked: only a leader can change the voters, for example. */
export class CommandRefusedError extends Error {
  override readonly name = 'CommandRefusedError'
  readonly code = 'ERR_CONCLAVE_COMMAND_REFUSED'

  constructor(command: string, why: string) {
    super(`${command} was refused: ${why}`)
  }
}

/** The thread of the election is gone, though nobody ended it. Join again, or end the process and start it anew. */
export class WorkerLostError extends Error {
  override readonly name = 'WorkerLostError'
  readonly code = 'ERR_CONCLAVE_WORKER_LOST'

  constructor(why: string, options?: ErrorOptions) {
    super(`the thread of the election is gone: ${why}`, options)
  }
}

/** The store is not what it must be, or this node is no longer one of the group: it must not go on. */
export class StoreFailedError extends Error {
  override readonly name = 'StoreFailedError'
  readonly code = 'ERR_CONCLAVE_STORE_FAILED'
}
