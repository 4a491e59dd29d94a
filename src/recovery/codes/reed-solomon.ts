/**
 * Reed-Solomon over GF(2^8), systematic, for any number of data and parity columns.
 *
 * The parity rows are a Cauchy matrix, 1 / (x(j) + y(i)) with distinct x and y. Every square part of it is regular, so
 * any `dataColumns` of the columns recover the rest. Each matrix column is divided by its first entry, which keeps that
 * property and makes the first parity column a plain XOR.
 */
import { checkWhole, completeCode, type ErasureCode, MOST_COLUMNS } from './code.ts'
import { invert, invertMatrix, type Matrix, multiply, multiplyRow } from './galois.ts'
import { combineColumns, packMatrix } from './linear.ts'

export function createReedSolomon(columns: number, dataColumns: number): ErasureCode {
  checkWhole(columns, 'columns', 1, MOST_COLUMNS)
  checkWhole(dataColumns, 'data columns', 1, columns)
  const generator = [...identity(dataColumns), ...cauchy(columns - dataColumns, dataColumns)]
  const encoding = packMatrix(generator.slice(dataColumns))
  return completeCode({
    name: 'reed-solomon',
    columns,
    dataColumns,
    rows: 1,
    // Multiplying bytes in GF(2^8) does not commute with a CRC.
    parityPlan: null,
    computeParity: (data, parity) => combineColumns(encoding, data, parity),
    computeLost(all, lost) {
      const survivors = [...all.keys()].filter((number) => !lost.includes(number)).slice(0, dataColumns)
      const decoding = invertMatrix(survivors.map((number) => generator[number] as Uint8Array))
      const rows = lost.map((number) => multiplyRow(generator[number] as Uint8Array, decoding))
      const columnAt = (number: number): Uint8Array => all[number] as Uint8Array
      combineColumns(packMatrix(rows), survivors.map(columnAt), lost.map(columnAt))
    },
  })
}

function identity(size: number): Matrix {
  return Array.from({ length: size }, (_, index) => {
    const row = new Uint8Array(size)
    row[index] = 1
    return row
  })
}

function cauchy(rows: number, columns: number): Matrix {
  const entry = (row: number, column: number): number => invert((columns + row) ^ column)
  return Array.from({ length: rows }, (_, row) =>
    Uint8Array.from({ length: columns }, (__, column) =>
      multiply(entry(row, column), invert(entry(0, column))),
    ),
  )
}
