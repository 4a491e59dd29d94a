/**
 * Linear combinations of columns over GF(2^8).
 *
 * Up to four targets are computed together: a table has, for every source and every value of a byte, the products for
 * all four targets packed into one 32-bit number. So one lookup per source byte serves four targets.
 */
import { type Matrix, multiply } from './galois.ts'

const LANES = 4
const VALUES = 256
/** Accumulated bytes per block; four bytes of memory for each. */
const BLOCK = 4096

/** Matrix rows in packed form: one table per group of up to four rows. */
export type PackedMatrix = {
  readonly rows: number
  readonly tables: readonly Int32Array[]
}

/** `matrix[r][s]` is the coefficient of source s for target r. */
export function packMatrix(matrix: Matrix): PackedMatrix {
  const tables: Int32Array[] = []
  for (let first = 0; first < matrix.length; first += LANES) {
    const group = matrix.slice(first, first + LANES)
    const sources = group[0]?.length ?? 0
    const table = new Int32Array(sources * VALUES)
    for (let source = 0; source < sources; source++) {
      for (let value = 0; value < VALUES; value++) {
        let packed = 0
        for (const [lane, row] of group.entries())
          packed |= multiply(row[source] as number, value) << (8 * lane)
        table[source * VALUES + value] = packed
      }
    }
    tables.push(table)
  }
  return { rows: matrix.length, tables }
}

/** Sets every target to its linear combination of the sources. All columns have the same length. */
export function combineColumns(
  { tables }: PackedMatrix,
  sources: readonly Uint8Array[],
  targets: readonly Uint8Array[],
): void {
  const length = sources[0]?.length ?? 0
  const sums = new Int32Array(Math.min(length, BLOCK))
  const isAligned = [...sources, ...targets].every(({ byteOffset }) => byteOffset % 4 === 0)
  const wordsIn = (column: Uint8Array): Int32Array =>
    new Int32Array(column.buffer, column.byteOffset, column.length >>> 2)
  const sourceWords = isAligned ? sources.map(wordsIn) : []
  const targetWords = isAligned ? targets.map(wordsIn) : []
  const wordBytes = isAligned ? length - (length % 4) : 0
  for (const [group, table] of tables.entries()) {
    const first = group * LANES
    const last = Math.min(first + LANES, targets.length)
    for (let start = 0; start < wordBytes; start += BLOCK) {
      const block = { start: start / 4, length: Math.min(BLOCK, wordBytes - start) / 4 }
      sumWords(table, sourceWords, block, sums)
      for (let lane = first; lane < last; lane++)
        unpackWords(sums, targetWords[lane] as Int32Array, block, 8 * (lane - first))
    }
    for (let start = wordBytes; start < length; start += BLOCK) {
      const block = { start, length: Math.min(BLOCK, length - start) }
      sumBytes(table, sources, block, sums)
      for (let lane = first; lane < last; lane++) {
        const target = targets[lane] as Uint8Array
        for (let i = 0; i < block.length; i++)
          target[start + i] = (sums[i] as number) >>> (8 * (lane - first))
      }
    }
  }
}

type Block = { readonly start: number; readonly length: number }

function sumBytes(table: Int32Array, sources: readonly Uint8Array[], block: Block, sums: Int32Array): void {
  for (const [number, source] of sources.entries()) {
    const base = number * VALUES
    for (let i = 0; i < block.length; i++) {
      const product = table[base + (source[block.start + i] as number)] as number
      sums[i] = number === 0 ? product : (sums[i] as number) ^ product
    }
  }
}

/** Sums of four bytes at once. Up to five sources are added in one pass: every pass reads and writes the sums. */
function sumWords(table: Int32Array, sources: readonly Int32Array[], block: Block, sums: Int32Array): void {
  sums.fill(0, 0, 4 * block.length)
  let next = 0
  while (next < sources.length) {
    const left = sources.length - next
    const [count, add] = left >= 5 ? [5, addFive] : left >= 3 ? [3, addThree] : [1, addOne]
    add(table.subarray(next * VALUES), sources.slice(next, next + count), block, sums)
    next += count
  }
}

type Five = readonly [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array]

