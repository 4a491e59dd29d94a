/** What may happen next that is no node's own: links that change, registers that go, time that passes. */
import { GONE } from '../untimed/index.ts'
import { type Batch, BURY, DELETE, EXAMINE, FLIP, FOLLOW, TICK, type What } from './batch.ts'
import type { Environments, Flip, Move, Outlook } from './environments.ts'
import { risen, sumOf } from './hash.ts'
import type { Inboxes } from './inboxes.ts'
import type { Judge } from './judge.ts'
import type { Parts } from './parts.ts'
import { EVENTS, NEXT, type Reactions } from './reactions.ts'
import type { Registers } from './registers.ts'
import type { Standing } from './state-checks.ts'
import { type Turns, UNCHANGED } from './successors.ts'

export class Surroundings {
  readonly #turns: Turns
  readonly #standing: Standing
  readonly #count: number
  readonly #columns: number
  readonly #memoryAt: number
  readonly #environmentAt: number
  readonly #inboxAt: number
  readonly #cellAt: number
  readonly #endsMoveTogether: boolean
  readonly #canBeDeleted: boolean
  readonly #canBeBuried: boolean
  readonly #judge: Judge
  readonly #inboxes: Inboxes
  readonly #registers: Registers
  readonly #reactions: Reactions
  readonly #environments: Environments
  /** A world between the two turns of a link whose ends move together. */
  readonly #between: Int32Array

  constructor(parts: Parts, standing: Standing, turns: Turns) {
    const { places, rules, settings } = parts
    this.#turns = turns
    this.#standing = standing
    this.#count = places.nodes
    this.#columns = places.columns
    this.#memoryAt = places.memoryAt
    this.#environmentAt = places.environmentAt
    this.#inboxAt = places.inboxAt
    this.#cellAt = places.cellAt
    this.#endsMoveTogether = settings.history.slack === 0
    this.#canBeDeleted = rules.deletes
    this.#canBeBuried = rules.burials
    this.#judge = parts.judge
    this.#inboxes = parts.inboxes
    this.#registers = parts.registers
    this.#reactions = parts.reactions
    this.#environments = parts.environments
    this.#between = new Int32Array(places.columns)
  }

