/**
 * Expansion cache: the successors that a node's own steps produce, computed once and replayed from then on.
 *
 * Applies where nodes share registers and send no messages. A node's own steps then depend only on its state,
 * its register and the budget; a read depends on the register that is read instead. An expansion stores the
 * columns that change and the change of the row's hash, so the inner loop of the search only copies rows. The
 * monitor's step is left to that loop, because it depends on the monitor's memory.
 */
import { assert } from '../../core/index.ts'
import { Batch, CRASHING, RECENT, RECOVERY, unpackAction } from './batch.ts'
import { adjustSum, mixBits, sumOf } from './hash.ts'
import { hashPair, PairTable } from './intern.ts'
import { type Judge, NO_EVENTS } from './judge.ts'
import type { RowLayout } from './parts.ts'
import { Pool } from './pool.ts'
import {
  crashBit,
  EVENTS,
  eventsOf,
  FORGETS,
  makeSleepSet,
  moverOf,
  NO_SLEEP_SET,
  RECOVERED,
  registerOf,
  STEP,
  sleepingCrashes,
  WRITES,
  WROTE,
} from './sleep-sets.ts'

/**
 * An expansion in the pool: the node entry and register it belongs to, that register's cell, the number of
 * transitions and the number of successors.
 */
const EXPANSION_OF = 0
const EXPANSION_READ = 1
const EXPANSION_TRANSITIONS = 2
const EXPANSION_COUNT = 3
const EXPANSION = 4
/** Then these fields for each successor. */
const EXPANSION_SLOT = 0
/**
 * -1 if the own register does not change.
 */
const EXPANSION_CELL = 1
/** The judge's integer for the list of observations. */
const EXPANSION_EVENTS = 2
const EXPANSION_ENVIRONMENT = 3
const EXPANSION_SUM = 4
const EXPANSION_DEED = 5
/** See sleep-sets.ts: the marks of the step, and the sleep set of the state that it leads to. */
const EXPANSION_MARK = 6
const EXPANSION_WAY = 7
const EXPANSION_FIELDS = 8

/**
 * A node entry in the pool: its first key (one per register), the observations of a crash, the number of
 * registers that it waits to read, and which.
 */
const NODE_CRASH = 1
const NODE_READS = 2
const NODE_ENTRY = 3

/** The model's rules, from which expansions are computed. */
export type ExpansionRules = {
  /** The registers that a node waits to read. */
  readsOf(node: number, slot: number): readonly number[]
  /** The judge's integer for the observations of a crash; -1 for a node that is down. */
  crashEvents(node: number, slot: number): number
  /** Whether a crash after a step between these slots has the same effect as a crash before it. */
  isForgotten(node: number, before: number, after: number): boolean
  /** Whether a crash of the node costs nothing of the budget. */
  isFreeCrash(node: number, environment: number): boolean
  /**
   * Adds all steps that a node can take by itself. The memory column of each row holds the integer of its
   * observations.
   */
  ownMoves(row: Int32Array, into: Batch, node: number): void
  /** Adds all outcomes of a node's read of one register. */
  reads(row: Int32Array, into: Batch, node: number, of: number): void
}

export class ExpansionCache {
  readonly #pool = new Pool()
  readonly #nodes: number
  readonly #layout: RowLayout
  readonly #rules: ExpansionRules
  readonly #judge: Judge
  /** By node: (slot, environment) to its entry. */
  readonly #nodeEntries: readonly PairTable[]
  #entryCount = 0
  /**
   * Open-addressing hash table of offsets in the pool; -1 marks a free place. Starts small to stay in the CPU
   * cache.
   */
  #expansions = new Int32Array(1 << 10).fill(-1)
  #expansionCount = 0
  readonly #scratch: Batch
  readonly #row: Int32Array
  /** Of the state that is being expanded: its weighted sum, and the monitor's memory in it and in its parent. */
  #sum = 0
  #memoryBefore = 0
  #earlier = 0
  /** The observations of the step that led to it, and the crashes that sleep after a step of the current node. */
  #moverSeen: number = NO_EVENTS
  #beside = 0

  constructor(layout: RowLayout, rules: ExpansionRules, judge: Judge) {
    this.#nodes = layout.nodes
    this.#layout = layout
    this.#rules = rules
    this.#judge = judge
    this.#nodeEntries = Array.from({ length: layout.nodes }, () => new PairTable())
    this.#scratch = new Batch(layout.columns)
    this.#row = new Int32Array(layout.columns)
  }

