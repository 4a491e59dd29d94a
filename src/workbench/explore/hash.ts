/**
 * Hash of a row: a weighted sum of its columns, then a bit mixer (the finalizer of MurmurHash3).
 *
 * The sum is incremental: a successor differs from its parent in a few columns, so its sum is the parent's
 * plus the weighted differences.
 */
const WEIGHTS = 1 << 10

/** Columns beyond this number reuse weights. */
const weights = new Int32Array(WEIGHTS)
weights[0] = 0x9e3779b1
for (let column = 1; column < WEIGHTS; column++) {
  weights[column] = Math.imul(weights[column - 1] as number, 0x2c9277b5)
}

/** The sum after the value of a column has grown by `by`. */
export function adjustSum(sum: number, column: number, by: number): number {
  return (sum + Math.imul(by, weights[column & (WEIGHTS - 1)] as number)) | 0
}

export function sumOf(rows: Int32Array, from: number, columns: number): number {
  let sum = 0
  for (let column = 0; column < columns; column++) {
    sum = adjustSum(sum, column, rows[from + column] as number)
  }
  return sum
}

export function mixBits(sum: number): number {
  const once = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b)
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35)
  return twice ^ (twice >>> 16)
}

export function hashRow(rows: Int32Array, from: number, columns: number): number {
  return mixBits(sumOf(rows, from, columns))
}
