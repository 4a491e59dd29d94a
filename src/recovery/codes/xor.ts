/**
 * Executes a list of XOR operations on the cells of columns.
 *
 * A column is cut into rows of cells. Operations are executed block by block, so that the cells of all columns stay in
 * the processor's cache. Aligned cells are combined as 64-bit words: V8 compiles the XOR of two elements of a
 * BigUint64Array to one machine instruction. README.md has the figures. Other cells are combined byte by byte.
 */

export type Cell = { readonly column: number; readonly row: number }

/** Sets the target to the XOR of the sources. A target without sources becomes zero. */
export type Operation = { readonly target: Cell; readonly sources: readonly Cell[] }

/** A cell for an intermediate result. It is as long as a block and exists only while a plan is executed. */
export const SCRATCH: Cell = { column: -1, row: 0 }

const BLOCK_BYTES = 16_384
const WORD_BYTES = 8
/** The most sources that are combined in one pass. */
const MOST_SOURCES = 5

type Words = BigUint64Array
type Kernel<Elements> = {
  readonly createScratch: (length: number) => Elements
  /** Sets elements of the first array to the XOR of the others; `at` has the first index in each. */
  readonly combine: (arrays: readonly Elements[], at: readonly number[], length: number) => void
}

export function executeXor(plan: readonly Operation[], columns: readonly Uint8Array[], rows: number): void {
  const cellBytes = (columns[0]?.length ?? 0) / rows
  const isAligned =
    cellBytes % WORD_BYTES === 0 && columns.every(({ byteOffset }) => byteOffset % WORD_BYTES === 0)
  if (!isAligned) {
    executeBlocks(plan, columns, { cell: cellBytes, block: BLOCK_BYTES }, BYTE_KERNEL)
    return
  }
  const words = columns.map(
    ({ buffer, byteOffset, byteLength }) => new BigUint64Array(buffer, byteOffset, byteLength / WORD_BYTES),
  )
  const lengths = { cell: cellBytes / WORD_BYTES, block: BLOCK_BYTES / WORD_BYTES }
  executeBlocks(plan, words, lengths, WORD_KERNEL)
}

function executeBlocks<Elements>(
  plan: readonly Operation[],
  columns: readonly Elements[],
  { cell, block }: { readonly cell: number; readonly block: number },
  { createScratch, combine }: Kernel<Elements>,
): void {
  const scratch = createScratch(Math.min(block, cell))
  for (let base = 0; base < cell; base += block) {
    const length = Math.min(block, cell - base)
    const arrayOf = ({ column }: Cell): Elements => columns[column] ?? scratch
    const startOf = ({ column, row }: Cell): number => (column < 0 ? 0 : row * cell + base)
    for (const { target, sources } of plan) {
      // The first pass overwrites the target. In later passes the target is one of the sources.
      let next = Math.min(MOST_SOURCES, sources.length)
      let cells = [target, ...sources.slice(0, next)]
      combine(cells.map(arrayOf), cells.map(startOf), length)
      while (next < sources.length) {
        cells = [target, target, ...sources.slice(next, next + MOST_SOURCES - 1)]
        combine(cells.map(arrayOf), cells.map(startOf), length)
        next += MOST_SOURCES - 1
      }
    }
  }
}

const BYTE_KERNEL: Kernel<Uint8Array> = {
  createScratch: (length) => new Uint8Array(length),
  combine([target, ...sources], [start, ...starts], length) {
    for (let i = 0; i < length; i++) {
      let sum = 0
      for (let source = 0; source < sources.length; source++)
        sum ^= (sources[source] as Uint8Array)[(starts[source] as number) + i] as number
      ;(target as Uint8Array)[(start as number) + i] = sum
    }
  },
}

const WORD_KERNEL: Kernel<Words> = {
  createScratch: (length) => new BigUint64Array(length),
  combine(arrays, at, length) {
    switch (arrays.length) {
      case 6:
        return combine5(arrays, at, length)
      case 5:
        return combine4(arrays, at, length)
      case 4:
        return combine3(arrays, at, length)
      case 3:
        return combine2(arrays, at, length)
      default: {
        const [[target, a], [t, x]] = [arrays, at] as unknown as [[Words, Words?], [number, number]]
        if (a === undefined) target.fill(0n, t, t + length)
        else target.set(a.subarray(x, x + length), t)
      }
    }
  },
}

type Arrays = readonly [Words, Words, Words, Words, Words, Words]
type Starts = readonly [number, number, number, number, number, number]

/* One function per number of sources: each loop stays monomorphic and free of inner loops. */

function combine5(arrays: readonly Words[], at: readonly number[], length: number): void {
  const [target, a, b, c, d, e] = arrays as Arrays
  const [t, u, v, x, y, z] = at as Starts
  for (let i = 0; i < length; i++)
    target[t + i] =
      (a[u + i] as bigint) ^
      (b[v + i] as bigint) ^
      (c[x + i] as bigint) ^
      (d[y + i] as bigint) ^
      (e[z + i] as bigint)
}

function combine4(arrays: readonly Words[], at: readonly number[], length: number): void {
  const [target, a, b, c, d] = arrays as unknown as Arrays
  const [t, u, v, x, y] = at as unknown as Starts
  for (let i = 0; i < length; i++)
    target[t + i] = (a[u + i] as bigint) ^ (b[v + i] as bigint) ^ (c[x + i] as bigint) ^ (d[y + i] as bigint)
}

function combine3(arrays: readonly Words[], at: readonly number[], length: number): void {
  const [target, a, b, c] = arrays as unknown as Arrays
  const [t, u, v, x] = at as unknown as Starts
  for (let i = 0; i < length; i++)
    target[t + i] = (a[u + i] as bigint) ^ (b[v + i] as bigint) ^ (c[x + i] as bigint)
}

function combine2(arrays: readonly Words[], at: readonly number[], length: number): void {
  const [target, a, b] = arrays as unknown as Arrays
  const [t, u, v] = at as unknown as Starts
  for (let i = 0; i < length; i++) target[t + i] = (a[u + i] as bigint) ^ (b[v + i] as bigint)
}
