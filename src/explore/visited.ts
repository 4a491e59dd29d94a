/**
 * The states that were found, as rows of small integers, exactly: no fingerprints, nothing left out.
 *
 * Rows stand in chunks in the order of discovery, so the search needs no queue of its own and no array is ever
 * copied as a whole; a row's index is its name. Columns are 16 bits wide until a number needs more. The table
 * holds an index and an 8-bit tag a slot; a tag that agrees is checked against the row itself.
 */
const CHUNK_BITS = 14
const CHUNK = 1 << CHUNK_BITS
const IN_CHUNK = CHUNK - 1

type Rows = Uint16Array | Uint32Array

export class Visited {
  readonly #columns: number
  #rows: Rows[] = []
  readonly #parents: Int32Array[] = []
  #wide = false
  #size = 0
  #mask: number
  /** Index of a row + 1; 0 is free. */
  #slots: Int32Array
  #tags: Uint8Array

  constructor(columns: number) {
    this.#columns = columns
    const capacity = 1 << 16
    this.#mask = capacity - 1
    this.#slots = new Int32Array(capacity)
    this.#tags = new Uint8Array(capacity)
  }

  get size(): number {
    return this.#size
  }

  /** What is allocated, whether used or not. */
  get bytes(): number {
    const row = this.#columns * (this.#wide ? 4 : 2) + 4
    return this.#rows.length * CHUNK * row + this.#slots.byteLength + this.#tags.byteLength
  }

  parentOf(index: number): number {
    return (this.#parents[index >> CHUNK_BITS] as Int32Array)[index & IN_CHUNK] as number
  }

  read(index: number, into: Int32Array): void {
    const columns = this.#columns
    const rows = this.#rows[index >> CHUNK_BITS] as Rows
    let at = (index & IN_CHUNK) * columns
    for (let column = 0; column < columns; column++) into[column] = rows[at++] as number
  }

  /** Columns must be able to hold numbers up to this; called before such a number is added. */
  fit(most: number): void {
    if (this.#wide || most <= 0xffff) return
    this.#wide = true
    this.#rows = this.#rows.map((rows) => Uint32Array.from(rows))
  }

  hash(row: Int32Array, from: number): number {
    let hash = 0x9747b28c
    const end = from + this.#columns
    for (let at = from; at < end; at++) {
      hash = Math.imul(hash ^ (row[at] as number), 0x5bd1e995)
      hash ^= hash >>> 13
    }
    hash = Math.imul(hash, 0xc2b2ae35)
    return (hash ^ (hash >>> 16)) >>> 0
  }

  /** Brings the table's memory near, so that a batch of lookups does not wait for each one in turn. */
  touch(hash: number): number {
    const at = hash & this.#mask
    return (this.#tags[at] as number) + (this.#slots[at] as number)
  }

  /** Adds the row that stands at `from`, unless it is known. The index if it is new, else -1. */
  add(row: Int32Array, from: number, hash: number, parent: number): number {
    const tag = hash >>> 24
    let at = hash & this.#mask
    for (;;) {
      const known = (this.#slots[at] as number) - 1
      if (known < 0) break
      if (this.#tags[at] === tag && this.#same(known, row, from)) return -1
      at = (at + 1) & this.#mask
    }
    const index = this.#size++
    this.#slots[at] = index + 1
    this.#tags[at] = tag
    this.#store(index, row, from, parent)
    if (this.#size * 4 > this.#mask * 3) this.#grow()
    return index
  }

  /** The index of a row, or -1. */
  find(row: Int32Array, from: number, hash: number): number {
    const tag = hash >>> 24
    let at = hash & this.#mask
    for (;;) {
      const known = (this.#slots[at] as number) - 1
      if (known < 0) return -1
      if (this.#tags[at] === tag && this.#same(known, row, from)) return known
      at = (at + 1) & this.#mask
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

  #store(index: number, row: Int32Array, from: number, parent: number): void {
    const columns = this.#columns
    const chunk = index >> CHUNK_BITS
    if (chunk === this.#rows.length) {
      this.#rows.push(this.#wide ? new Uint32Array(CHUNK * columns) : new Uint16Array(CHUNK * columns))
      this.#parents.push(new Int32Array(CHUNK))
    }
    const rows = this.#rows[chunk] as Rows
    const at = (index & IN_CHUNK) * columns
    for (let column = 0; column < columns; column++) rows[at + column] = row[from + column] as number
    ;(this.#parents[chunk] as Int32Array)[index & IN_CHUNK] = parent
  }

  #grow(): void {
    const capacity = (this.#mask + 1) * 2
    this.#mask = capacity - 1
    // The old table is dropped first: its contents are in the rows.
    this.#slots = new Int32Array(0)
    this.#tags = new Uint8Array(0)
    this.#slots = new Int32Array(capacity)
    this.#tags = new Uint8Array(capacity)
    const row = new Int32Array(this.#columns)
    for (let index = 0; index < this.#size; index++) {
      this.read(index, row)
      const hash = this.hash(row, 0)
      let at = hash & this.#mask
      while (this.#slots[at] !== 0) at = (at + 1) & this.#mask
      this.#slots[at] = index + 1
      this.#tags[at] = hash >>> 24
    }
  }
}
