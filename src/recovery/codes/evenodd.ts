/**
 * EVENODD(p) of M. Blaum, J. Brady, J. Bruck and J. Menon, IEEE Transactions on Computers 44(2), 1995: any two of p + 2
 * columns may be lost, and encoding needs XOR only.
 *
 * p is an odd prime. A column has p - 1 rows of cells: a(l, t) is row l of data column t. Row p - 1 is imaginary and
 * zero, and so are data columns that are not used. They are left out of every sum here. <x> is x modulo p, + is XOR:
 *
 *   S    = sum of a(p-1-t, t), t = 1 .. p-1
 *   P(l) = sum of a(l, t),           t = 0 .. p-1
 *   Q(l) = S + sum of a(<l-t>, t),   t = 0 .. p-1
 */

import { checkWhole, completeCode, type ErasureCode, MOST_COLUMNS } from './code.ts'
import { type Cell, executeXor, type Operation, SCRATCH } from './xor.ts'

const PARITY_COLUMNS = 2

/** The code for this number of nodes: data columns for all but two of them. */
export function createEvenOdd(columns: number): ErasureCode {
  checkWhole(columns, 'columns', PARITY_COLUMNS + 1, MOST_COLUMNS)
  const dataColumns = columns - PARITY_COLUMNS
  const cells = new Cells(primeFor(columns), dataColumns)
  const encoding = [...planP(cells), ...planQ(cells)]
  const rows = cells.prime - 1
  return completeCode({
    name: 'evenodd',
    columns,
    dataColumns,
    rows,
    parityPlan: encoding,
    computeParity: (data, parity) => executeXor(encoding, [...data, ...parity], rows),
    computeLost: (all, lost) => executeXor(planLost(cells, lost), all, rows),
  })
}

/**
 * The least odd prime that has enough data columns. 2 is excluded: EVENODD(2) has a single row, in which P and Q are
 * equal, so two lost data columns could not be recovered.
 */
export function primeFor(columns: number): number {
  let candidate = Math.max(3, columns - PARITY_COLUMNS)
  while (!isPrime(candidate)) candidate += 1
  return candidate
}

function isPrime(value: number): boolean {
  for (let divisor = 2; divisor * divisor <= value; divisor++) if (value % divisor === 0) return false
  return true
}

/** Names cells, and leaves out the imaginary ones. */
class Cells {
  readonly prime: number
  readonly dataColumns: number

  constructor(prime: number, dataColumns: number) {
    this.prime = prime
    this.dataColumns = dataColumns
  }

  modulo(value: number): number {
    return ((value % this.prime) + this.prime) % this.prime
  }

  /** Cell `<row>` of a column, as a list: empty for the imaginary row. */
  cell(column: number, row: number): Cell[] {
    const real = this.modulo(row)
    return real === this.prime - 1 ? [] : [{ column, row: real }]
  }

  p(row: number): Cell[] {
    return this.cell(this.dataColumns, row)
  }

  q(row: number): Cell[] {
    return this.cell(this.dataColumns + 1, row)
  }

  /** a(l, t) of every data column t that is not excluded. */
  row(l: number, ...excluded: readonly number[]): Cell[] {
    return this.#sum((t) => this.cell(t, l), excluded)
  }

  /** a(<l-t>, t) of every data column t that is not excluded. Diagonal p - 1 is the sum S. */
  diagonal(l: number, ...excluded: readonly number[]): Cell[] {
    return this.#sum((t) => this.cell(t, l - t), excluded)
  }

  /** One operation per real row. */
  operations(column: number, sourcesOf: (row: number) => Cell[]): Operation[] {
    return Array.from({ length: this.prime - 1 }, (_, row) => ({
      target: { column, row },
      sources: sourcesOf(row),
    }))
  }

  #sum(cellsOf: (column: number) => Cell[], excluded: readonly number[]): Cell[] {
    const cells: Cell[] = []
    for (let t = 0; t < this.dataColumns; t++) if (!excluded.includes(t)) cells.push(...cellsOf(t))
    return cells
  }
}

function planP(cells: Cells): Operation[] {
  return cells.operations(cells.dataColumns, (l) => cells.row(l))
}

function planQ(cells: Cells): Operation[] {
  const s: Operation = { target: SCRATCH, sources: cells.diagonal(cells.prime - 1) }
  return [s, ...cells.operations(cells.dataColumns + 1, (l) => [SCRATCH, ...cells.diagonal(l)])]
}

function planLost(cells: Cells, lost: readonly number[]): Operation[] {
  const { dataColumns } = cells
  const [i, j] = lost.filter((column) => column < dataColumns)
  const isPLost = lost.includes(dataColumns)
  const isQLost = lost.includes(dataColumns + 1)
  if (i !== undefined && j !== undefined) return planTwoDataColumns(cells, i, j)
  const plan: Operation[] = []
  if (i !== undefined) plan.push(...(isPLost ? planFromDiagonals(cells, i) : planFromRows(cells, i)))
  if (isPLost) plan.push(...planP(cells))
  if (isQLost) plan.push(...planQ(cells))
  return plan
}

/** Data column i is lost and P is not. */
function planFromRows(cells: Cells, i: number): Operation[] {
  return cells.operations(i, (l) => [...cells.p(l), ...cells.row(l, i)])
}

/** Data column i and P are lost. The diagonal through the imaginary cell of column i reveals S. */
function planFromDiagonals(cells: Cells, i: number): Operation[] {
  const s: Operation = { target: SCRATCH, sources: [...cells.q(i - 1), ...cells.diagonal(i - 1, i)] }
  return [s, ...cells.operations(i, (l) => [SCRATCH, ...cells.q(i + l), ...cells.diagonal(i + l, i)])]
}

/**
 * Data columns i < j are lost. S is the sum of all of P and Q. A diagonal through the imaginary cell of one column then
 * reveals a cell of the other. Rows and diagonals alternate from there: the zigzag of the paper.
 */
function planTwoDataColumns(cells: Cells, i: number, j: number): Operation[] {
  const { prime } = cells
  const every = Array.from({ length: prime - 1 }, (_, l) => [...cells.p(l), ...cells.q(l)]).flat()
  const plan: Operation[] = [{ target: SCRATCH, sources: every }]
  const distance = j - i
  for (let s = cells.modulo(-distance - 1); s !== prime - 1; s = cells.modulo(s - distance)) {
    plan.push({
      target: { column: j, row: s },
      sources: [SCRATCH, ...cells.q(j + s), ...cells.diagonal(j + s, i, j), ...cells.cell(i, s + distance)],
    })
    plan.push({
      target: { column: i, row: s },
      sources: [...cells.p(s), ...cells.row(s, i, j), { column: j, row: s }],
    })
  }
  return plan
}
