/** Collects successors before looking them up in the visited set, and records the action that led to each. */
import { mixBits } from './hash.ts'
import type { Violation } from './judge.ts'
import { NO_SLEEP_SET } from './sleep-sets.ts'
import type { Visited } from './visited.ts'

/** A transition as integers; `Model.describe` turns it into a schedule step. */
export type Action = {
  readonly kind: ActionKind
  readonly node: number
  /** Index of the message, timer, stimulus or flip. */
  readonly choice: number
  readonly crashAfter: number
}
export type ActionKind = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15
export const DELIVER = 0
export const TIMER = 1
export const COMMAND = 2
/** One end of a link catches up with a transition that the other end has seen. */
export const FOLLOW = 3
/** A register read completes; a register write is acknowledged. */
export const READ = 4
export const ACKNOWLEDGE = 5
/** From here on: faults and clock ticks, which are optional. They do not count as progress. */
export const CRASHING = 6
export const RECOVERY = 7
export const FLIP = 8
export const TICK = 9
/**
 * A node crashes while its write (after a timer or a command) is still in flight; the write lands; a register
 * is deleted.
 */
export const LATE_TIMER = 10
export const LATE_COMMAND = 11
export const LAND = 12
export const DELETE = 13
/** A node reads a register in order to remove its owner, then writes a tombstone there. */
export const EXAMINE = 14
export const BURY = 15

/** Number of recent rows kept for deduplication. Small enough to stay in the CPU cache. */
export const RECENT = 1 << 12
const ROOM = RECENT * 2
const KIND_BITS = 4
const NODE_BITS = 8
const CHOICE_BITS = 12

export type Found = { readonly violation: Violation; readonly action: Action }

export class Batch {
  readonly columns: number
  /** Row-major array. `clear` without `flush` restarts the batch at the first row. */
  rows: Int32Array
  /** Transitions taken so far, including those to known states. */
  transitions = 0
  /** The state that is being expanded. */
  parent = -1
  found: Found | null = null
  /** Written so that the engine does not optimize the prefetch below away. */
  touched = 0
  /** The first row of the batch, and the row under construction. Earlier rows are flushed. */
  #first = 0
  next = 0
  /** By hash: the most recent row with that hash; -1 for none. */
  readonly last = new Int32Array(RECENT).fill(-1)
  parents: Int32Array = new Int32Array(ROOM)
  actions: Int32Array = new Int32Array(ROOM)
  hashes: Int32Array = new Int32Array(ROOM)
  sleepSets: Int32Array = new Int32Array(ROOM)

  constructor(columns: number) {
    this.columns = columns
    this.rows = new Int32Array(ROOM * columns)
  }

  get count(): number {
    return this.next - this.#first
  }

  /** Copies the expanded row to the place of its next successor and returns the offset of that place. */
  beginSuccessor(row: Int32Array): number {
    const { rows, columns } = this
    const at = this.next * columns
    for (let column = 0; column < columns; column++) rows[at + column] = row[column] as number
    return at
  }

  /** Completes the successor under construction. `sum` is the weighted sum of its columns (hash.ts). */
  addSuccessor(sum: number, kind: ActionKind, node: number, choice: number, crashAfter: number): void {
    this.transitions += 1
    const hash = mixBits(sum)
    const slot = hash & (RECENT - 1)
    if (this.#isKept(this.last[slot] as number, hash)) return
    const next = this.next
    this.hashes[next] = hash
    this.parents[next] = this.parent
    this.sleepSets[next] = NO_SLEEP_SET
    this.actions[next] = packAction(kind, node, choice, crashAfter)
    if (next < RECENT) this.last[slot] = next
    this.next = next + 1
    if (this.next === this.parents.length) this.grow()
  }

  addViolation(
    violation: Violation,
    kind: ActionKind,
    node: number,
    choice: number,
    crashAfter: number,
  ): void {
    this.found ??= { violation, action: { kind, node, choice, crashAfter } }
  }

  action(index: number): Action {
    return unpackAction(this.packedAction(index))
  }

  packedAction(index: number): number {
    return this.actions[this.#first + index] as number
  }

  isFault(index: number): boolean {
    return ((this.actions[this.#first + index] as number) & ((1 << KIND_BITS) - 1)) >= CRASHING
  }

  /** Drops the batch and forgets all recent rows. */
  clear(): void {
    this.#startAt(0)
    this.last.fill(-1)
  }

  /**
   * Adds the new rows to the visited set. The hash table is far larger than the CPU cache, so the first pass
   * touches the cache lines of the whole batch: the memory can then serve many lookups in parallel.
   */
  flush(visited: Visited): void {
    const { rows, columns } = this
    const hashes = this.hashes
    const parents = this.parents
    const sleepSets = this.sleepSets
    const first = this.#first
    const next = this.next
    let touched = 0
    for (let each = first; each < next; each++) touched ^= visited.touchSlot(hashes[each] as number)
    for (let each = first; each < next; each++) touched ^= visited.touchRow(hashes[each] as number)
    this.touched = touched
    for (let each = first; each < next; each++) {
      visited.add(rows, each * columns, hashes[each] as number, parents[each] as number, sleepSets[each])
    }
    this.#startAt(next < RECENT ? next : 0)
  }

  #startAt(row: number): void {
    this.#first = row
    this.next = row
  }

  /**
   * Whether the row under construction equals a recent row. Most states are reached over several paths close
   * together; this check saves the lookup in the large table.
   */
  #isKept(row: number, hash: number): boolean {
    if (row < 0 || this.hashes[row] !== hash || row === this.next) return false
    const { rows, columns } = this
    const at = this.next * columns
    const from = row * columns
    for (let column = 0; column < columns; column++) {
      if (rows[from + column] !== rows[at + column]) return false
    }
    return true
  }

  grow(by = 1): void {
    let times = 2
    while (this.parents.length * times <= this.next + by) times *= 2
    const larger = (old: Int32Array): Int32Array => {
      const next = new Int32Array(old.length * times)
      next.set(old)
      return next
    }
    this.rows = larger(this.rows)
    this.parents = larger(this.parents)
    this.actions = larger(this.actions)
    this.hashes = larger(this.hashes)
    this.sleepSets = larger(this.sleepSets)
  }
}

function packAction(kind: ActionKind, node: number, choice: number, crashAfter: number): number {
  return (
    kind |
    (node << KIND_BITS) |
    (choice << (KIND_BITS + NODE_BITS)) |
    (crashAfter << (KIND_BITS + NODE_BITS + CHOICE_BITS))
  )
}

export function unpackAction(action: number): Action {
  return {
    kind: (action & ((1 << KIND_BITS) - 1)) as ActionKind,
    node: (action >>> KIND_BITS) & ((1 << NODE_BITS) - 1),
    choice: (action >>> (KIND_BITS + NODE_BITS)) & ((1 << CHOICE_BITS) - 1),
    crashAfter: action >>> (KIND_BITS + NODE_BITS + CHOICE_BITS),
  }
}
