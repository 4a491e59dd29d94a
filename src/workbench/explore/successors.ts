/**
 * Builds successors: applies the reaction of a node to a row, column by column, and keeps the row's hash sum up to date.
 *
 * The hot path of the search. What stays the same for a whole expansion (`begin`) and what few steps need (`rest`,
 * `cell`) are fields, so that no call passes more than six arguments.
 */
import type { UntimedRules } from '../untimed/index.ts'
import { type ActionKind, Batch, CRASHING, RECOVERY } from './batch.ts'
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

/** A column that a transition does not change. */
export const UNCHANGED = -1

export class Successors {
  /** The weighted sum (hash.ts) of the row that is expanded. */
  sum = 0
  /** The weighted sum of the row that was built last. */
  made = 0
  /** Whether successors go into the expansion cache: their memory column then holds the id of the observations. */
  forCache = false
  /** For the next reaction only: the node's inbox without the delivered message. */
  rest = UNCHANGED
  /** For the next reaction only: the node's register before its write. */
  cell = UNCHANGED
  #row: Int32Array
  #into: Batch
  #outlook: Outlook | null = null
  /** By sender and receiver, see Outlook. */
  #ahead: Int8Array | null = null
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
    this.#row = new Int32Array(layout.columns)
    this.#into = new Batch(layout.columns)
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

  /** The following calls expand this row, whose weighted sum is `sum`. */
  begin(row: Int32Array, into: Batch, outlook: Outlook, sum: number): void {
    this.#row = row
    this.#into = into
    this.#outlook = outlook
    this.#ahead = outlook.ahead
    this.sum = sum
  }

  /** Adds a successor that differs in one column. */
  change(column: number, value: number, kind: ActionKind, node: number, choice: number): void {
    const row = this.#row
    const into = this.#into
    into.rows[into.beginSuccessor(row) + column] = value
    into.addSuccessor(adjustSum(this.sum, column, value - (row[column] as number)), kind, node, choice, 0)
  }

  /** Adds the successor of a reaction, and one for each crash in the middle of it. */
  react(reaction: number, kind: ActionKind, node: number, choice: number, environment = UNCHANGED): void {
    const outlook = this.#outlook as Outlook
    const after =
      kind === CRASHING
        ? (outlook.crashed[node] as number)
        : kind === RECOVERY
          ? outlook.recovered
          : environment
    const refused = this.#reactions.pool.data[reaction + REFUSED] as number
    if (refused >= 0 && this.#registers.isClosed(this.#row[this.#cellAt + node] as number)) {
      this.apply(refused, after, kind, node, choice, node)
    } else {
      this.apply(reaction, after, kind, node, choice, node)
      const { data } = this.#reactions.pool
      if ((data[reaction + CUTS] as number) > 0) this.#cuts(reaction, after, kind, node, choice)
    }
    this.rest = UNCHANGED
    this.cell = UNCHANGED
  }

  #cuts(reaction: number, environment: number, kind: ActionKind, node: number, choice: number): void {
    const outlook = this.#outlook as Outlook
    const { crashed: byNode } = environment < 0 ? outlook : this.#environments.outlook(environment)
    const crashed = byNode[node] as number
    if (crashed < 0) return
    const { data } = this.#reactions.pool
    const cuts = data[reaction + CUTS] as number
    const first = reaction + REACTION + (data[reaction + SENDS] as number) * 2
    for (let each = 0; each < cuts; each++) {
      this.apply(data[first + each] as number, crashed, kind, node, choice, node)
    }
  }

  /** Adds one successor. `actor`: the node that reacts, which may differ from the node that the action names. */
  apply(
    reaction: number,
    environment: number,
    kind: ActionKind,
    node: number,
    choice: number,
    actor: number,
  ): void {
    const into = this.#into
    const crashAfter = this.#reactions.pool.data[reaction + CRASH_AFTER] as number
    const crashes = kind === CRASHING || crashAfter > 0
    const at = into.beginSuccessor(this.#row)
    const memory = this.perform(into.rows, at, reaction, environment, actor, crashes)
    if (memory < 0) into.addViolation(this.#judge.violation(memory), kind, node, choice, crashAfter)
    else into.addSuccessor(this.made, kind, node, choice, crashAfter)
  }

  /**
   * Builds the successor in `rows`, where a copy of the expanded row stands at `at`, and sets `made`. Returns the
   * monitor's memory, or a value below 0 if a specification is violated.
   */
  perform(
    rows: Int32Array,
    at: number,
    reaction: number,
    environment: number,
    node: number,
    crashes: boolean,
  ): number {
    const n = this.#count
    const row = this.#row
    const ahead = this.#ahead
    const { rest, cell } = this
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

  /** Drops the messages to a crashed node, and those from it in an incarnation that the receiver has not seen. */
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
