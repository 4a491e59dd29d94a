/**
 * Enumerates the steps of nodes: deliveries, timers, stimuli, register operations, crashes and recoveries.
 */
import { assert } from '../../core/index.ts'
import {
  ACKNOWLEDGE,
  COMMAND,
  CRASHING,
  DELIVER,
  LAND,
  LATE_COMMAND,
  LATE_TIMER,
  READ,
  RECOVERY,
  TIMER,
} from './batch.ts'
import type { Outlook } from './environments.ts'
import { EMPTY_INBOX, type Inboxes } from './inboxes.ts'
import type { Parts } from './parts.ts'
import {
  ACK,
  CRASH,
  LATE,
  LATES,
  READS,
  type Reactions,
  SLOT,
  STIMULI,
  STIMULUS,
  TIMERS,
  UP,
} from './reactions.ts'
import type { Registers } from './registers.ts'
import type { StateChecks } from './state-checks.ts'
import { type Successors, UNCHANGED } from './successors.ts'

/** A read action packs the index of the call and the index of the returned value. */
export const READING_BITS = 6

export class NodeSteps {
  readonly #successors: Successors
  readonly #checks: StateChecks
  readonly #count: number
  readonly #inboxAt: number
  readonly #cellAt: number
  readonly #timersAlways: boolean
  readonly #canBeLate: boolean
  readonly #canBeDeleted: boolean
  readonly #inboxes: Inboxes
  readonly #registers: Registers
  readonly #reactions: Reactions

  constructor(parts: Parts, checks: StateChecks, successors: Successors) {
    const { layout, rules, settings } = parts
    this.#successors = successors
    this.#checks = checks
    this.#count = layout.nodes
    this.#inboxAt = layout.inboxAt
    this.#cellAt = layout.cellAt
    this.#timersAlways = settings.timers === 'any'
    this.#canBeLate = rules.model?.semantics === 'late'
    this.#canBeDeleted = rules.deletes
    this.#inboxes = parts.inboxes
    this.#registers = parts.registers
    this.#reactions = parts.reactions
  }

