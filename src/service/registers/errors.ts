/** What can be wrong with a store or with a block, one class a condition. Each message says what to do. */
import type { NodeId } from '../../core/index.ts'

/** The store cannot be reached at all. Trying again may help. */
export class StoreUnreachableError extends Error {
  override readonly name = 'StoreUnreachableError'
  readonly code = 'ERR_CONCLAVE_STORE_UNREACHABLE'

  constructor(place: string, cause: unknown) {
    super(`no store answers at ${place}: ${describeError(cause)}; is it running, and is that its address?`, {
      cause,
    })
  }
}

/** The store answers, but not to this user, or it does not let this user do what registers need. */
export class StoreAccessDeniedError extends Error {
  override readonly name = 'StoreAccessDeniedError'
  readonly code = 'ERR_CONCLAVE_STORE_ACCESS_DENIED'
}

/** The store is not a register, or is not known to be one, as it is set up. */
export class UnsuitableStoreError extends Error {
  override readonly name = 'UnsuitableStoreError'
  readonly code = 'ERR_CONCLAVE_UNSUITABLE_STORE'
}

/** The description of the store is wrong; `field` says where. */
export class InvalidStoreError extends Error {
  override readonly name = 'InvalidStoreError'
  readonly code = 'ERR_CONCLAVE_INVALID_STORE'
  readonly field: string

  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
    this.field = field
  }
}

/** An optional package is not there. */
export class MissingClientError extends Error {
  override readonly name = 'MissingClientError'
  readonly code = 'ERR_CONCLAVE_MISSING_CLIENT'

  constructor(kind: string, packages: readonly string[], cause: unknown) {
    super(`the ${kind} store needs a package that is not installed: npm install ${packages.join(' ')}`, {
      cause,
    })
  }
}

/** Two processes use one id. */
export class IdInUseError extends Error {
  override readonly name = 'IdInUseError'
  readonly code = 'ERR_CONCLAVE_ID_IN_USE'

  constructor(id: NodeId, place: string, sign: string) {
    super(
      `the id ${id} is used by another process that is alive (${sign}, in ${place}): give this one an id of its own, or end the other first`,
    )
  }
}

/** A store without a compare of its own keeps a cell for the process that writes it. */
export class CellLockedError extends Error {
  override readonly name = 'CellLockedError'
  readonly code = 'ERR_CONCLAVE_CELL_LOCKED'
}

/** A younger process has taken over this one's block. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'
  readonly code = 'ERR_CONCLAVE_SUPERSEDED'

  constructor(id: NodeId, place: string) {
    super(
      `the block of ${id} in ${place} is no longer this process's: another has started under the same id, or the node was removed from the group. This process must stop`,
    )
  }
}

/** The id was removed from the group. */
export class NodeRemovedError extends Error {
  override readonly name = 'NodeRemovedError'
  readonly code = 'ERR_CONCLAVE_NODE_REMOVED'

  constructor(id: NodeId, place: string) {
    super(`${id} was removed from this group for good (in ${place}): give this process a new id`)
  }
}

/** A block is not what anybody wrote. */
export class CorruptBlockError extends Error {
  override readonly name = 'CorruptBlockError'
  readonly code = 'ERR_CONCLAVE_CORRUPT_BLOCK'

  constructor(id: NodeId | string, place: string, problem: string) {
    super(
      `the block of ${id} in ${place} is corrupt (${problem}). Nobody is elected while it is. What ${id} has promised is lost with it: restore the block, or stop the whole group and begin a new one`,
    )
  }
}

/** A block was written by another version of this program. */
export class UnsupportedFormatError extends Error {
  override readonly name = 'UnsupportedFormatError'
  readonly code = 'ERR_CONCLAVE_UNSUPPORTED_FORMAT'

  constructor(id: NodeId | string, place: string, theirs: string, ours: string) {
    super(
      `the block of ${id} in ${place} has the format ${theirs} and this program writes ${ours}: run the same version on every node`,
    )
  }
}

/** A block that was read is older than one read before, or gone. No election is safe on such a store. */
export class StoreRolledBackError extends Error {
  override readonly name = 'StoreRolledBackError'
  readonly code = 'ERR_CONCLAVE_STORE_ROLLED_BACK'

  constructor(id: NodeId, place: string, what: string) {
    super(
      `${place} is not a register: the block of ${id} went back (${what}). Acknowledged writes were lost or stale data was read; stop the whole group, repair the store and begin with a new group name`,
    )
  }
}

/** What no repetition helps against. */
export type RegisterFault =
  | IdInUseError
  | SupersededError
  | NodeRemovedError
  | CorruptBlockError
  | UnsupportedFormatError
  | StoreRolledBackError

/** Whether another connection may do better: this one is lost, refused, or ends at a server that is not fit. */
export function isConnectionError(error: unknown): boolean {
  return (
    error instanceof StoreUnreachableError ||
    error instanceof StoreAccessDeniedError ||
    error instanceof UnsuitableStoreError
  )
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Several addresses tried, or an error around the one that says what happened.
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error.cause
  if (error.message === '' || error.message === 'fetch failed')
    return inner === undefined ? error.name : describeError(inner)
  return error.message
}
