/**
 * Where nodes share registers and send no messages, all that a node may do by itself depends on its own state, its
 * register and the budget; and what a read may lead to, on the register that is read instead. Each such fan of successors
 * is worked out once, by the model's own rules, and kept as the few columns that change, with what they change in the
 * row's hash: the inner loop of the search then only copies rows. What the monitor makes of it is left to that loop.
 */
import { assert } from '../../core/index.ts'
import { Batch, CRASHING, KEPT, RECOVERY, unpacked } from './batch.ts'
import { mixed, risen, sumOf } from './hash.ts'
import { hashPair, PairTable } from './intern.ts'
import { type Judge, NO_EVENTS } from './judge.ts'
import type { Places } from './parts.ts'
import { Pool } from './pool.ts'
import {
  ANY_WAY,
  BORN,
  crashesBeside,
  crashOf,
  EVENTS,
  eventsOf,
  FORGETS,
  moverOf,
  readOf,
  STEP,
  WRITES,
  WROTE,
  wayOf,
} from './sleep-sets.ts'

/** A fan in the pool: of which stance and register, that register's cell; how many transitions, how many successors. */
const FAN_OF = 0
const FAN_READ = 1
const FAN_TRANSITIONS = 2
const FAN_COUNT = 3
const FAN = 4
/** Then, for each of those, these fields. */
const FAN_SLOT = 0
/** -1: the own register stays as it is, whatever that is. */
const FAN_CELL = 1
/** The number that the judge gave to the list of events. */
const FAN_EVENTS = 2
const FAN_ENVIRONMENT = 3
const FAN_SUM = 4
const FAN_DEED = 5
/** See ways.ts: what is to be known of the step, and the way that it makes. */
const FAN_MARK = 6
const FAN_WAY = 7
const FAN_FIELDS = 8

/** A stance in the pool: its first number (one a register), the number of what is seen of a crash, how many registers it waits to read; which. */
const STANCE_CRASH = 1
const STANCE_READS = 2
const STANCE = 3

/** The model's own rules, by which a fan is worked out. */
export type FanRules = {
  /** The registers that a node waits to read. */
  readsOf(node: number, slot: number): readonly number[]
  /** The number of what is seen when it crashes; -1 for a node that is down. */
  crashEvents(node: number, slot: number): number
  /** Whether a crash after a step from the one slot to the other forgets all of the step. */
  isForgotten(node: number, before: number, after: number): boolean
  /** Whether a crash of the node spends nothing of the budget. */
  isFreeCrash(node: number, environment: number): boolean
  /** All that a node may do by itself, into a batch, with the number of its events instead of a memory. */
  ownMoves(row: Int32Array, into: Batch, node: number): void
  /** All that its read of a register may lead to. */
  reads(row: Int32Array, into: Batch, node: number, of: number): void
}

export class Fans {
  readonly #pool = new Pool()
  readonly #nodes: number
  readonly #places: Places
  readonly #rules: FanRules
  readonly #judge: Judge
  /** By node: its slot under a budget. */
  readonly #stances: readonly PairTable[]
  #stanceCount = 0
  /** Where fans stand in the pool, by a hash of what they are of; -1 where none does. Small, to stay near the processor. */
  #fans = new Int32Array(1 << 10).fill(-1)
  #fanCount = 0
  readonly #scratch: Batch
  readonly #row: Int32Array

  constructor(places: Places, rules: FanRules, judge: Judge) {
    this.#nodes = places.nodes
    this.#places = places
    this.#rules = rules
    this.#judge = judge
    this.#stances = Array.from({ length: places.nodes }, () => new PairTable())
    this.#scratch = new Batch(places.columns)
    this.#row = new Int32Array(places.columns)
  }

