/** What may happen next that is no node's own: links that change, registers that go, time that passes. */
import { GONE } from '../sim/index.ts'
import { type Batch, DELETE, FLIP, FOLLOW, TICK } from './batch.ts'
import type { Environments, Flip, Move, Outlook } from './environments.ts'
import { risen, sumOf } from './hash.ts'
import type { Inboxes } from './inboxes.ts'
import type { Judge } from './judge.ts'
import type { Parts } from './parts.ts'
import { EVENTS, NEXT, type Reactions } from './reactions.ts'
import type { Registers } from './registers.ts'
import type { Standing } from './standing.ts'
import { type Turns, UNCHANGED } from './turns.ts'

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
    this.#judge = parts.judge
    this.#inboxes = parts.inboxes
    this.#registers = parts.registers
    this.#reactions = parts.reactions
    this.#environments = parts.environments
    this.#between = new Int32Array(places.columns)
  }

  /** Puts all of it into the batch. */
  spread(row: Int32Array, into: Batch, outlook: Outlook): void {
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

  /** Registers that go for good. */
  #deletions(row: Int32Array, into: Batch): void {
    for (let node = 0; node < this.#count; node++) this.#delete(row, into, node)
  }

  #delete(row: Int32Array, into: Batch, node: number): void {
    if (this.#standing.isUp(row, node)) return
    const cells = row.subarray(this.#cellAt, this.#cellAt + this.#count)
    if (!this.#registers.isDeletable(cells, node)) return
    this.#turns.change(row, into, this.#cellAt + node, this.#registers.idOf(GONE), DELETE, node, 0)
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
