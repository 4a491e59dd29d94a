/**
 * Where nodes share registers and send no messages, all that a node may do by itself depends on its own state, its
 * register and the budget; and what a read may lead to, on the register that is read instead. Each such fan of successors
 * is worked out once, by the model's own rules, and kept as the few columns that change, with what they change in the
 * row's hash: the inner loop of the search then only copies rows. What the monitor makes of it is left to that loop.
 */
import { assert } from '../core/index.ts'
import { Batch, CRASHING, KEPT, unpacked } from './batch.ts'
import { mixed, risen, sumOf } from './hash.ts'
import { PairTable } from './intern.ts'
import { type Judge, NO_EVENTS } from './judge.ts'
import { Pool } from './pool.ts'
import {
  ANY_WAY,
  CHANGED,
  crashesBeside,
  crashOf,
  EVENTS,
  FORGETS,
  FORGOTTEN,
  lastStep,
  moverOf,
  readOf,
  SEEN,
  SPENDS,
  STEP,
  WRITES,
  WROTE,
} from './ways.ts'

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
/** See ways.ts: what is to be known of the step, and the way that it makes. */
export const FAN_MARK = 6
export const FAN_WAY = 7
export const FAN_FIELDS = 8

/** A stance in the pool: its number, how many registers the node waits to read, and which. */
const STANCE = 2

/** Where columns stand in a row. */
export type Places = { readonly memoryAt: number; readonly environmentAt: number; readonly cellAt: number }

/** The model's own rules, by which a fan is worked out. */
export type FanRules = {
  /** The registers that a node waits to read. */
  readsOf(node: number, slot: number): readonly number[]
  /** Whether a crash leads to the same, be the node in the one slot or the other. */
  isForgotten(node: number, before: number, after: number): boolean
  /** All that a node may do by itself, into a batch, with the number of its events instead of a memory. */
  ownMoves(row: Int32Array, into: Batch, node: number): void
  /** All that its read of a register may lead to. */
  reads(row: Int32Array, into: Batch, node: number, of: number): void
}

/** The whole way to a successor, when it is known whether the monitor's memory has changed. */
function known(way: number, mark: number, node: number, beside: number): number {
  if (way === ANY_WAY || (mark & SPENDS) !== 0) return ANY_WAY
  if ((way & CHANGED) !== 0) return way
  return way | beside | ((mark & FORGOTTEN) === 0 ? 0 : crashOf(node))
}

export class Fans {
  readonly #pool = new Pool()
  readonly #nodes: number
  readonly #places: Places
  readonly #rules: FanRules
  readonly #judge: Judge
  /** By node: its slot under a budget. */
  readonly #stances: readonly PairTable[]
  readonly #stanceCounts: number[]
  /** By node and register: what a read of it leads to, and (the own) what the node may do by itself. */
  readonly #fans: readonly PairTable[]
  readonly #scratch: Batch
  readonly #row: Int32Array

  constructor(nodes: number, columns: number, places: Places, rules: FanRules, judge: Judge) {
    this.#nodes = nodes
    this.#places = places
    this.#rules = rules
    this.#judge = judge
    this.#stances = Array.from({ length: nodes }, () => new PairTable())
    this.#stanceCounts = Array.from({ length: nodes }, () => 0)
    this.#fans = Array.from({ length: nodes * nodes }, () => new PairTable())
    this.#scratch = new Batch(columns)
    this.#row = new Int32Array(columns)
  }