  /** Adds the steps of all nodes, in node order. */
  expandAll(row: Int32Array, outlook: Outlook): void {
    const timersMayFire = this.#timersAlways || this.#checks.isQuiet(row)
    for (let node = 0; node < this.#count; node++) {
      if (this.#inboxAt >= 0 && row[this.#inboxAt + node] !== EMPTY_INBOX) {
        this.#deliveries(row, outlook, node)
      }
      this.ownMoves(row, outlook, node, timersMayFire)
      if (this.#cellAt >= 0) this.reads(row, node, -1)
    }
  }

  /** Adds the steps that depend only on the node's own columns, the monitor and the budget. */
  ownMoves(row: Int32Array, outlook: Outlook, node: number, timersMayFire: boolean): void {
    const slot = this.#reactions.place(node, row[node] as number)
    // The pool may replace its array when it grows. The old array still holds this slot.
    const { data } = this.#reactions.pool
    if (this.#canBeLate) this.#land(row, node)
    if (data[slot + UP] !== 1) {
      if (outlook.recovered >= 0) this.#recoveries(row, node)
      return
    }
    const timers = data[slot + TIMERS] as number
    for (let each = 0; timersMayFire && each < timers; each++) {
      this.#successors.react(data[slot + SLOT + each] as number, TIMER, node, each)
    }
    const stimuli = data[slot + STIMULI] as number
    for (let each = 0; each < stimuli; each++) {
      const at = slot + SLOT + timers + each * STIMULUS
      const whenDown = data[at] as number
      assert(
        !this.#successors.forCache || whenDown < 0,
        'with shared registers no stimulus may require that a peer is down',
      )
      if (whenDown >= 0 && this.#checks.isUp(row, whenDown)) continue
      this.#successors.react(data[at + 2] as number, COMMAND, node, each)
    }
    const ack = data[slot + ACK] as number
    if (ack >= 0) {
      const cell = this.#registers.acknowledged(row[this.#cellAt + node] as number)
      this.#successors.cell = cell
      this.#successors.react(ack, ACKNOWLEDGE, node, 0)
    }
    if ((outlook.crashed[node] as number) < 0) return
    const cell = this.#cellAt < 0 ? UNCHANGED : this.#registers.crashed(row[this.#cellAt + node] as number)
    this.#successors.cell = cell
    this.#successors.react(data[slot + CRASH] as number, CRASHING, node, 0)
    const lates = data[slot + LATES] as number
    const firstLate = slot + SLOT + timers + stimuli * STIMULUS + (data[slot + READS] as number)
    for (let each = 0; each < lates; each++) {
      this.#late(row, outlook, node, data, firstLate + each * LATE)
    }
  }

  /** Adds the pending reads of a node: all of them, or only those of one register. */
  reads(row: Int32Array, node: number, only: number): void {
    const slot = this.#reactions.place(node, row[node] as number)
    const { data } = this.#reactions.pool
    const reads = data[slot + READS] as number
    const first = slot + SLOT + (data[slot + TIMERS] as number) + (data[slot + STIMULI] as number) * STIMULUS
    for (let each = 0; each < reads; each++) {
      const of = data[first + each] as number
      if (only < 0 || only === of) this.#readings(row, node, each, of)
    }
  }

  #deliveries(row: Int32Array, outlook: Outlook, node: number): void {
    const isUp = this.#checks.isUp(row, node)
    const inbox = this.#inboxes.place(row[this.#inboxAt + node] as number)
    const choices = this.#inboxes.pool.data[inbox] as number
    for (let each = 0; each < choices; each++) {
      const message = this.#inboxes.pool.data[inbox + 1 + each * 2] as number
      const rest = this.#inboxes.pool.data[inbox + 2 + each * 2] as number
      if (outlook.closed !== null && !this.#mayCome(outlook.closed, node, message)) continue
      if (isUp) {
        const reaction = this.#reactions.delivery(node, row[node] as number, message)
        this.#successors.rest = rest
        this.#successors.react(reaction, DELIVER, node, each)
      } else {
        // A message to a node that is down is lost.
        this.#successors.change(this.#inboxAt + node, rest, DELIVER, node, each)
      }
    }
  }

  /** Whether the receiver sees the link up, in the message's incarnation. */
  #mayCome(closed: Uint8Array, node: number, message: number): boolean {
    const { from, ahead } = this.#inboxes.message(message)
    return ahead === undefined && closed[node * this.#count + from] === 0
  }

  /** Adds one step for each value that a read may return. */
  #readings(row: Int32Array, node: number, call: number, of: number): void {
    const place = this.#registers.place(row[this.#cellAt + of] as number)
    const { data } = this.#registers.pool
    const count = data[place] as number
    for (let nth = 0; nth < count; nth++) {
      const reaction = this.#reactions.read(node, row[node] as number, of, data[place + 1 + nth] as number)
      this.#successors.react(reaction, READ, node, (call << READING_BITS) | nth)
    }
  }

  /**
   * Adds one recovery for each value that the node's register may be read as; without registers, one
   * recovery.
   */
  #recoveries(row: Int32Array, node: number): void {
    const slot = row[node] as number
    if (this.#cellAt < 0) {
      this.#successors.react(this.#reactions.recovery(node, slot, 0), RECOVERY, node, 0)
      return
    }
    const cell = row[this.#cellAt + node] as number
    if (this.#canBeDeleted && this.#registers.isClosed(cell)) return
    const place = this.#registers.place(cell)
    const count = this.#registers.pool.data[place] as number
    for (let nth = 0; nth < count; nth++) {
      const value = this.#registers.pool.data[place + 1 + nth] as number
      const reaction = this.#reactions.recovery(node, slot, value)
      this.#successors.cell = this.#registers.takenOver(cell, value)
      this.#successors.react(reaction, RECOVERY, node, nth)
    }
  }

  /** A crash of a node whose write is still in flight. */
  #late(row: Int32Array, outlook: Outlook, node: number, data: Int32Array, at: number): void {
    const kind = data[at] === 0 ? LATE_TIMER : LATE_COMMAND
    const cell = this.#registers.late(row[this.#cellAt + node] as number, data[at + 3] as number)
    const reaction = data[at + 2] as number
    this.#successors.cell = cell
    const crashed = outlook.crashed[node] as number
    this.#successors.apply(reaction, crashed, kind, node, data[at + 1] as number, node)
    this.#successors.cell = UNCHANGED
  }

  #land(row: Int32Array, node: number): void {
    const cell = row[this.#cellAt + node] as number
    if (this.#registers.cell(cell).is !== 'late') return
    this.#successors.change(this.#cellAt + node, this.#registers.landed(cell), LAND, node, 0)
  }
}
