/** What every erasure code offers. Columns are byte arrays of one length; data columns come first, then parity. */
import type { Operation } from './xor.ts'

export type CodeName = 'evenodd' | 'reed-solomon'

/** Both codes: Reed-Solomon over GF(2^8) has no more points than this. */
export const MOST_COLUMNS = 256

/** A systematic, maximum-distance-separable (MDS) code: any `dataColumns` of the columns recover all others. */
export type ErasureCode = {
  readonly name: CodeName
  readonly columns: number
  readonly dataColumns: number
  /** The number of columns that may be lost. */
  readonly tolerates: number
  /** The rows of cells that a column is cut into; its length must be a multiple of this. */
  readonly rows: number
  /** The XOR operations that compute the parity columns; null if the code needs others. */
  readonly parityPlan: readonly Operation[] | null
  /** Computes the parity columns. */
  encode(data: readonly Uint8Array[]): Uint8Array[]
  /** As `encode`, into columns of the caller. Allocates nothing that grows with the columns. */
  encodeInto(data: readonly Uint8Array[], parity: readonly Uint8Array[]): void
  /** Returns all columns; `null` marks a lost one. Columns that are present are returned as they are. */
  reconstruct(columns: readonly (Uint8Array | null)[]): Uint8Array[]
  /** As `reconstruct`, into columns of the caller: overwrites the columns whose numbers are in `lost`. */
  reconstructInto(columns: readonly Uint8Array[], lost: readonly number[]): void
}

/** The parameters of a code, or the columns given to it, cannot be used. */
export class InvalidCodeInputError extends Error {
  override readonly name = 'InvalidCodeInputError'
}

/** More columns are lost than the code tolerates. */
export class TooManyLostColumnsError extends Error {
  override readonly name = 'TooManyLostColumnsError'
  readonly lost: readonly number[]

  constructor(lost: readonly number[], tolerates: number) {
    super(`columns ${lost.join(', ')} are lost, and the code tolerates ${tolerates} lost columns`)
    this.lost = lost
  }
}

/** What distinguishes one code from another. The functions receive checked columns, at least one byte long. */
export type CodeParts = Pick<ErasureCode, 'name' | 'columns' | 'dataColumns' | 'rows' | 'parityPlan'> & {
  computeParity(data: readonly Uint8Array[], parity: readonly Uint8Array[]): void
  /** `lost` is sorted, not empty, and not longer than the code tolerates. */
  computeLost(columns: readonly Uint8Array[], lost: readonly number[]): void
}

/** Adds the checks and the allocation that all codes share. */
export function completeCode({ computeParity, computeLost, ...shape }: CodeParts): ErasureCode {
  const { columns, dataColumns, rows } = shape
  const tolerates = columns - dataColumns
  const code: ErasureCode = {
    ...shape,
    tolerates,
    encode(data) {
      const length = checkColumns(data, dataColumns, rows)
      const parity = Array.from({ length: tolerates }, () => new Uint8Array(length))
      if (length > 0) computeParity(data, parity)
      return parity
    },
    encodeInto(data, parity) {
      if (data.length !== dataColumns) throw wrongCount(data.length, dataColumns)
      if (checkColumns([...data, ...parity], columns, rows) > 0) computeParity(data, parity)
    },
    reconstruct(given) {
      if (given.length !== columns) throw wrongCount(given.length, columns)
      const lost = lostAmong(given)
      if (lost.length > tolerates) throw new TooManyLostColumnsError(lost, tolerates)
      const length = given.find((column) => column !== null)?.length ?? 0
      const complete = given.map((column) => column ?? new Uint8Array(length))
      code.reconstructInto(complete, lost)
      return complete
    },
    reconstructInto(given, lost) {
      const length = checkColumns(given, columns, rows)
      const wrong = lost.find((column) => !(Number.isInteger(column) && column >= 0 && column < columns))
      if (wrong !== undefined)
        throw new InvalidCodeInputError(
          `lost column ${wrong}: must be a whole number from 0 to ${columns - 1}`,
        )
      const sorted = [...new Set(lost)].sort((a, b) => a - b)
      if (sorted.length > tolerates) throw new TooManyLostColumnsError(sorted, tolerates)
      if (sorted.length > 0 && length > 0) computeLost(given, sorted)
    },
  }
  return code
}

/** The numbers of the columns that are `null`. */
export function lostAmong(columns: readonly unknown[]): number[] {
  return columns.flatMap((column, number) => (column === null ? [number] : []))
}

/** Throws unless `value` is a whole number within the bounds. */
export function checkWhole(value: number, what: string, least: number, most: number): void {
  if (!(Number.isInteger(value) && value >= least && value <= most))
    throw new InvalidCodeInputError(`${what}: ${value} must be a whole number from ${least} to ${most}`)
}

/** The length of the columns, all of which must have the same. */
function checkColumns(columns: readonly Uint8Array[], count: number, rows: number): number {
  if (columns.length !== count) throw wrongCount(columns.length, count)
  const length = columns[0]?.length ?? 0
  for (const [number, column] of columns.entries()) {
    if (column.length !== length)
      throw new InvalidCodeInputError(
        `column ${number} has ${column.length} bytes; all columns must have the same length, here ${length}`,
      )
  }
  if (length % rows !== 0)
    throw new InvalidCodeInputError(`columns of ${length} bytes: the length must be a multiple of ${rows}`)
  return length
}

function wrongCount(got: number, wanted: number): InvalidCodeInputError {
  return new InvalidCodeInputError(`${got} columns given; this code needs ${wanted}`)
}
