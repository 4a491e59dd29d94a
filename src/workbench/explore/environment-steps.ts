/** The transitions that belong to no node: links that change, registers that disappear, time that passes. */
import { GONE } from '../untimed/index.ts'
import { type ActionKind, type Batch, BURY, DELETE, EXAMINE, FLIP, FOLLOW, TICK } from './batch.ts'
import type { Environments, Flip, Move, Outlook } from './environments.ts'
import { adjustSum, sumOf } from './hash.ts'
import type { Inboxes } from './inboxes.ts'
import type { Judge } from './judge.ts'
import type { Parts } from './parts.ts'
import { EVENTS, NEXT, type Reactions } from './reactions.ts'
import type { Registers } from './registers.ts'
import type { StateChecks } from './state-checks.ts'
import { type Successors, UNCHANGED } from './successors.ts'

export class EnvironmentSteps {
  readonly #successors: Successors
  readonly #checks: StateChecks
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
  /** The intermediate row when both ends of a link move in one step. */
  readonly #between: Int32Array

  constructor(parts: Parts, checks: StateChecks, successors: Successors) {
    const { layout, rules, settings } = parts
    this.#successors = successors
    this.#checks = checks
    this.#count = layout.nodes
    this.#columns = layout.columns
    this.#memoryAt = layout.memoryAt
    this.#environmentAt = layout.environmentAt
    this.#inboxAt = layout.inboxAt
    this.#cellAt = layout.cellAt
    this.#endsMoveTogether = settings.history.slack === 0
    this.#canBeDeleted = rules.deletes
    this.#canBeBuried = rules.burials
    this.#judge = parts.judge
    this.#inboxes = parts.inboxes
    this.#registers = parts.registers
    this.#reactions = parts.reactions
    this.#environments = parts.environments
    this.#between = new Int32Array(layout.columns)
  }