function addFive(t: Int32Array, sources: readonly Int32Array[], block: Block, sums: Int32Array): void {
  const [v, w, x, y, z] = sources as Five
  const { start, length } = block
  for (let i = 0, at = 0; i < length; i++, at += 4) {
    const a = v[start + i] as number
    const b = w[start + i] as number
    const c = x[start + i] as number
    const d = y[start + i] as number
    const e = z[start + i] as number
    sums[at] =
      (sums[at] as number) ^
      (t[a & 255] as number) ^
      (t[256 + (b & 255)] as number) ^
      (t[512 + (c & 255)] as number) ^
      (t[768 + (d & 255)] as number) ^
      (t[1024 + (e & 255)] as number)
    sums[at + 1] =
      (sums[at + 1] as number) ^
      (t[(a >>> 8) & 255] as number) ^
      (t[256 + ((b >>> 8) & 255)] as number) ^
      (t[512 + ((c >>> 8) & 255)] as number) ^
      (t[768 + ((d >>> 8) & 255)] as number) ^
      (t[1024 + ((e >>> 8) & 255)] as number)
    sums[at + 2] =
      (sums[at + 2] as number) ^
      (t[(a >>> 16) & 255] as number) ^
      (t[256 + ((b >>> 16) & 255)] as number) ^
      (t[512 + ((c >>> 16) & 255)] as number) ^
      (t[768 + ((d >>> 16) & 255)] as number) ^
      (t[1024 + ((e >>> 16) & 255)] as number)
    sums[at + 3] =
      (sums[at + 3] as number) ^
      (t[a >>> 24] as number) ^
      (t[256 + (b >>> 24)] as number) ^
      (t[512 + (c >>> 24)] as number) ^
      (t[768 + (d >>> 24)] as number) ^
      (t[1024 + (e >>> 24)] as number)
  }
}

function addThree(t: Int32Array, sources: readonly Int32Array[], block: Block, sums: Int32Array): void {
  const [x, y, z] = sources as unknown as Five
  const { start, length } = block
  for (let i = 0, at = 0; i < length; i++, at += 4) {
    const a = x[start + i] as number
    const b = y[start + i] as number
    const c = z[start + i] as number
    sums[at] =
      (sums[at] as number) ^
      (t[a & 255] as number) ^
      (t[256 + (b & 255)] as number) ^
      (t[512 + (c & 255)] as number)
    sums[at + 1] =
      (sums[at + 1] as number) ^
      (t[(a >>> 8) & 255] as number) ^
      (t[256 + ((b >>> 8) & 255)] as number) ^
      (t[512 + ((c >>> 8) & 255)] as number)
    sums[at + 2] =
      (sums[at + 2] as number) ^
      (t[(a >>> 16) & 255] as number) ^
      (t[256 + ((b >>> 16) & 255)] as number) ^
      (t[512 + ((c >>> 16) & 255)] as number)
    sums[at + 3] =
      (sums[at + 3] as number) ^
      (t[a >>> 24] as number) ^
      (t[256 + (b >>> 24)] as number) ^
      (t[512 + (c >>> 24)] as number)
  }
}

function addOne(t: Int32Array, sources: readonly Int32Array[], block: Block, sums: Int32Array): void {
  const [source] = sources as unknown as Five
  const { start, length } = block
  for (let i = 0, at = 0; i < length; i++, at += 4) {
    const a = source[start + i] as number
    sums[at] = (sums[at] as number) ^ (t[a & 255] as number)
    sums[at + 1] = (sums[at + 1] as number) ^ (t[(a >>> 8) & 255] as number)
    sums[at + 2] = (sums[at + 2] as number) ^ (t[(a >>> 16) & 255] as number)
    sums[at + 3] = (sums[at + 3] as number) ^ (t[a >>> 24] as number)
  }
}

/** Writes one lane of the sums. */
function unpackWords(sums: Int32Array, target: Int32Array, { start, length }: Block, shift: number): void {
  for (let i = 0, at = 0; i < length; i++, at += 4)
    target[start + i] =
      (((sums[at] as number) >>> shift) & 255) |
      ((((sums[at + 1] as number) >>> shift) & 255) << 8) |
      ((((sums[at + 2] as number) >>> shift) & 255) << 16) |
      (((sums[at + 3] as number) >>> shift) << 24)
}
