/** What a reaction of a node makes of a world: the successor's row, and the sum of its columns. */
import type { UntimedRules } from '../untimed/index.ts'
import { type ActionKind, type Batch, CRASHING, RECOVERY } from './batch.ts'
import type { Environments, Outlook } from './environments.ts'
import { adjustSum } from './hash.ts'
import { EMPTY_INBOX, type Inboxes } from './inboxes.ts'
import { type Judge, NO_EVENTS } from './judge.ts'
import type { Parts } from './parts.ts'
import {
  CRASH_AFTER,
  CUTS,
  EVENTS,
  NEXT,
  REACTION,
  REFUSED,
  type Reactions,
  SENDS,
  WRITES,
} from './reactions.ts'
import type { Registers } from './registers.ts'

/** A column that a transition leaves alone. */
export const UNCHANGED = -1

export class Successors {
  /** Of the row that is being expanded, see hash.ts. */
  sum = 0
  /** Of the row that was made last. */
  made = 0
  /** Whether the successors are for a fan: then events are noted where the monitor's memory stands. */
  forCache = false
  readonly #rules: UntimedRules
  readonly #count: number
  readonly #memoryAt: number
  readonly #environmentAt: number
  readonly #inboxAt: number
  readonly #cellAt: number
  readonly #judge: Judge
  readonly #inboxes: Inboxes
  readonly #registers: Registers
  readonly #reactions: Reactions
  readonly #environments: Environments

  constructor({ rules, layout, judge, inboxes, registers, reactions, environments }: Parts) {
    this.#rules = rules
    this.#count = layout.nodes
    this.#memoryAt = layout.memoryAt
    this.#environmentAt = layout.environmentAt
    this.#inboxAt = layout.inboxAt
    this.#cellAt = layout.cellAt
    this.#judge = judge
    this.#inboxes = inboxes
    this.#registers = registers
    this.#reactions = reactions
    this.#environments = environments
  }

  /** A successor that differs in one column. */
  change(
    row: Int32Array,
    into: Batch,
    column: number,
    value: number,
    kind: ActionKind,
    node: number,
    choice: number,
  ): void {
    into.rows[into.beginSuccessor(row) + column] = value
    into.addSuccessor(adjustSum(this.sum, column, value - (row[column] as number)), kind, node, choice, 0)
  }

  /** What a reaction makes of a world, and what each crash in the middle of it would. */
  react(
    row: Int32Array,
    into: Batch,
    outlook: Outlook,
    reaction: number,
    kind: ActionKind,
    node: number,
    choice: number,
    rest: number,
    cell: number,
    environment = -1,
  ): void {
    const after =
      kind === CRASHING
        ? (outlook.crashed[node] as number)
        : kind === RECOVERY
          ? outlook.recovered
          : environment
    const refused = this.#reactions.pool.data[reaction + REFUSED] as number
    if (refused >= 0 && this.#registers.isClosed(row[this.#cellAt + node] as number)) {
      this.apply(row, into, outlook.ahead, refused, after, kind, node, choice, rest, cell)
      return
    }
    this.apply(row, into, outlook.ahead, reaction, after, kind, node, choice, rest, cell)
    const { data } = this.#reactions.pool
    const cuts = data[reaction + CUTS] as number
    if (cuts === 0) return
    const { crashed: byNode } = after < 0 ? outlook : this.#environments.outlook(after)
    const crashed = byNode[node] as number
    if (crashed < 0) return
    const first = reaction + REACTION + (data[reaction + SENDS] as number) * 2
    for (let each = 0; each < cuts; each++) {
      this.apply(
        row,
        into,
        outlook.ahead,
        data[first + each] as number,
        crashed,
        kind,
        node,
        choice,
        rest,
        cell,
      )
    }
  }