  /** Adds all environment transitions to the batch. */
  expand(row: Int32Array, into: Batch, outlook: Outlook): void {
    if (this.#canBeBuried) this.#burials(row, into)
    if (this.#canBeDeleted) this.#deletions(row, into)
    const { moves, flips, ticked } = outlook
    if (moves.length > 0) this.#moves(row, into, outlook)
    for (let each = 0; each < flips.length; each++) {
      const { next } = flips[each] as Flip
      this.#successors.change(this.#environmentAt, next, FLIP, 0, each)
    }
    if (ticked >= 0) this.#tick(row, into, ticked)
  }

  #moves(row: Int32Array, into: Batch, outlook: Outlook): void {
    const { moves } = outlook
    const { sum } = this.#successors
    for (let each = 0; each < moves.length; each++) {
      const move = moves[each] as Move
      // The node reacts in the environment that the move leads to.
      this.#successors.begin(row, into, this.#environments.outlook(move.next), sum)
      this.#move(row, into, move, each)
    }
    this.#successors.begin(row, into, outlook, sum)
  }

  /**
   * One end of a link moves and its node is notified. If both ends move in one step, the other node is
   * notified too.
   */
  #move(row: Int32Array, into: Batch, { at, peer, up, next, owed }: Move, choice: number): void {
    if (!this.#checks.isUp(row, at) || (up && !owed && !this.#checks.isUp(row, peer))) return
    const successors = this.#successors
    const kind = owed ? FOLLOW : FLIP
    const reaction = this.#reactions.link(at, row[at] as number, peer, up)
    successors.rest = this.#inboxes.afterMove(row[this.#inboxAt + at] as number, peer)
    if (!this.#endsMoveTogether || !this.#checks.isUp(row, peer)) {
      successors.react(reaction, kind, at, choice, next)
      return
    }
    const between = this.#between
    between.set(row)
    between[this.#inboxAt + peer] = this.#inboxes.afterMove(row[this.#inboxAt + peer] as number, at)
    const memory = successors.perform(between, 0, reaction, next, at, false)
    successors.rest = UNCHANGED
    if (memory < 0) {
      into.addViolation(this.#judge.violation(memory), kind, at, choice, 0)
      return
    }
    const other = this.#reactions.link(peer, between[peer] as number, at, up)
    successors.begin(between, into, this.#environments.outlook(next), sumOf(between, 0, this.#columns))
    successors.apply(other, UNCHANGED, kind, at, choice, peer)
  }

  /** Nodes that read a register in order to remove its owner, and the tombstones that follow. */
  #burials(row: Int32Array, into: Batch): void {
    for (let node = 0; node < this.#count; node++) {
      const column = this.#cellAt + node
      const cell = row[column] as number
      const examined = this.#registers.examined(cell)
      if (examined !== cell) this.#successors.change(column, examined, EXAMINE, node, 0)
      const buried = this.#registers.buried(cell)
      for (let nth = 0; nth < buried.length; nth++) {
        this.#takeAway(row, into, node, buried[nth] as number, BURY, nth)
      }
    }
  }

  /** Registers that are deleted. */
  #deletions(row: Int32Array, into: Batch): void {
    for (let node = 0; node < this.#count; node++) this.#delete(row, into, node)
  }

  #delete(row: Int32Array, into: Batch, node: number): void {
    const isBuried = this.#registers.cell(row[this.#cellAt + node] as number).is === 'buried'
    if (!isBuried && this.#checks.isUp(row, node)) return
    const cells = row.subarray(this.#cellAt, this.#cellAt + this.#count)
    if (!this.#registers.isDeletable(cells, node)) return
    this.#takeAway(row, into, node, this.#registers.idOf(GONE), DELETE, 0)
  }

  /**
   * A register is removed. Nodes whose own register was removed may learn it from this, and stop
   * (untimed/world.ts).
   */
  #takeAway(
    row: Int32Array,
    into: Batch,
    node: number,
    cell: number,
    kind: ActionKind,
    choice: number,
  ): void {
    const column = this.#cellAt + node
    if (!this.#canBeBuried) {
      this.#successors.change(column, cell, kind, node, choice)
      return
    }
    const { rows } = into
    const at = into.beginSuccessor(row)
    let sum = adjustSum(this.#successors.sum, column, cell - (row[column] as number))
    rows[at + column] = cell
    let memory = row[this.#memoryAt] as number
    for (let other = 0; other < this.#count; other++) {
      if (!this.#checks.isUp(row, other) || !this.#isSuperseded(rows, at, other)) continue
      const slot = row[other] as number
      const crash = this.#reactions.crash(other, slot)
      const { data } = this.#reactions.pool
      const next = data[crash + NEXT] as number
      sum = adjustSum(sum, other, next - slot)
      rows[at + other] = next
      memory = this.#judge.nextAll(memory, data[crash + EVENTS] as number)
      if (memory < 0) {
        into.addViolation(this.#judge.violation(memory), kind, node, choice, 0)
        return
      }
    }
    sum = adjustSum(sum, this.#memoryAt, memory - (row[this.#memoryAt] as number))
    rows[at + this.#memoryAt] = memory
    into.addSuccessor(sum, kind, node, choice, 0)
  }

  #isSuperseded(rows: Int32Array, at: number, node: number): boolean {
    const first = at + this.#cellAt
    if (!this.#registers.isClosed(rows[first + node] as number)) return false
    return this.#reactions
      .readsOf(node, rows[at + node] as number)
      .some((of) => this.#registers.cell(rows[first + of] as number).is === 'gone')
  }

  /** A clock tick for all nodes that are up. The monitor sees the resulting observations in node order. */
  #tick(row: Int32Array, into: Batch, environment: number): void {
    const n = this.#count
    const { rows } = into
    const at = into.beginSuccessor(row)
    let sum = adjustSum(
      this.#successors.sum,
      this.#environmentAt,
      environment - (row[this.#environmentAt] as number),
    )
    rows[at + this.#environmentAt] = environment
    let memory = row[this.#memoryAt] as number
    for (let node = 0; node < n; node++) {
      if (!this.#checks.isUp(row, node)) continue
      const reaction = this.#reactions.tick(node, row[node] as number)
      const { data } = this.#reactions.pool
      const next = data[reaction + NEXT] as number
      sum = adjustSum(sum, node, next - (row[node] as number))
      rows[at + node] = next
      memory = this.#judge.nextAll(memory, data[reaction + EVENTS] as number)
      if (memory < 0) {
        into.addViolation(this.#judge.violation(memory), TICK, 0, 0, 0)
        return
      }
    }
    sum = adjustSum(sum, this.#memoryAt, memory - (row[this.#memoryAt] as number))
    rows[at + this.#memoryAt] = memory
    into.addSuccessor(sum, TICK, 0, 0, 0)
  }
}
