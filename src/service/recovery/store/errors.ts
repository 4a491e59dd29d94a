/** Errors of column stores, one class per condition. Each message names the column and says what to do. */

/** The key cannot name a column. */
export class InvalidColumnKeyError extends Error {
  override readonly name = 'InvalidColumnKeyError'
  readonly code = 'ERR_CONCLAVE_INVALID_COLUMN_KEY'
}

/** The store does not hold the column. */
export class ColumnMissingError extends Error {
  override readonly name = 'ColumnMissingError'
  readonly code = 'ERR_CONCLAVE_COLUMN_MISSING'

  constructor(column: string, place: string) {
    super(`${place} does not hold ${column}`)
  }
}

/** The stored bytes are not the bytes that were written. */
export class CorruptColumnError extends Error {
  override readonly name = 'CorruptColumnError'
  readonly code = 'ERR_CONCLAVE_CORRUPT_COLUMN'
  readonly problem: string

  constructor(column: string, place: string, problem: string) {
    super(`${column} in ${place} is corrupt: ${problem}. It is rebuilt from the other columns`)
    this.problem = problem
  }
}

/** No space is left for the column. Columns stored before are untouched. */
export class ColumnStoreFullError extends Error {
  override readonly name = 'ColumnStoreFullError'
  readonly code = 'ERR_CONCLAVE_COLUMN_STORE_FULL'

  constructor(column: string, place: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `no space left for ${column} in ${place} (${why}): free space or give the node a larger disk. Columns stored before are untouched`,
      { cause },
    )
  }
}

/** The store failed for another reason: an I/O error, missing rights, a lost folder. */
export class ColumnStoreFailedError extends Error {
  override readonly name = 'ColumnStoreFailedError'
  readonly code = 'ERR_CONCLAVE_COLUMN_STORE_FAILED'

  constructor(action: string, place: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`could not ${action} in ${place}: ${why}`, { cause })
  }
}