  /**
   * `rest`: the inbox without what was delivered, and `cell`: the own register before what is written; or -1. `actor`: whose
   * reaction it is, where that is not the node that the step is told of.
   */
  apply(
    row: Int32Array,
    into: Batch,
    ahead: Int8Array | null,
    reaction: number,
    environment: number,
    kind: ActionKind,
    node: number,
    choice: number,
    rest: number,
    cell: number,
    actor = node,
  ): void {
    const crashAfter = this.#reactions.pool.data[reaction + CRASH_AFTER] as number
    const crashes = kind === CRASHING || crashAfter > 0
    const at = into.beginSuccessor(row)
    const memory = this.perform(row, into.rows, at, ahead, reaction, environment, actor, rest, cell, crashes)
    if (memory < 0) into.addViolation(this.#judge.violation(memory), kind, node, choice, crashAfter)
    else into.addSuccessor(this.made, kind, node, choice, crashAfter)
  }

  /**
   * Makes the successor of `row` in `rows`, where a copy of it stands at `at`; `#made` is then the sum of its columns.
   * Says what the monitor remembers, below 0 when a specification is violated.
   */
  perform(
    row: Int32Array,
    rows: Int32Array,
    at: number,
    ahead: Int8Array | null,
    reaction: number,
    environment: number,
    node: number,
    rest: number,
    cell: number,
    crashes: boolean,
  ): number {
    const n = this.#count
    const { data } = this.#reactions.pool
    const next = data[reaction + NEXT] as number
    let sum = adjustSum(this.sum, node, next - (row[node] as number))
    rows[at + node] = next
    if (rest >= 0) {
      sum = adjustSum(sum, this.#inboxAt + node, rest - (row[this.#inboxAt + node] as number))
      rows[at + this.#inboxAt + node] = rest
    }
    if (environment >= 0) {
      sum = adjustSum(sum, this.#environmentAt, environment - (row[this.#environmentAt] as number))
      rows[at + this.#environmentAt] = environment
    }
    const written = data[reaction + WRITES] as number
    if (written >= 0 || cell >= 0) {
      const column = this.#cellAt + node
      const before = row[column] as number
      const kept = cell >= 0 ? cell : before
      const after = written >= 0 ? this.#registers.written(kept, written) : kept
      sum = adjustSum(sum, column, after - before)
      rows[at + column] = after
    }
    let read = reaction + REACTION
    const sendsEnd = read + (data[reaction + SENDS] as number) * 2
    for (; read < sendsEnd; read += 2) {
      const to = data[read] as number
      const by = ahead === null ? 0 : (ahead[node * n + to] as number)
      if (by < 0) continue
      const message = data[read + 1] as number
      const before = rows[at + this.#inboxAt + to] as number
      const after = this.#inboxes.append(before, by === 0 ? message : this.#inboxes.ahead(message, by))
      sum = adjustSum(sum, this.#inboxAt + to, after - before)
      rows[at + this.#inboxAt + to] = after
    }
    if (crashes && this.#rules.reported) sum = this.#loseOnCrash(rows, at, node, sum)
    this.made = sum
    const before = row[this.#memoryAt] as number
    const events = data[reaction + EVENTS] as number
    if (events === NO_EVENTS) return before
    const memory = this.forCache ? events : this.#judge.nextAll(before, events)
    if (memory < 0) return memory
    this.made = adjustSum(sum, this.#memoryAt, memory - before)
    rows[at + this.#memoryAt] = memory
    return memory
  }

  /** Frames to a process that crashed are lost, and those from it in an incarnation that its peer has not seen. */
  #loseOnCrash(rows: Int32Array, at: number, crashed: number, sum: number): number {
    const n = this.#count
    let result = sum
    for (let node = 0; node < n; node++) {
      const before = rows[at + this.#inboxAt + node] as number
      const after = node === crashed ? EMPTY_INBOX : this.#inboxes.fromCrashed(before, crashed)
      result = adjustSum(result, this.#inboxAt + node, after - before)
      rows[at + this.#inboxAt + node] = after
    }
    return result
  }
}
