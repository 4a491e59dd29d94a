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

const BLOCK_BYTES = 32_768
const WORD_BYTES = 8
/** The most sources that are combined in one pass. */
const MOST_SOURCES = 5

type Words = BigUint64Array
type Kernel<Elements> = {
  readonly createScratch: (length: number) => Elements
  /** Sets the target to the XOR of the sources. All have the same length. */
  readonly combine: (target: Elements, sources: readonly Elements[]) => void
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

function executeBlocks<Elements extends Uint8Array | Words>(
  plan: readonly Operation[],
  columns: readonly Elements[],
  { cell, block }: { readonly cell: number; readonly block: number },
  { createScratch, combine }: Kernel<Elements>,
): void {
  const scratch = createScratch(Math.min(block, cell))
  for (let base = 0; base < cell; base += block) {
    const length = Math.min(block, cell - base)
    const viewOf = ({ column, row }: Cell): Elements => {
      const start = column < 0 ? 0 : row * cell + base
      return (columns[column] ?? scratch).subarray(start, start + length) as Elements
    }
    for (const { target, sources } of plan) {
      const result = viewOf(target)
      const views = sources.map(viewOf)
      // The first pass overwrites the target. In later passes the target is one of the sources.
      combine(result, views.slice(0, MOST_SOURCES))
      for (let next = MOST_SOURCES; next < views.length; next += MOST_SOURCES - 1)
        combine(result, [result, ...views.slice(next, next + MOST_SOURCES - 1)])
    }
  }
}

const BYTE_KERNEL: Kernel<Uint8Array> = {
  createScratch: (length) => new Uint8Array(length),
  combine(target, sources) {
    for (let i = 0; i < target.length; i++) {
      let sum = 0
      for (let source = 0; source < sources.length; source++)
        sum ^= (sources[source] as Uint8Array)[i] as number
      target[i] = sum
    }
  },
}

const WORD_KERNEL: Kernel<Words> = {
  createScratch: (length) => new BigUint64Array(length),
  combine(target, sources) {
    const [a, b, c, d, e] = sources as readonly [Words, Words, Words, Words, Words]
    switch (sources.length) {
      case 5:
        return combine5(target, a, b, c, d, e)
      case 4:
        return combine4(target, a, b, c, d)
      case 3:
        return combine3(target, a, b, c)
      case 2:
        return combine2(target, a, b)
      case 1:
        return target.set(a)
      default:
        return void target.fill(0n)
    }
  },
}

/*
 * One function per number of sources: each loop stays monomorphic and free of inner loops. Four words per pass save a
 * third of the time. The expressions are written out: a function that returns a word allocates a bigint.
 */

function combine5(target: Words, a: Words, b: Words, c: Words, d: Words, e: Words): void {
  const { length } = target
  let i = 0
  for (; i + 3 < length; i += 4) {
    target[i] = (a[i] as bigint) ^ (b[i] as bigint) ^ (c[i] as bigint) ^ (d[i] as bigint) ^ (e[i] as bigint)
    target[i + 1] =
      (a[i + 1] as bigint) ^
      (b[i + 1] as bigint) ^
      (c[i + 1] as bigint) ^
      (d[i + 1] as bigint) ^
      (e[i + 1] as bigint)
    target[i + 2] =
      (a[i + 2] as bigint) ^
      (b[i + 2] as bigint) ^
      (c[i + 2] as bigint) ^
      (d[i + 2] as bigint) ^
      (e[i + 2] as bigint)
    target[i + 3] =
      (a[i + 3] as bigint) ^
      (b[i + 3] as bigint) ^
      (c[i + 3] as bigint) ^
      (d[i + 3] as bigint) ^
      (e[i + 3] as bigint)
  }
  for (; i < length; i++)
    target[i] = (a[i] as bigint) ^ (b[i] as bigint) ^ (c[i] as bigint) ^ (d[i] as bigint) ^ (e[i] as bigint)
}

function combine4(target: Words, a: Words, b: Words, c: Words, d: Words): void {
  const { length } = target
  let i = 0
  for (; i + 3 < length; i += 4) {
    target[i] = (a[i] as bigint) ^ (b[i] as bigint) ^ (c[i] as bigint) ^ (d[i] as bigint)
    target[i + 1] = (a[i + 1] as bigint) ^ (b[i + 1] as bigint) ^ (c[i + 1] as bigint) ^ (d[i + 1] as bigint)
    target[i + 2] = (a[i + 2] as bigint) ^ (b[i + 2] as bigint) ^ (c[i + 2] as bigint) ^ (d[i + 2] as bigint)
    target[i + 3] = (a[i + 3] as bigint) ^ (b[i + 3] as bigint) ^ (c[i + 3] as bigint) ^ (d[i + 3] as bigint)
  }
  for (; i < length; i++)
    target[i] = (a[i] as bigint) ^ (b[i] as bigint) ^ (c[i] as bigint) ^ (d[i] as bigint)
}

function combine3(target: Words, a: Words, b: Words, c: Words): void {
  const { length } = target
  let i = 0
  for (; i + 3 < length; i += 4) {
    target[i] = (a[i] as bigint) ^ (b[i] as bigint) ^ (c[i] as bigint)
    target[i + 1] = (a[i + 1] as bigint) ^ (b[i + 1] as bigint) ^ (c[i + 1] as bigint)
    target[i + 2] = (a[i + 2] as bigint) ^ (b[i + 2] as bigint) ^ (c[i + 2] as bigint)
    target[i + 3] = (a[i + 3] as bigint) ^ (b[i + 3] as bigint) ^ (c[i + 3] as bigint)
  }
  for (; i < length; i++) target[i] = (a[i] as bigint) ^ (b[i] as bigint) ^ (c[i] as bigint)
}

function combine2(target: Words, a: Words, b: Words): void {
  const { length } = target
  let i = 0
  for (; i + 3 < length; i += 4) {
    target[i] = (a[i] as bigint) ^ (b[i] as bigint)
    target[i + 1] = (a[i + 1] as bigint) ^ (b[i + 1] as bigint)
    target[i + 2] = (a[i + 2] as bigint) ^ (b[i + 2] as bigint)
    target[i + 3] = (a[i + 3] as bigint) ^ (b[i + 3] as bigint)
  }
  for (; i < length; i++) target[i] = (a[i] as bigint) ^ (b[i] as bigint)
}