  /** Puts into the batch what all nodes may do in this world, `sum` being that of its columns, come to in this way. */
  spread(row: Int32Array, sum: number, way: number, into: Batch): void {
    const nodes = this.#nodes
    const judge = this.#judge
    const { memoryAt, environmentAt, cellAt } = this.#places
    const { columns, parent, last } = into
    let { rows, hashes, parents, deeds, ways, next } = into
    let { data } = this.#pool
    let at = next * columns
    let transitions = 0
    const mover = moverOf(nodes, way)
    const moverRead = readOf(nodes, way)
    const touchesEvents = (way & CHANGED) === 0 ? 0 : EVENTS
    const memoryBefore = row[memoryAt] as number
    const environmentBefore = row[environmentAt] as number
    for (let node = 0; node < nodes; node++) {
      const slotBefore = row[node] as number
      const cellColumn = cellAt + node
      const cellBefore = row[cellColumn] as number
      let stance = (this.#stances[node] as PairTable).get(slotBefore, environmentBefore)
      if (stance < 0) {
        stance = this.#stand(node, slotBefore, environmentBefore)
        ;({ data } = this.#pool)
      }
      const beside = crashesBeside(node, way) | (way & SEEN)
      const steps = node < mover ? 0 : STEP
      const crashes = (way & crashOf(node)) === 0 ? FORGETS : 0
      const number = data[stance] as number
      const reads = data[stance + 1] as number
      for (let each = -1; each < reads; each++) {
        const register = each < 0 ? node : (data[stance + STANCE + each] as number)
        const cell = row[cellAt + register] as number
        let fan = (this.#fans[node * nodes + register] as PairTable).get(number, cell)
        if (fan < 0) {
          row[node] = slotBefore
          row[cellColumn] = cellBefore
          row[environmentAt] = environmentBefore
          fan = this.#make(node, register, number, row)
          ;({ data } = this.#pool)
        }
        transitions += data[fan] as number
        const count = data[fan + 1] as number
        if (next + count >= parents.length) {
          into.next = next
          into.grow(count)
          ;({ rows, hashes, parents, deeds, ways } = into)
        }
        // A step is left out unless it has one of these marks.
        let touches = SPENDS | touchesEvents | crashes | steps
        if (moverRead === node) touches |= WRITES
        if (register === mover && (way & WROTE) !== 0) touches |= STEP
        const end = fan + FAN + count * FAN_FIELDS
        for (let from = fan + FAN; from < end; from += FAN_FIELDS) {
          const mark = data[from + FAN_MARK] as number
          const isKnown = (mark & touches) === 0
          if (isKnown && ((mark & EVENTS) === 0 || (way & SEEN) === 0)) continue
          let after = (sum + (data[from + FAN_SUM] as number)) | 0
          let memory = memoryBefore
          let wayThere = data[from + FAN_WAY] as number
          if ((mark & EVENTS) !== 0) {
            memory = judge.nextAll(memoryBefore, data[from + FAN_EVENTS] as number)
            if (memory === memoryBefore) {
              if (isKnown) continue
              wayThere |= SEEN
            } else if (memory < 0) {
              transitions -= 1
              into.found ??= { violation: judge.violation(memory), deed: unpacked(data[from + FAN_DEED] as number) }
              continue
            } else {
              wayThere |= CHANGED
              after = risen(after, memoryAt, memory - memoryBefore)
            }
          }
          // The successor is made in place of its parent, and copied only if it was not seen a short while ago.
          row[node] = data[from + FAN_SLOT] as number
          const cellAfter = data[from + FAN_CELL] as number
          row[cellColumn] = cellAfter < 0 ? cellBefore : cellAfter
          row[memoryAt] = memory
          row[environmentAt] = data[from + FAN_ENVIRONMENT] as number
          const hash = mixed(after)
          const place = hash & (KEPT - 1)
          const kept = last[place] as number
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
          deeds[next] = data[from + FAN_DEED] as number
          ways[next] = known(wayThere, mark, node, beside)
          if (next < KEPT) last[place] = next
          next += 1
          at += columns
        }
      }
      row[node] = slotBefore
      row[cellColumn] = cellBefore
      row[memoryAt] = memoryBefore
      row[environmentAt] = environmentBefore
    }
    into.next = next
    into.transitions += transitions
  }

  #stand(node: number, slot: number, environment: number): number {
    const count = this.#stanceCounts[node] as number
    this.#stanceCounts[node] = count + 1
    const reads = this.#rules.readsOf(node, slot)
    const place = this.#pool.add([count, reads.length, ...reads])
    ;(this.#stances[node] as PairTable).set(slot, environment, place)
    return place
  }

  #make(node: number, register: number, stance: number, row: Int32Array): number {
    const { memoryAt, environmentAt, cellAt } = this.#places
    const isRead = register !== node
    const small = this.#row
    small.fill(0)
    for (const column of [node, environmentAt, cellAt + node, cellAt + register]) {
      small[column] = row[column] as number
    }
    const before = sumOf(small, 0, small.length)
    const scratch = this.#scratch
    scratch.clear()
    const taken = scratch.transitions
    if (isRead) this.#rules.reads(small, scratch, node, register)
    else this.#rules.ownMoves(small, scratch, node)
    const fan: number[] = [scratch.transitions - taken, scratch.count]
    for (let each = 0; each < scratch.count; each++) {
      const at = each * small.length
      const value = (column: number): number => scratch.rows[at + column] as number
      const events = value(memoryAt)
      const writes = value(cellAt + node) !== small[cellAt + node]
      const spends = value(environmentAt) !== small[environmentAt]
      assert(!isRead || !writes, 'a read does not write')
      fan.push(value(node), isRead ? -1 : value(cellAt + node), events, value(environmentAt))
      const after = risen(sumOf(scratch.rows, at, small.length), memoryAt, -events)
      let mark = scratch.deed(each).what === CRASHING && !writes ? FORGETS : STEP
      if (events !== NO_EVENTS) mark |= EVENTS
      if (writes) mark |= WRITES
      else if (this.#rules.isForgotten(node, small[node] as number, value(node))) mark |= FORGOTTEN
      if (spends) mark |= SPENDS
      const way = lastStep(this.#nodes, node, register) | (writes ? WROTE : 0)
      fan.push((after - before) | 0, scratch.packedDeed(each), mark, way)
    }
    const place = this.#pool.add(fan)
    const table = this.#fans[node * this.#nodes + register] as PairTable
    table.set(stance, row[cellAt + register] as number, place)
    return place
  }
}
