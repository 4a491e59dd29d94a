/** The field GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1, and matrices over it. */
import { assert } from '../../core/index.ts'

const POLYNOMIAL = 0x11d
const ORDER = 255

/** Powers of the generator 2, twice over: the sum of two logarithms needs no reduction. */
const EXP = new Uint8Array(2 * ORDER)
const LOG = new Uint8Array(ORDER + 1)
for (let power = 0, value = 1; power < ORDER; power++) {
  EXP[power] = value
  EXP[power + ORDER] = value
  LOG[value] = power
  value <<= 1
  if (value > ORDER) value ^= POLYNOMIAL
}

export function multiply(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : (EXP[(LOG[a] as number) + (LOG[b] as number)] as number)
}

export function invert(a: number): number {
  assert(a !== 0, 'zero has no inverse in GF(2^8)')
  return EXP[ORDER - (LOG[a] as number)] as number
}

/** Rows of coefficients. */
export type Matrix = readonly Uint8Array[]

/** The product of a row and a matrix. */
export function multiplyRow(row: Uint8Array, matrix: Matrix): Uint8Array {
  const product = new Uint8Array(matrix[0]?.length ?? 0)
  for (const [index, factor] of row.entries()) addMultiple(product, matrix[index] as Uint8Array, factor)
  return product
}

/** Gauss-Jordan elimination. The matrix must be regular; every matrix of an MDS code is. */
export function invertMatrix(matrix: Matrix): Matrix {
  const size = matrix.length
  const work = matrix.map((row, index): Uint8Array => {
    const extended = new Uint8Array(2 * size)
    extended.set(row)
    extended[size + index] = 1
    return extended
  })
  for (let column = 0; column < size; column++) {
    const pivot = work.findIndex((row, index) => index >= column && row[column] !== 0)
    assert(pivot >= 0, 'the matrix of an MDS code is singular')
    const row = work[pivot] as Uint8Array
    work[pivot] = work[column] as Uint8Array
    work[column] = row
    const factor = invert(row[column] as number)
    for (let index = 0; index < row.length; index++) row[index] = multiply(row[index] as number, factor)
    for (const other of work) if (other !== row) addMultiple(other, row, other[column] as number)
  }
  return work.map((row) => row.slice(size))
}

function addMultiple(target: Uint8Array, row: Uint8Array, factor: number): void {
  if (factor === 0) return
  for (let index = 0; index < target.length; index++)
    target[index] = (target[index] as number) ^ multiply(row[index] as number, factor)
}
