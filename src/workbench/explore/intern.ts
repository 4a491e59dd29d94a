/** Interning: equal values get equal small integers, so that worlds compare as rows of integers. */
import { canonical, type Plain } from '../../core/index.ts'

/** Estimated bytes per interned value in addition to its text: a map entry and the value's own objects. */
const OVERHEAD = 300

export class Interner<T extends Plain> {
  readonly #idOf = new Map<string, number>()
  readonly #values: T[] = []
  #textLength = 0

  /** An estimate, for the memory bound. */
  get bytes(): number {
    return this.#values.length * OVERHEAD + this.#textLength * 3
  }

  get size(): number {
    return this.#values.length
  }

  idOf(value: T): number {
    const text = canonical(value)
    const known = this.#idOf.get(text)
    if (known !== undefined) return known
    const id = this.#values.length
    this.#textLength += text.length
    this.#idOf.set(text, id)
    this.#values.push(value)
    return id
  }

  valueOf(id: number): T {
    return this.#values[id] as T
  }
}

/** Interns lists of small integers, which need no canonical text. */
export class ListInterner {
  readonly #idOf = new Map<string, number>()
  readonly #lists: (readonly number[])[] = []
  #textLength = 0

  /** An estimate, for the memory bound. */
  get bytes(): number {
    return this.#lists.length * OVERHEAD + this.#textLength * 5
  }

  get size(): number {
    return this.#lists.length
  }

  idOf(list: readonly number[]): number {
    const text = list.join(' ')
    const known = this.#idOf.get(text)
    if (known !== undefined) return known
    const id = this.#lists.length
    this.#textLength += text.length
    this.#idOf.set(text, id)
    this.#lists.push(list)
    return id
  }

  listOf(id: number): readonly number[] {
    return this.#lists[id] as readonly number[]
  }
}

const EMPTY = -1

/** The largest dense table: 16 MB. */
const MOST_DENSE = 1 << 22

/**
 * Memoization table: maps pairs of small integers to integers other than -1.
 *
 * Dense (a rectangle, no hashing) while the keys are small; becomes an open-addressing hash table when the
 * rectangle would grow too large.
 */
export class PairTable {
  #dense: Int32Array | null = new Int32Array(1 << 10).fill(EMPTY)
  /** A row of the rectangle has 2^bits places. */
  #bits = 0
  #size = 0
  #mask = 0
  #entries = new Int32Array(0)

  /** The value of a pair, or -1 if there is none. */
  get(a: number, b: number): number {
    const dense = this.#dense
    if (dense === null) return this.#sparseGet(a, b)
    if (b >>> this.#bits !== 0) return EMPTY
    const place = (a << this.#bits) | b
    return place < dense.length ? (dense[place] as number) : EMPTY
  }

  set(a: number, b: number, value: number): void {
    if (this.#dense !== null) this.#makeRoom(a, b)
    if (this.#dense !== null) this.#dense[(a << this.#bits) | b] = value
    else this.#sparseSet(a, b, value)
  }

  /** Grows the rectangle until it holds the pair, or switches to the hash table. */
  #makeRoom(a: number, b: number): void {
    const old = this.#dense as Int32Array
    const oldBits = this.#bits
    let bits = oldBits
    while (b >>> bits !== 0) bits += 1
    let { length } = old
    while ((a + 1) * 2 ** bits > length || (old.length / 2 ** oldBits) * 2 ** bits > length) length *= 2
    if (bits === oldBits && length === old.length) return
    if (length > MOST_DENSE) {
      this.#dense = null
      this.#mask = 1023
      this.#entries = new Int32Array(1024 * 3).fill(EMPTY)
      eachPair(old, oldBits, (x, y, value) => this.#sparseSet(x, y, value))
      return
    }
    const dense = new Int32Array(length).fill(EMPTY)
    eachPair(old, oldBits, (x, y, value) => {
      dense[(x << bits) | y] = value
    })
    this.#dense = dense
    this.#bits = bits
  }

  #sparseGet(a: number, b: number): number {
    const entries = this.#entries
    const mask = this.#mask
    let at = hashPair(a, b) & mask
    for (;;) {
      const base = at * 3
      const first = entries[base] as number
      if (first === EMPTY) return EMPTY
      if (first === a && entries[base + 1] === b) return entries[base + 2] as number
      at = (at + 1) & mask
    }
  }

  #sparseSet(a: number, b: number, value: number): void {
    if (this.#size * 2 > this.#mask) this.#growSparse()
    this.#size += 1
    this.#put(a, b, value)
  }

  #put(a: number, b: number, value: number): void {
    let at = hashPair(a, b) & this.#mask
    while (this.#entries[at * 3] !== EMPTY) at = (at + 1) & this.#mask
    this.#entries[at * 3] = a
    this.#entries[at * 3 + 1] = b
    this.#entries[at * 3 + 2] = value
  }

  #growSparse(): void {
    const old = this.#entries
    this.#mask = this.#mask * 2 + 1
    this.#entries = new Int32Array((this.#mask + 1) * 3).fill(EMPTY)
    for (let base = 0; base < old.length; base += 3) {
      if (old[base] !== EMPTY)
        this.#put(old[base] as number, old[base + 1] as number, old[base + 2] as number)
    }
  }
}

function eachPair(
  dense: Int32Array,
  bits: number,
  visit: (a: number, b: number, value: number) => void,
): void {
  for (let place = 0; place < dense.length; place++) {
    const value = dense[place] as number
    if (value !== EMPTY) visit(place >>> bits, place & ((1 << bits) - 1), value)
  }
}

export function hashPair(a: number, b: number): number {
  let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b + 0x7f4a7c15, 0x85ebca6b)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d)
  return hash ^ (hash >>> 13)
}