  /**
   * Adds the steps of all nodes in this state. `sum` is the weighted sum of the row; `sleepSet` is the
   * state's sleep set; `earlier` is the monitor's memory in the parent state.
   */
  expand(row: Int32Array, sum: number, sleepSet: number, earlier: number, into: Batch): void {
    const nodes = this.#nodes
    const { memoryAt, environmentAt, cellAt } = this.#layout
    const mover = moverOf(nodes, sleepSet)
    const moverRead = registerOf(nodes, sleepSet)
    const moverSeen = eventsOf(sleepSet)
    const known =
      moverSeen === NO_EVENTS && (sleepSet & RECOVERED) === 0
        ? sleepSet
        : this.#knownCrashes(row, sleepSet, earlier)
    const memoryBefore = row[memoryAt] as number
    const environmentBefore = row[environmentAt] as number
    this.#sum = sum
    this.#earlier = earlier
    this.#moverSeen = moverSeen
    this.#memoryBefore = memoryBefore
    for (let node = 0; node < nodes; node++) {
      const slotBefore = row[node] as number
      const cellColumn = cellAt + node
      const cellBefore = row[cellColumn] as number
      let entry = (this.#nodeEntries[node] as PairTable).get(slotBefore, environmentBefore)
      if (entry < 0) entry = this.#addEntry(node, slotBefore, environmentBefore)
      this.#beside = sleepingCrashes(node, known)
      const number = this.#pool.data[entry] as number
      const reads = this.#pool.data[entry + NODE_READS] as number
      for (let each = -1; each < reads; each++) {
        const register = each < 0 ? node : (this.#pool.data[entry + NODE_ENTRY + each] as number)
        const of = number + register
        let expansion = this.#find(of, row[cellAt + register] as number)
        if (expansion < 0) {
          row[node] = slotBefore
          row[cellColumn] = cellBefore
          row[environmentAt] = environmentBefore
          expansion = this.#compute(node, register, of, row)
        }
        // A step without any of these marks is in the sleep set.
        let touches = 0
        if ((known & crashBit(node)) === 0) touches |= FORGETS
        if (node >= mover || (register === mover && (sleepSet & WROTE) !== 0)) touches |= STEP
        if (moverRead === node) touches |= WRITES
        this.#replay(expansion, row, into, node, cellBefore, touches)
      }
      row[node] = slotBefore
      row[cellColumn] = cellBefore
      row[memoryAt] = memoryBefore
      row[environmentAt] = environmentBefore
    }
  }

  /** The place of an expansion in the pool; -1 if it has not been computed yet. */
  #find(of: number, cell: number): number {
    const { data } = this.#pool
    const expansions = this.#expansions
    let place = hashPair(of, cell) & (expansions.length - 1)
    let expansion = expansions[place] as number
    while (
      expansion >= 0 &&
      (data[expansion + EXPANSION_OF] !== of || data[expansion + EXPANSION_READ] !== cell)
    ) {
      place = (place + 1) & (expansions.length - 1)
      expansion = expansions[place] as number
    }
    return expansion
  }

  /**
   * Adds the successors of one expansion. `cellBefore` is the node's register in the expanded state; `touches` are the
   * marks that keep a step out of the sleep set. Leaves the row changed: the caller restores it.
   */
  #replay(
    expansion: number,
    row: Int32Array,
    into: Batch,
    node: number,
    cellBefore: number,
    touches: number,
  ): void {
    const judge = this.#judge
    const { data } = this.#pool
    const { memoryAt, environmentAt, cellAt } = this.#layout
    const count = data[expansion + EXPANSION_COUNT] as number
    if (into.next + count >= into.parents.length) into.grow(count)
    const { columns, parent, last, rows, hashes, parents, actions, sleepSets } = into
    const sum = this.#sum
    const moverSeen = this.#moverSeen
    const memoryBefore = this.#memoryBefore
    const beside = this.#beside
    let { next } = into
    let at = next * columns
    into.transitions += data[expansion + EXPANSION_TRANSITIONS] as number
    const end = expansion + EXPANSION + count * EXPANSION_FIELDS
    for (let from = expansion + EXPANSION; from < end; from += EXPANSION_FIELDS) {
      const mark = data[from + EXPANSION_MARK] as number
      const isKnown = (mark & touches) === 0
      if (isKnown && (moverSeen === NO_EVENTS || (mark & (EVENTS | FORGETS)) !== EVENTS)) continue
      let after = (sum + (data[from + EXPANSION_SUM] as number)) | 0
      let memory = memoryBefore
      if ((mark & EVENTS) !== 0) {
        const events = data[from + EXPANSION_EVENTS] as number
        memory = judge.nextAll(memoryBefore, events)
        if (isKnown && judge.nextBoth(this.#earlier, events, moverSeen) === memory) continue
        if (memory < 0) {
          this.#addViolation(into, memory, data[from + EXPANSION_DEED] as number)
          continue
        }
        after = adjustSum(after, memoryAt, memory - memoryBefore)
      }
      // Builds the successor in place of its parent; copies it only if it is not among the recent rows.
      row[node] = data[from + EXPANSION_SLOT] as number
      const cellAfter = data[from + EXPANSION_CELL] as number
      row[cellAt + node] = cellAfter < 0 ? cellBefore : cellAfter
      row[memoryAt] = memory
      row[environmentAt] = data[from + EXPANSION_ENVIRONMENT] as number
      const hash = mixBits(after)
      const recent = hash & (RECENT - 1)
      const kept = last[recent] as number
      if (kept >= 0 && hashes[kept] === hash && isRowAt(rows, kept * columns, row)) continue
      for (let column = 0; column < columns; column++) rows[at + column] = row[column] as number
      hashes[next] = hash
      parents[next] = parent
      actions[next] = data[from + EXPANSION_DEED] as number
      const nextSleepSet = data[from + EXPANSION_WAY] as number
      sleepSets[next] = nextSleepSet === NO_SLEEP_SET ? NO_SLEEP_SET : nextSleepSet | beside
      if (next < RECENT) last[recent] = next
      next += 1
      at += columns
    }
    into.next = next
  }

  /** A step that violates a specification leads to no state. */
  #addViolation(into: Batch, memory: number, action: number): void {
    into.transitions -= 1
    into.found ??= { violation: this.#judge.violation(memory), action: unpackAction(action) }
  }

  /** Keeps a crash in the sleep set only if the monitor ends in the same memory on both paths. */
  #knownCrashes(row: Int32Array, sleepSet: number, earlier: number): number {
    const judge = this.#judge
    const { memoryAt, environmentAt } = this.#layout
    const memory = row[memoryAt] as number
    const mover = moverOf(this.#nodes, sleepSet)
    let known = sleepSet
    for (let node = 0; node < this.#nodes; node++) {
      if ((sleepSet & crashBit(node)) === 0) continue
      let entry = (this.#nodeEntries[node] as PairTable).get(
        row[node] as number,
        row[environmentAt] as number,
      )
      if (entry < 0) entry = this.#addEntry(node, row[node] as number, row[environmentAt] as number)
      const crash = this.#pool.data[entry + NODE_CRASH] as number
      if (crash < 0) continue
      let otherwise = earlier
      if (node !== mover) otherwise = judge.nextBoth(earlier, crash, eventsOf(sleepSet))
      else if ((sleepSet & RECOVERED) === 0) otherwise = judge.nextAll(earlier, crash)
      if (judge.nextAll(memory, crash) !== otherwise) known &= ~crashBit(node)
    }
    return known
  }

  #addEntry(node: number, slot: number, environment: number): number {
    const count = this.#entryCount
    this.#entryCount += this.#nodes
    const reads = this.#rules.readsOf(node, slot)
    const place = this.#pool.add([count, this.#rules.crashEvents(node, slot), reads.length, ...reads])
    ;(this.#nodeEntries[node] as PairTable).set(slot, environment, place)
    return place
  }

  #compute(node: number, register: number, of: number, row: Int32Array): number {
    const { memoryAt, environmentAt, cellAt } = this.#layout
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
    const expansion: number[] = [of, cell, scratch.transitions - taken, scratch.count]
    for (let each = 0; each < scratch.count; each++) {
      const at = each * small.length
      const value = (column: number): number => scratch.rows[at + column] as number
      const events = value(memoryAt)
      const writes = value(cellAt + node) !== small[cellAt + node]
      assert(!isRead || !writes, 'a read does not write')
      expansion.push(value(node), isRead ? -1 : value(cellAt + node), events, value(environmentAt))
      const after = adjustSum(sumOf(scratch.rows, at, small.length), memoryAt, -events)
      const { kind } = scratch.action(each)
      let mark = kind === CRASHING && !writes ? FORGETS : STEP
      if (events !== NO_EVENTS) mark |= EVENTS
      if (writes) mark |= WRITES
      let flags = (writes ? WROTE : 0) | (kind === RECOVERY ? RECOVERED : 0)
      const environment = value(environmentAt)
      // A crash before and a crash after the step cost the same, but a crash after a recovery costs one more.
      const leavesNoTrace =
        !writes &&
        environment === small[environmentAt] &&
        (kind !== RECOVERY || this.#rules.isFreeCrash(node, environment))
      if (leavesNoTrace && this.#rules.isForgotten(node, small[node] as number, value(node))) {
        flags |= crashBit(node)
      }
      const sleepSet = makeSleepSet(this.#nodes, node, register, events, flags)
      expansion.push((after - before) | 0, scratch.packedAction(each), mark, sleepSet)
    }
    const place = this.#pool.add(expansion)
    this.#insert(place, of, cell)
    return place
  }

  #insert(expansion: number, of: number, cell: number): void {
    if (this.#expansionCount * 2 >= this.#expansions.length) this.#grow()
    this.#expansionCount += 1
    const expansions = this.#expansions
    let place = hashPair(of, cell) & (expansions.length - 1)
    while ((expansions[place] as number) >= 0) place = (place + 1) & (expansions.length - 1)
    expansions[place] = expansion
  }

  #grow(): void {
    const old = this.#expansions
    this.#expansions = new Int32Array(old.length * 2).fill(-1)
    this.#expansionCount = 0
    const { data } = this.#pool
    for (const expansion of old) {
      if (expansion >= 0)
        this.#insert(
          expansion,
          data[expansion + EXPANSION_OF] as number,
          data[expansion + EXPANSION_READ] as number,
        )
    }
  }
}

/** Whether the row at this offset is the given one. */
function isRowAt(rows: Int32Array, offset: number, row: Int32Array): boolean {
  for (let column = 0; column < row.length; column++) {
    if (rows[offset + column] !== row[column]) return false
  }
  return true
}