  /** Puts all of it into the batch. */
  spread(row: Int32Array, into: Batch, outlook: Outlook): void {
    if (this.#canBeBuried) this.#burials(row, into)
    if (this.#canBeDeleted) this.#deletions(row, into)
    const { moves, flips, ticked } = outlook
    for (let each = 0; each < moves.length; each++) this.#move(row, into, moves[each] as Move, each)
    for (let each = 0; each < flips.length; each++) {
      const { next } = flips[each] as Flip
      this.#turns.change(row, into, this.#environmentAt, next, FLIP, 0, each)
    }
    if (ticked >= 0) this.#tick(row, into, ticked)
  }

  /** An end of a link moves, and its node is told; where both ends move in one step, the other's node is, too. */
  #move(row: Int32Array, into: Batch, { at, peer, up, next, owed }: Move, choice: number): void {
    if (!this.#standing.isUp(row, at) || (up && !owed && !this.#standing.isUp(row, peer))) return
    const outlook = this.#environments.outlook(next)
    const rest = this.#inboxes.afterMove(row[this.#inboxAt + at] as number, peer)
    const what = owed ? FOLLOW : FLIP
    const reaction = this.#reactions.link(at, row[at] as number, peer, up)
    if (!this.#endsMoveTogether || !this.#standing.isUp(row, peer)) {
      this.#turns.react(row, into, outlook, reaction, what, at, choice, rest, UNCHANGED, next)
      return
    }
    const between = this.#between
    between.set(row)
    between[this.#inboxAt + peer] = this.#inboxes.afterMove(row[this.#inboxAt + peer] as number, at)
    const memory = this.#turns.perform(
      row,
      between,
      0,
      outlook.ahead,
      reaction,
      next,
      at,
      rest,
      UNCHANGED,
      false,
    )
    if (memory < 0) {
      into.violated(this.#judge.violation(memory), what, at, choice, 0)
      return
    }
    const other = this.#reactions.link(peer, between[peer] as number, at, up)
    const sum = this.#turns.sum
    this.#turns.sum = sumOf(between, 0, this.#columns)
    this.#turns.apply(between, into, outlook.ahead, other, -1, what, at, choice, -1, UNCHANGED, peer)
    this.#turns.sum = sum
  }

  /** Registers that are read in order to remove their owners, and the tombstones that follow. */
  #burials(row: Int32Array, into: Batch): void {
    for (let node = 0; node < this.#count; node++) {
      const column = this.#cellAt + node
      const cell = row[column] as number
      const examined = this.#registers.examined(cell)
      if (examined !== cell) this.#turns.change(row, into, column, examined, EXAMINE, node, 0)
      const buried = this.#registers.buried(cell)
      for (let nth = 0; nth < buried.length; nth++) {
        this.#takeAway(row, into, node, buried[nth] as number, BURY, nth)
      }
    }
  }

  /** Registers that go for good. */
  #deletions(row: Int32Array, into: Batch): void {
    for (let node = 0; node < this.#count; node++) this.#delete(row, into, node)
  }

  #delete(row: Int32Array, into: Batch, node: number): void {
    const isBuried = this.#registers.cell(row[this.#cellAt + node] as number).is === 'buried'
    if (!isBuried && this.#standing.isUp(row, node)) return
    const cells = row.subarray(this.#cellAt, this.#cellAt + this.#count)
    if (!this.#registers.isDeletable(cells, node)) return
    this.#takeAway(row, into, node, this.#registers.idOf(GONE), DELETE, 0)
  }

  /** A register changes for good; nodes whose own was taken from them may learn so by it, and stop (still.ts). */
  #takeAway(row: Int32Array, into: Batch, node: number, cell: number, what: What, choice: number): void {
    const column = this.#cellAt + node
    if (!this.#canBeBuried) {
      this.#turns.change(row, into, column, cell, what, node, choice)
      return
    }
    const { rows } = into
    const at = into.begin(row)
    let sum = risen(this.#turns.sum, column, cell - (row[column] as number))
    rows[at + column] = cell
    let memory = row[this.#memoryAt] as number
    for (let other = 0; other < this.#count; other++) {
      if (!this.#standing.isUp(row, other) || !this.#isSuperseded(rows, at, other)) continue
      const slot = row[other] as number
      const crash = this.#reactions.crash(other, slot)
      const { data } = this.#reactions.pool
      const next = data[crash + NEXT] as number
      sum = risen(sum, other, next - slot)
      rows[at + other] = next
      memory = this.#judge.nextAll(memory, data[crash + EVENTS] as number)
      if (memory < 0) {
        into.violated(this.#judge.violation(memory), what, node, choice, 0)
        return
      }
    }
    sum = risen(sum, this.#memoryAt, memory - (row[this.#memoryAt] as number))
    rows[at + this.#memoryAt] = memory
    into.took(sum, what, node, choice, 0)
  }

  #isSuperseded(rows: Int32Array, at: number, node: number): boolean {
    const first = at + this.#cellAt
    if (!this.#registers.isClosed(rows[first + node] as number)) return false
    return this.#reactions
      .readsOf(node, rows[at + node] as number)
      .some((of) => this.#registers.cell(rows[first + of] as number).is === 'gone')
  }

  /** Time passes for all nodes that are up; what is seen of it is judged in their order. */
  #tick(row: Int32Array, into: Batch, environment: number): void {
    const n = this.#count
    const { rows } = into
    const at = into.begin(row)
    let sum = risen(this.#turns.sum, this.#environmentAt, environment - (row[this.#environmentAt] as number))
    rows[at + this.#environmentAt] = environment
    let memory = row[this.#memoryAt] as number
    for (let node = 0; node < n; node++) {
      if (!this.#standing.isUp(row, node)) continue
      const reaction = this.#reactions.tick(node, row[node] as number)
      const { data } = this.#reactions.pool
      const next = data[reaction + NEXT] as number
      sum = risen(sum, node, next - (row[node] as number))
      rows[at + node] = next
      memory = this.#judge.nextAll(memory, data[reaction + EVENTS] as number)
      if (memory < 0) {
        into.violated(this.#judge.violation(memory), TICK, 0, 0, 0)
        return
      }
    }
    sum = risen(sum, this.#memoryAt, memory - (row[this.#memoryAt] as number))
    rows[at + this.#memoryAt] = memory
    into.took(sum, TICK, 0, 0, 0)
  }
}
