/**
 * The set of visited states: exact rows of small integers, no fingerprints.
 *
 * Rows are stored in chunks, in the order of discovery, so that the store doubles as the search queue and
 * never copies an array as a whole. Columns are 16 bits wide until a value needs more. The hash table has one
 * 32-bit word per slot: the row's index, and in the remaining bits a part of its hash. Only if that part
 * matches is the row compared.
 */
import { hashRow } from './hash.ts'
import { NO_SLEEP_SET } from './sleep-sets.ts'

const CHUNK_BITS = 16
const CHUNK = 1 << CHUNK_BITS
const IN_CHUNK = CHUNK - 1
/**
 * 16 MB. The operating system commits only the pages in use, and a search of three million states never grows
 * it.
 */
const FIRST_BITS = 22
/** Number of rows that are rehashed in one batch when the table grows. */
const REHASHED = 512

type Rows = Uint16Array | Uint32Array

export class Visited {
  readonly #columns: number
  #rows: Rows[] = []
  readonly #parents: Int32Array[] = []
  /** The sleep set of each state (sleep-sets.ts); null if unused. */
  readonly #sleepSets: Int32Array[] | null
  #wide = false
  #size = 0
  /** 2^bits slots. Low bits: index + 1. High bits: the top of the hash. 0 marks a free slot. */
  #bits: number
  #mask: number
  #slots: Int32Array
  /** Written so that the engine does not optimize the prefetch away. */
  touched = 0

  constructor(columns: number, keepsWays = false, firstBits = FIRST_BITS) {
    this.#columns = columns
    this.#sleepSets = keepsWays ? [] : null
    this.#bits = firstBits
    this.#mask = (1 << firstBits) - 1
    this.#slots = new Int32Array(1 << firstBits)
  }

  get size(): number {
    return this.#size
  }

  /** Allocated bytes, used or not. */
  get bytes(): number {
    const row = this.#columns * (this.#wide ? 4 : 2) + (this.#sleepSets === null ? 4 : 8)
    return this.#rows.length * CHUNK * row + this.#slots.byteLength
  }

  parentOf(index: number): number {
    return (this.#parents[index >> CHUNK_BITS] as Int32Array)[index & IN_CHUNK] as number
  }

  /** The sleep set of a state; NO_SLEEP_SET if none is kept. */
  sleepSetOf(index: number): number {
    const sleepSets = this.#sleepSets
    return sleepSets === null
      ? NO_SLEEP_SET
      : ((sleepSets[index >> CHUNK_BITS] as Int32Array)[index & IN_CHUNK] as number)
  }

  column(index: number, column: number): number {
    return (this.#rows[index >> CHUNK_BITS] as Rows)[(index & IN_CHUNK) * this.#columns + column] as number
  }

  read(index: number, into: Int32Array): void {
    const columns = this.#columns
    const rows = this.#rows[index >> CHUNK_BITS] as Rows
    let at = (index & IN_CHUNK) * columns
    for (let column = 0; column < columns; column++) into[column] = rows[at++] as number
  }

  /** Makes the columns wide enough for values up to this. Call it before adding such a value. */
  makeRoomFor(most: number): void {
    if (this.#wide || most <= 0xffff) return
    this.#wide = true
    this.#rows = this.#rows.map((rows) => Uint32Array.from(rows))
  }

  /** Prefetches the hash table slot, so that the lookups of a batch overlap. */
  touchSlot(hash: number): number {
    return this.#slots[hash & this.#mask] as number
  }

  /** Prefetches the row that the slot refers to, if its hash matches. */
  touchRow(hash: number): number {
    const slot = this.#slots[hash & this.#mask] as number
    if (slot === 0 || (slot ^ hash) >>> this.#bits !== 0) return 0
    const index = (slot & this.#mask) - 1
    return (this.#rows[index >> CHUNK_BITS] as Rows)[(index & IN_CHUNK) * this.#columns] as number
  }

  /** Adds the row at `from` unless it is known. */
  add(row: Int32Array, from: number, hash: number, parent: number, sleepSet = NO_SLEEP_SET): void {
    const at = this.#probe(row, from, hash)
    if (this.#slots[at] !== 0) return
    const index = this.#size++
    this.#slots[at] = (hash & ~this.#mask) | (index + 1)
    this.#store(index, row, from, parent, sleepSet)
    if (this.#size * 8 > this.#mask * 7) this.#grow()
  }

  /** The index of a row, or -1. */
  find(row: Int32Array, from: number, hash: number): number {
    const slot = this.#slots[this.#probe(row, from, hash)] as number
    return slot === 0 ? -1 : (slot & this.#mask) - 1
  }

  /** The slot of a row, or the free slot for it. */
  #probe(row: Int32Array, from: number, hash: number): number {
    const slots = this.#slots
    const mask = this.#mask
    let at = hash & mask
    for (;;) {
      const slot = slots[at] as number
      if (slot === 0) return at
      if ((slot ^ hash) >>> this.#bits === 0 && this.#same((slot & mask) - 1, row, from)) return at
      at = (at + 1) & mask
    }
  }

  #same(index: number, row: Int32Array, from: number): boolean {
    const columns = this.#columns
    const rows = this.#rows[index >> CHUNK_BITS] as Rows
    const at = (index & IN_CHUNK) * columns
    for (let column = 0; column < columns; column++) {
      if (rows[at + column] !== row[from + column]) return false
    }
    return true
  }

  #store(index: number, row: Int32Array, from: number, parent: number, sleepSet: number): void {
    const columns = this.#columns
    const chunk = index >> CHUNK_BITS
    if (chunk === this.#rows.length) {
      this.#rows.push(this.#wide ? new Uint32Array(CHUNK * columns) : new Uint16Array(CHUNK * columns))
      this.#parents.push(new Int32Array(CHUNK))
      this.#sleepSets?.push(new Int32Array(CHUNK))
    }
    const rows = this.#rows[chunk] as Rows
    const at = (index & IN_CHUNK) * columns
    for (let column = 0; column < columns; column++) rows[at + column] = row[from + column] as number
    ;(this.#parents[chunk] as Int32Array)[index & IN_CHUNK] = parent
    const sleepSets = this.#sleepSets
    if (sleepSets !== null) (sleepSets[chunk] as Int32Array)[index & IN_CHUNK] = sleepSet
  }

  #grow(): void {
    this.#bits += 1
    this.#mask = this.#mask * 2 + 1
    this.#slots = new Int32Array(this.#mask + 1)
    const row = new Int32Array(this.#columns)
    const hashes = new Int32Array(REHASHED)
    for (let start = 0; start < this.#size; start += REHASHED) {
      const count = Math.min(REHASHED, this.#size - start)
      for (let each = 0; each < count; each++) {
        this.read(start + each, row)
        hashes[each] = hashRow(row, 0, this.#columns)
      }
      for (let each = 0; each < count; each++) this.touched ^= this.touchSlot(hashes[each] as number)
      for (let each = 0; each < count; each++) this.#place(start + each, hashes[each] as number)
    }
  }

  /** Inserts a row that is not in the table. */
  #place(index: number, hash: number): void {
    const slots = this.#slots
    const mask = this.#mask
    let at = hash & mask
    while (slots[at] !== 0) at = (at + 1) & mask
    slots[at] = (hash & ~mask) | (index + 1)
  }
}
