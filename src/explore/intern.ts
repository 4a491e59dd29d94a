/** Small numbers for things: equal things get equal numbers, so worlds can be compared as rows of integers. */
import { canonical, type Plain } from '../core/index.ts'

export class Interner<T extends Plain> {
  readonly #idOf = new Map<string, number>()
  readonly #values: T[] = []

  get size(): number {
    return this.#values.length
  }

  idOf(value: T): number {
    const text = canonical(value)
    const known = this.#idOf.get(text)
    if (known !== undefined) return known
    const id = this.#values.length
    this.#idOf.set(text, id)
    this.#values.push(value)
    return id
  }

  valueOf(id: number): T {
    return this.#values[id] as T
  }
}

const EMPTY = -1

/** A map from pairs of small numbers to small numbers, in flat arrays: the memory of what has been worked out. */
export class PairTable {
  #size = 0
  #mask: number
  #entries: Int32Array

  constructor(capacity = 256) {
    this.#mask = capacity - 1
    this.#entries = new Int32Array(capacity * 3).fill(EMPTY)
  }

  /** The value for a pair, or -1 when there is none. */
  get(a: number, b: number): number {
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

  set(a: number, b: number, value: number): void {
    if (this.#size * 2 > this.#mask) this.#grow()
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

  #grow(): void {
    const old = this.#entries
    this.#mask = this.#mask * 2 + 1
    this.#entries = new Int32Array((this.#mask + 1) * 3).fill(EMPTY)
    for (let base = 0; base < old.length; base += 3) {
      if (old[base] !== EMPTY) this.#put(old[base] as number, old[base + 1] as number, old[base + 2] as number)
    }
  }
}

function hashPair(a: number, b: number): number {
  let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b + 0x7f4a7c15, 0x85ebca6b)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d)
  return hash ^ (hash >>> 13)
}
