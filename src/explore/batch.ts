/** Successors, gathered before they are looked up; and what was done to get to each. */
import {
  FAN,
  FAN_CELL,
  FAN_DEED,
  FAN_ENVIRONMENT,
  FAN_EVENTS,
  FAN_FIELDS,
  FAN_SLOT,
  FAN_SUM,
  type Places,
} from './fans.ts'
import { mixed, risen } from './hash.ts'
import { type Judge, NO_EVENTS, type Violation } from './judge.ts'
import type { Visited } from './visited.ts'

/** What was done, in numbers; `Model.describe` puts it into words. */
export type Deed = {
  readonly what: What
  readonly node: number
  /** Which of its messages, timers, stimuli or flips. */
  readonly choice: number
  readonly crashAfter: number
}
export type What = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13
export const DELIVER = 0
export const TIMER = 1
export const COMMAND = 2
/** An end of a link sees what the other has seen. */
export const FOLLOW = 3
/** A read of a register, and the acknowledgement of a write. */
export const READ = 4
export const ACKNOWLEDGE = 5
/** From here on: faults, which need not happen; and time, which need not pass. */
export const CRASHING = 6
export const RECOVERY = 7
export const FLIP = 8
export const TICK = 9
/** A crash of a node whose write, on a timer or on a command, is still to come; that it comes; that a register goes. */
export const LATE_TIMER = 10
export const LATE_COMMAND = 11
export const LAND = 12
export const DELETE = 13

/** How many rows are kept to be recognised; few enough that they stay in the processor's cache. */
const KEPT = 1 << 12
const ROOM = KEPT * 2
const WHAT_BITS = 4
const NODE_BITS = 8
const CHOICE_BITS = 12

export type Found = { readonly violation: Violation; readonly deed: Deed }

export class Batch {
  readonly columns: number
  /** Rows one after another: since `clear`, if there was no `flush`, those of the batch from the beginning. */
  rows: Int32Array
  /** Rows taken so far, known or not. */
  transitions = 0
  /** The state that is being expanded. */
  parent = -1
  found: Found | null = null
  /** Kept so that the touching below is not optimised away. */
  touched = 0
  /** The first row of the batch, and the row that is being made; all others were flushed, or never used. */
  #first = 0
  #next = 0
  /** Where the row that is being made begins in `rows`. */
  #at = 0
  /** By hash, the row that had it last; -1 for none. */
  readonly #last = new Int32Array(KEPT).fill(-1)
  #parents: Int32Array = new Int32Array(ROOM)
  #deeds: Int32Array = new Int32Array(ROOM)
  #hashes: Int32Array = new Int32Array(ROOM)

  constructor(columns: number) {
    this.columns = columns
    this.rows = new Int32Array(ROOM * columns)
  }

  get count(): number {
    return this.#next - this.#first
  }

  /** Copies the row that is expanded to where its next successor is to be made, which it returns. */
  begin(row: Int32Array): number {
    const { rows, columns } = this
    const at = this.#at
    for (let column = 0; column < columns; column++) rows[at + column] = row[column] as number
    return at
  }

