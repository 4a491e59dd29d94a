/**
 * Where nodes share registers and send no messages, all that a node may do by itself depends on its own state, its
 * register and the budget; and what a read may lead to, on the register that is read instead. Each such fan of successors
 * is worked out once, by the model's own rules, and kept as the few columns that change, with what they change in the
 * row's hash: the inner loop of the search then only copies rows. What the monitor makes of it is left to that loop.
 */
import { assert } from '../core/index.ts'
import type { Batch } from './batch.ts'
import { risen, sumOf } from './hash.ts'
import { PairTable } from './intern.ts'
import { Pool } from './pool.ts'

/** A fan in the pool: how many transitions, how many successors, and for each of those these fields. */
export const FAN = 2
export const FAN_SLOT = 0
/** -1: the own register stays as it is, whatever that is. */
export const FAN_CELL = 1
/** The number that the judge gave to the list of events. */
export const FAN_EVENTS = 2
export const FAN_ENVIRONMENT = 3
export const FAN_SUM = 4
export const FAN_DEED = 5
export const FAN_FIELDS = 6

/** Where columns stand in a row. */
export type Places = { readonly memoryAt: number; readonly environmentAt: number; readonly cellAt: number }

export class Fans {
  readonly pool = new Pool()
  readonly #places: Places
  /** By node: its slot under a budget. */
  readonly #stances: readonly PairTable[]
  readonly #stanceCounts: number[]
  /** By node and register. */
  readonly #fans: readonly (readonly PairTable[])[]
  readonly #scratch: Batch
  readonly #row: Int32Array

  constructor(nodes: number, columns: number, places: Places, scratch: Batch) {
    const all = Array.from({ length: nodes }, (_, node) => node)
    this.#places = places
    this.#stances = all.map(() => new PairTable())
    this.#stanceCounts = all.map(() => 0)
    this.#fans = all.map(() => all.map(() => new PairTable()))
    this.#scratch = scratch
    this.#row = new Int32Array(columns)
  }

  stance(node: number, slot: number, environment: number): number {
    const stances = this.#stances[node] as PairTable
    const known = stances.get(slot, environment)
    if (known >= 0) return known
    const next = this.#stanceCounts[node] as number
    stances.set(slot, environment, next)
    this.#stanceCounts[node] = next + 1
    return next
  }

  /** The place of a fan, or -1 while it has not been worked out: of reads of a register, or (its own) all the rest. */
  known(node: number, register: number, stance: number, cell: number): number {
    return ((this.#fans[node] as readonly PairTable[])[register] as PairTable).get(stance, cell)
  }

  /** Works a fan out; `expand` puts successors into a batch, with the number of their events instead of a memory. */
  make(
    node: number,
    register: number,
    stance: number,
    row: Int32Array,
    expand: (row: Int32Array, into: Batch) => void,
  ): number {
    const { memoryAt, environmentAt, cellAt } = this.#places
    const small = this.#row
    small.fill(0)
    for (const column of [node, environmentAt, cellAt + node, cellAt + register]) {
      small[column] = row[column] as number
    }
    const before = sumOf(small, 0, small.length)
    const scratch = this.#scratch
    scratch.clear()
    const taken = scratch.transitions
    expand(small, scratch)
    const fan: number[] = [scratch.transitions - taken, scratch.count]
    for (let each = 0; each < scratch.count; each++) {
      const at = each * small.length
      const value = (column: number): number => scratch.rows[at + column] as number
      const events = value(memoryAt)
      const isRead = register !== node
      assert(!isRead || value(cellAt + node) === small[cellAt + node], 'a read does not write')
      fan.push(value(node), isRead ? -1 : value(cellAt + node), events, value(environmentAt))
      const after = risen(sumOf(scratch.rows, at, small.length), memoryAt, -events)
      fan.push((after - before) | 0, scratch.packedDeed(each))
    }
    const place = this.pool.add(fan)
    const cell = row[cellAt + register] as number
    ;((this.#fans[node] as readonly PairTable[])[register] as PairTable).set(stance, cell, place)
    return place
  }
}
