/** Errors about stores and blocks, one class per condition. Each message says what to do. */
import type { NodeId } from '../../core/index.ts'

/** The store cannot be reached. A retry may help. */
export class StoreUnreachableError extends Error {
  override readonly name = 'StoreUnreachableError'
  readonly code = 'ERR_CONCLAVE_STORE_UNREACHABLE'

  constructor(place: string, cause: unknown) {
    super(
      `cannot reach the store at ${place}: ${describeError(cause)}; check that it is running and that the address is right`,
      {
        cause,
      },
    )
  }
}

/** The store rejects the credentials, or the user lacks the required rights. */
export class StoreAccessDeniedError extends Error {
  override readonly name = 'StoreAccessDeniedError'
  readonly code = 'ERR_CONCLAVE_STORE_ACCESS_DENIED'
}

/** The configuration of the store does not give the guarantees of a register. */
export class UnsuitableStoreError extends Error {
  override readonly name = 'UnsuitableStoreError'
  readonly code = 'ERR_CONCLAVE_UNSUITABLE_STORE'
}

/** The store configuration is invalid; `field` says where. */
export class InvalidStoreError extends Error {
  override readonly name = 'InvalidStoreError'
  readonly code = 'ERR_CONCLAVE_INVALID_STORE'
  readonly field: string

  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
    this.field = field
  }
}

/** The client package of the store is not installed. */
export class MissingClientError extends Error {
  override readonly name = 'MissingClientError'
  readonly code = 'ERR_CONCLAVE_MISSING_CLIENT'

  constructor(kind: string, packages: readonly string[], cause: unknown) {
    super(`the ${kind} store needs a package that is not installed: npm install ${packages.join(' ')}`, {
      cause,
    })
  }
}

/** Another live process uses the id. */
export class IdInUseError extends Error {
  override readonly name = 'IdInUseError'
  readonly code = 'ERR_CONCLAVE_ID_IN_USE'

  constructor(id: NodeId, place: string, sign: string) {
    super(
      `the id ${id} is in use by another live process (${sign}, in ${place}): use another id, or stop the other process first`,
    )
  }
}

/** A store without compare-and-swap locks a cell for its writer. */
export class CellLockedError extends Error {
  override readonly name = 'CellLockedError'
  readonly code = 'ERR_CONCLAVE_CELL_LOCKED'
}

/** Another process has taken over this process's block. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'
  readonly code = 'ERR_CONCLAVE_SUPERSEDED'

  constructor(id: NodeId, place: string) {
    super(
      `the block of ${id} in ${place} no longer belongs to this process: another process started with the same id, or the node was removed from the group. This process must stop`,
    )
  }
}

/** The id was removed from the group. */
export class NodeRemovedError extends Error {
  override readonly name = 'NodeRemovedError'
  readonly code = 'ERR_CONCLAVE_NODE_REMOVED'

  constructor(id: NodeId, place: string) {
    super(`${id} was removed from this group permanently (in ${place}): use a new id`)
  }
}

/** A block is damaged. */
export class CorruptBlockError extends Error {
  override readonly name = 'CorruptBlockError'
  readonly code = 'ERR_CONCLAVE_CORRUPT_BLOCK'

  constructor(id: NodeId | string, place: string, problem: string) {
    super(
      `the block of ${id} in ${place} is corrupt (${problem}). No leader can be elected until it is repaired, because the promises of ${id} are lost with it: restore the block, or stop the whole group and start a new one`,
    )
  }
}

/** A block was written by another version of this program. */
export class UnsupportedFormatError extends Error {
  override readonly name = 'UnsupportedFormatError'
  readonly code = 'ERR_CONCLAVE_UNSUPPORTED_FORMAT'

  constructor(id: NodeId | string, place: string, theirs: string, ours: string) {
    super(
      `the block of ${id} in ${place} has the format ${theirs} but this version writes ${ours}: run the same version on every node`,
    )
  }
}

/** A block is older than one read before, or missing. No election is safe on such a store. */
export class StoreRolledBackError extends Error {
  override readonly name = 'StoreRolledBackError'
  readonly code = 'ERR_CONCLAVE_STORE_ROLLED_BACK'

  constructor(id: NodeId, place: string, what: string) {
    super(
      `${place} is not a register: the block of ${id} went back (${what}). Acknowledged writes were lost or stale data was read; stop the whole group, repair the store and start with a new group name`,
    )
  }
}

/** Faults that a retry cannot cure. */
export type RegisterFault =
  | IdInUseError
  | SupersededError
  | NodeRemovedError
  | CorruptBlockError
  | UnsupportedFormatError
  | StoreRolledBackError

/** Whether a new connection may help: this one is lost or refused, or its server is unsuitable. */
export function isConnectionError(error: unknown): boolean {
  return (
    error instanceof StoreUnreachableError ||
    error instanceof StoreAccessDeniedError ||
    error instanceof UnsuitableStoreError
  )
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Unwraps errors about several addresses, and generic errors with a cause.
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error.cause
  if (error.message === '' || error.message === 'fetch failed')
    return inner === undefined ? error.name : describeError(inner)
  return error.message
}

/** Equal for problems that differ only in words with digits, such as ports, times and names of temporary files. */
export function kindOfProblem(why: string): string {
  return why.replaceAll(/[\w.-]*\d[\w.-]*/g, '')
}