  /** The successor is made; `sum` is that of its columns, see hash.ts. */
  took(sum: number, what: What, node: number, choice: number, crashAfter: number): void {
    this.transitions += 1
    const hash = mixed(sum)
    const slot = hash & (KEPT - 1)
    if (this.#isKept(this.#last[slot] as number, hash)) return
    const next = this.#next
    this.#hashes[next] = hash
    this.#parents[next] = this.parent
    this.#deeds[next] = packed(what, node, choice, crashAfter)
    if (next < KEPT) this.#last[slot] = next
    this.#next = next + 1
    this.#at += this.columns
    if (this.#next === this.#parents.length) this.#grow()
  }

  /** All successors of a fan at once: see fans.ts. */
  tookFan(
    row: Int32Array,
    sum: number,
    fans: Int32Array,
    fan: number,
    node: number,
    places: Places,
    judge: Judge,
  ): void {
    this.transitions += fans[fan] as number
    const count = fans[fan + 1] as number
    while (this.#next + count >= this.#parents.length) this.#grow()
    const { rows, columns } = this
    const hashes = this.#hashes
    const last = this.#last
    const parents = this.#parents
    const deeds = this.#deeds
    const { parent } = this
    const { memoryAt, environmentAt, cellAt } = places
    const cellColumn = cellAt + node
    const slotBefore = row[node] as number
    const cellBefore = row[cellColumn] as number
    const memoryBefore = row[memoryAt] as number
    const environmentBefore = row[environmentAt] as number
    let next = this.#next
    let at = this.#at
    const end = fan + FAN + count * FAN_FIELDS
    for (let from = fan + FAN; from < end; from += FAN_FIELDS) {
      let after = (sum + (fans[from + FAN_SUM] as number)) | 0
      let memory = memoryBefore
      const events = fans[from + FAN_EVENTS] as number
      if (events !== NO_EVENTS) {
        memory = judge.nextAll(memoryBefore, events)
        if (memory < 0) {
          this.transitions -= 1
          const deed = unpacked(fans[from + FAN_DEED] as number)
          this.found ??= { violation: judge.violation(memory), deed }
          continue
        }
        after = risen(after, memoryAt, memory - memoryBefore)
      }
      // The successor is made in place of its parent, and copied only if it was not seen a short while ago.
      row[node] = fans[from + FAN_SLOT] as number
      const cell = fans[from + FAN_CELL] as number
      row[cellColumn] = cell < 0 ? cellBefore : cell
      row[memoryAt] = memory
      row[environmentAt] = fans[from + FAN_ENVIRONMENT] as number
      const hash = mixed(after)
      const slot = hash & (KEPT - 1)
      const kept = last[slot] as number
      if (kept >= 0 && hashes[kept] === hash) {
        let other = kept * columns
        let column = 0
        while (column < columns && rows[other] === row[column]) {
          other += 1
          column += 1
        }
        if (column === columns) continue
      }
      for (let column = 0; column < columns; column++) rows[at + column] = row[column] as number
      hashes[next] = hash
      parents[next] = parent
      deeds[next] = fans[from + FAN_DEED] as number
      if (next < KEPT) last[slot] = next
      next += 1
      at += columns
    }
    row[node] = slotBefore
    row[cellColumn] = cellBefore
    row[memoryAt] = memoryBefore
    row[environmentAt] = environmentBefore
    this.#next = next
    this.#at = at
  }

  violated(violation: Violation, what: What, node: number, choice: number, crashAfter: number): void {
    this.found ??= { violation, deed: { what, node, choice, crashAfter } }
  }

  deed(index: number): Deed {
    return unpacked(this.packedDeed(index))
  }

  packedDeed(index: number): number {
    return this.#deeds[this.#first + index] as number
  }

  isFault(index: number): boolean {
    return ((this.#deeds[this.#first + index] as number) & ((1 << WHAT_BITS) - 1)) >= CRASHING
  }

  /** Drops the batch, and forgets every row. */
  clear(): void {
    this.#startAt(0)
    this.#last.fill(-1)
  }

  /**
   * Adds what is new to the visited states. Their table is far larger than any cache: touching the lines of the
   * whole batch first lets the memory answer many lookups at once.
   */
  flush(visited: Visited): void {
    const { rows, columns } = this
    const hashes = this.#hashes
    const parents = this.#parents
    const first = this.#first
    const next = this.#next
    let touched = 0
    for (let each = first; each < next; each++) touched ^= visited.touchSlot(hashes[each] as number)
    for (let each = first; each < next; each++) touched ^= visited.touchRow(hashes[each] as number)
    this.touched = touched
    for (let each = first; each < next; each++) {
      visited.add(rows, each * columns, hashes[each] as number, parents[each] as number)
    }
    this.#startAt(next < KEPT ? next : 0)
  }

  #startAt(row: number): void {
    this.#first = row
    this.#next = row
    this.#at = row * this.columns
  }

  /**
   * Whether the row being made is the same as this one, taken a short while ago. Most successors are reached by
   * several ways that lie close together, and need not be looked up in the large table each time.
   */
  #isKept(row: number, hash: number): boolean {
    if (row < 0 || this.#hashes[row] !== hash || row === this.#next) return false
    const { rows, columns } = this
    const at = this.#at
    const from = row * columns
    for (let column = 0; column < columns; column++) {
      if (rows[from + column] !== rows[at + column]) return false
    }
    return true
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