  /**
   * Puts into the batch what all nodes may do in this world, `sum` being that of its columns. It was come to in this way,
   * from one in which the monitor remembered `earlier`.
   */
  spread(row: Int32Array, sum: number, way: number, earlier: number, into: Batch): void {
    const nodes = this.#nodes
    const judge = this.#judge
    const { memoryAt, environmentAt, cellAt } = this.#places
    const { columns, parent, last } = into
    let { rows, hashes, parents, deeds, ways, next } = into
    let { data } = this.#pool
    let fans = this.#fans
    let at = next * columns
    let transitions = 0
    const mover = moverOf(nodes, way)
    const moverRead = readOf(nodes, way)
    const moverSeen = eventsOf(way)
    const known = moverSeen === NO_EVENTS && (way & BORN) === 0 ? way : this.#knownStill(row, way, earlier)
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
      const beside = crashesBeside(node, known)
      const number = data[stance] as number
      const reads = data[stance + STANCE_READS] as number
      for (let each = -1; each < reads; each++) {
        const register = each < 0 ? node : (data[stance + STANCE + each] as number)
        const cell = row[cellAt + register] as number
        const of = number + register
        let place = hashPair(of, cell) & (fans.length - 1)
        let fan = fans[place] as number
        while (fan >= 0 && (data[fan + FAN_OF] !== of || data[fan + FAN_READ] !== cell)) {
          place = (place + 1) & (fans.length - 1)
          fan = fans[place] as number
        }
        if (fan < 0) {
          row[node] = slotBefore
          row[cellColumn] = cellBefore
          row[environmentAt] = environmentBefore
          fan = this.#make(node, register, of, row)
          ;({ data } = this.#pool)
          fans = this.#fans
        }
        transitions += data[fan + FAN_TRANSITIONS] as number
        const count = data[fan + FAN_COUNT] as number
        if (next + count >= parents.length) {
          into.next = next
          into.grow(count)
          ;({ rows, hashes, parents, deeds, ways } = into)
        }
        // A step is left out unless it has one of these marks.
        let touches = 0
        if ((known & crashOf(node)) === 0) touches |= FORGETS
        if (node >= mover || (register === mover && (way & WROTE) !== 0)) touches |= STEP
        if (moverRead === node) touches |= WRITES
        const end = fan + FAN + count * FAN_FIELDS
        for (let from = fan + FAN; from < end; from += FAN_FIELDS) {
          const mark = data[from + FAN_MARK] as number
          const isKnown = (mark & touches) === 0
          if (isKnown && (moverSeen === NO_EVENTS || (mark & (EVENTS | FORGETS)) !== EVENTS)) continue
          let after = (sum + (data[from + FAN_SUM] as number)) | 0
          let memory = memoryBefore
          if ((mark & EVENTS) !== 0) {
            const events = data[from + FAN_EVENTS] as number
            memory = judge.nextAll(memoryBefore, events)
            if (isKnown && judge.nextBoth(earlier, events, moverSeen) === memory) continue
            if (memory < 0) {
              transitions -= 1
              into.found ??= {
                violation: judge.violation(memory),
                deed: unpacked(data[from + FAN_DEED] as number),
              }
              continue
            }
            after = risen(after, memoryAt, memory - memoryBefore)
          }
          // The successor is made in place of its parent, and copied only if it was not seen a short while ago.
          row[node] = data[from + FAN_SLOT] as number
          const cellAfter = data[from + FAN_CELL] as number
          row[cellColumn] = cellAfter < 0 ? cellBefore : cellAfter
          row[memoryAt] = memory
          row[environmentAt] = data[from + FAN_ENVIRONMENT] as number
          const hash = mixed(after)
          const recent = hash & (KEPT - 1)
          const kept = last[recent] as number
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
          const wayThere = data[from + FAN_WAY] as number
          ways[next] = wayThere === ANY_WAY ? ANY_WAY : wayThere | beside
          if (next < KEPT) last[recent] = next
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

  /** Of the crashes that would be known if the monitor had seen nothing of the last step, those that are. */
  #knownStill(row: Int32Array, way: number, earlier: number): number {
    const judge = this.#judge
    const { memoryAt, environmentAt } = this.#places
    const memory = row[memoryAt] as number
    const mover = moverOf(this.#nodes, way)
    let known = way
    for (let node = 0; node < this.#nodes; node++) {
      if ((way & crashOf(node)) === 0) continue
      let stance = (this.#stances[node] as PairTable).get(row[node] as number, row[environmentAt] as number)
      if (stance < 0) stance = this.#stand(node, row[node] as number, row[environmentAt] as number)
      const crash = this.#pool.data[stance + STANCE_CRASH] as number
      if (crash < 0) continue
      let otherwise = earlier
      if (node !== mover) otherwise = judge.nextBoth(earlier, crash, eventsOf(way))
      else if ((way & BORN) === 0) otherwise = judge.nextAll(earlier, crash)
      if (judge.nextAll(memory, crash) !== otherwise) known &= ~crashOf(node)
    }
    return known
  }

  #stand(node: number, slot: number, environment: number): number {
    const count = this.#stanceCount
    this.#stanceCount += this.#nodes
    const reads = this.#rules.readsOf(node, slot)
    const place = this.#pool.add([count, this.#rules.crashEvents(node, slot), reads.length, ...reads])
    ;(this.#stances[node] as PairTable).set(slot, environment, place)
    return place
  }

  #make(node: number, register: number, of: number, row: Int32Array): number {
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
    const cell = row[cellAt + register] as number
    const fan: number[] = [of, cell, scratch.transitions - taken, scratch.count]
    for (let each = 0; each < scratch.count; each++) {
      const at = each * small.length
      const value = (column: number): number => scratch.rows[at + column] as number
      const events = value(memoryAt)
      const writes = value(cellAt + node) !== small[cellAt + node]
      assert(!isRead || !writes, 'a read does not write')
      fan.push(value(node), isRead ? -1 : value(cellAt + node), events, value(environmentAt))
      const after = risen(sumOf(scratch.rows, at, small.length), memoryAt, -events)
      const { what } = scratch.deed(each)
      let mark = what === CRASHING && !writes ? FORGETS : STEP
      if (events !== NO_EVENTS) mark |= EVENTS
      if (writes) mark |= WRITES
      let flags = (writes ? WROTE : 0) | (what === RECOVERY ? BORN : 0)
      const environment = value(environmentAt)
      // A crash before and one after spend the same; but one after a recovery is one more.
      const leavesNoTrace =
        !writes &&
        environment === small[environmentAt] &&
        (what !== RECOVERY || this.#rules.isFreeCrash(node, environment))
      if (leavesNoTrace && this.#rules.isForgotten(node, small[node] as number, value(node))) {
        flags |= crashOf(node)
      }
      const way = wayOf(this.#nodes, node, register, events, flags)
      fan.push((after - before) | 0, scratch.packedDeed(each), mark, way)
    }
    const place = this.#pool.add(fan)
    this.#enter(place, of, cell)
    return place
  }

  #enter(fan: number, of: number, cell: number): void {
    if (this.#fanCount * 2 >= this.#fans.length) this.#widen()
    this.#fanCount += 1
    const fans = this.#fans
    let place = hashPair(of, cell) & (fans.length - 1)
    while ((fans[place] as number) >= 0) place = (place + 1) & (fans.length - 1)
    fans[place] = fan
  }

  #widen(): void {
    const old = this.#fans
    this.#fans = new Int32Array(old.length * 2).fill(-1)
    this.#fanCount = 0
    const { data } = this.#pool
    for (const fan of old) {
      if (fan >= 0) this.#enter(fan, data[fan + FAN_OF] as number, data[fan + FAN_READ] as number)
    }
  }
}
