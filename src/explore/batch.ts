/** Successors, gathered before they are looked up; and what was done to get to each. */
import type { Violation } from './judge.ts'
import { hashRow, type Visited } from './visited.ts'

/** What was done, in numbers; `Model.describe` puts it into words. */
export type Deed = {
  readonly what: What
  readonly node: number
  /** Which of its messages, timers, stimuli or flips. */
  readonly choice: number
  readonly crashAfter: number
}
export type What = 0 | 1 | 2 | 3 | 4 | 5
export const DELIVER = 0
export const TIMER = 1
export const COMMAND = 2
/** From here on: faults, which need not happen. */
export const CRASHING = 3
export const RECOVERY = 4
export const FLIP = 5

const ROOM = 4096
/** How many rows are remembered as recent; small enough to stay in the processor's cache. */
const RECENT = 1 << 13
const WHAT_BITS = 3
const NODE_BITS = 8
const CHOICE_BITS = 12

export class Batch {
  readonly columns: number
  /** Where the next row goes: the model writes it at `rows[at...]`, then calls `took`. */
  rows: Int32Array
  at = 0
  count = 0
  /** Rows taken so far, known or not. */
  transitions = 0
  /** The state that is being expanded. */
  parent = -1
  found: { readonly violation: Violation; readonly deed: Deed } | null = null
  /** Kept so that the touching below is not optimised away. */
  touched = 0
  readonly #skipsRecent: boolean
  readonly #recent: Int32Array
  #parents: Int32Array = new Int32Array(ROOM)
  #deeds: Int32Array = new Int32Array(ROOM)
  #hashes: Int32Array = new Int32Array(ROOM)

  /** `skipsRecent`: rows that were taken a short while ago are left out. */
  constructor(columns: number, skipsRecent: boolean) {
    this.columns = columns
    this.#skipsRecent = skipsRecent
    this.rows = new Int32Array(ROOM * columns)
    this.#recent = new Int32Array(RECENT * columns).fill(-1)
  }

  took(what: What, node: number, choice: number, crashAfter: number): void {
    this.transitions += 1
    const { count } = this
    const hash = hashRow(this.rows, this.at, this.columns)
    if (this.#skipsRecent && this.#isRecent(hash)) return
    this.#hashes[count] = hash
    this.#parents[count] = this.parent
    this.#deeds[count] = packed(what, node, choice, crashAfter)
    this.count = count + 1
    this.at += this.columns
    if (this.count === this.#parents.length) this.#grow()
  }

  violated(violation: Violation, what: What, node: number, choice: number, crashAfter: number): void {
    this.found ??= { violation, deed: { what, node, choice, crashAfter } }
  }

  deed(index: number): Deed {
    return unpacked(this.#deeds[index] as number)
  }

  isFault(index: number): boolean {
    return ((this.#deeds[index] as number) & ((1 << WHAT_BITS) - 1)) >= CRASHING
  }

  clear(): void {
    this.count = 0
    this.at = 0
  }

  /**
   * Adds what is new to the visited states. Their table is far larger than any cache: touching the lines of the
   * whole batch first lets the memory answer many lookups at once.
   */
  flush(visited: Visited): void {
    const { rows, count, columns } = this
    const hashes = this.#hashes
    const parents = this.#parents
    let touched = 0
    for (let each = 0; each < count; each++) touched ^= visited.touchSlot(hashes[each] as number)
    for (let each = 0; each < count; each++) touched ^= visited.touchRow(hashes[each] as number)
    this.touched = touched
    for (let each = 0; each < count; each++) {
      visited.add(rows, each * columns, hashes[each] as number, parents[each] as number)
    }
    this.clear()
  }

  /**
   * Whether the row at hand was taken a short while ago; if not, it is from now on. Most successors are reached by
   * several ways that lie close together, and need not be looked up in the large table each time.
   */
  #isRecent(hash: number): boolean {
    const { rows, at, columns } = this
    const recent = this.#recent
    const slot = (hash & (RECENT - 1)) * columns
    let column = 0
    while (column < columns && recent[slot + column] === rows[at + column]) column += 1
    if (column === columns) return true
    for (; column < columns; column++) recent[slot + column] = rows[at + column] as number
    return false
  }

  #grow(): void {
    const larger = (old: Int32Array): Int32Array => {
      const next = new Int32Array(old.length * 2)
      next.set(old)
      return next
    }
    this.rows = larger(this.rows)
    this.#parents = larger(this.#parents)
    this.#deeds = larger(this.#deeds)
    this.#hashes = larger(this.#hashes)
  }
}

function packed(what: What, node: number, choice: number, crashAfter: number): number {
  return (
    what |
    (node << WHAT_BITS) |
    (choice << (WHAT_BITS + NODE_BITS)) |
    (crashAfter << (WHAT_BITS + NODE_BITS + CHOICE_BITS))
  )
}

function unpacked(deed: number): Deed {
  return {
    what: (deed & ((1 << WHAT_BITS) - 1)) as What,
    node: (deed >>> WHAT_BITS) & ((1 << NODE_BITS) - 1),
    choice: (deed >>> (WHAT_BITS + NODE_BITS)) & ((1 << CHOICE_BITS) - 1),
    crashAfter: deed >>> (WHAT_BITS + NODE_BITS + CHOICE_BITS),
  }
}
