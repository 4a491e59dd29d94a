/**
 * Checks on a single state: which nodes are up, whether anything can still happen, and whether it violates a
 * specification.
 */
import { present } from '../../core/index.ts'
import { connectedPairs, isCut } from '../untimed/index.ts'
import type { Environments } from './environments.ts'
import { EMPTY_INBOX, type Inboxes } from './inboxes.ts'
import type { Judge, Violation } from './judge.ts'
import type { Parts } from './parts.ts'
import { ACK, LEADS, READS, type Reactions, SLOT, STIMULI, STIMULUS, TIMERS, UP } from './reactions.ts'

export class StateChecks {
  readonly #parts: Parts
  readonly #count: number
  readonly #memoryAt: number
  readonly #environmentAt: number
  readonly #inboxAt: number
  readonly #cellAt: number
  readonly #judgesStates: boolean
  readonly #judgesSettled: boolean
  readonly #judge: Judge
  readonly #inboxes: Inboxes
  readonly #reactions: Reactions
  readonly #environments: Environments
  readonly #settledEvents = new Map<number, number>()

  constructor(parts: Parts) {
    const { layout, judge } = parts
    this.#parts = parts
    this.#count = layout.nodes
    this.#memoryAt = layout.memoryAt
    this.#environmentAt = layout.environmentAt
    this.#inboxAt = layout.inboxAt
    this.#cellAt = layout.cellAt
    this.#judgesStates = judge.judgesStates
    this.#judgesSettled = judge.judgesSettled
    this.#judge = judge
    this.#inboxes = parts.inboxes
    this.#reactions = parts.reactions
    this.#environments = parts.environments
  }

  /**
   * Whether anything except faults can still happen: a message, a timer, or a stimulus that the environment
   * owes.
   */
  isBusy(row: Int32Array): boolean {
    if (!this.isQuiet(row)) return true
    if (this.#environments.outlook(row[this.#environmentAt] as number).busy) return true
    for (let node = 0; node < this.#count; node++) {
      if (this.isUp(row, node) && this.#awaitsSomething(row, node)) return true
    }
    return false
  }

  /** The violation that this state has by itself. */
  violation(row: Int32Array): Violation | null {
    if (this.#judgesStates) {
      const violation = this.#stateViolation(row)
      if (violation !== null) return violation
    }
    const settled = this.#judgesSettled && !this.isBusy(row) ? this.settledViolation(row) : null
    return settled ?? this.#quietViolation(row)
  }

  /** The verdict of state specifications; null if they accept the state. */
  #stateViolation(row: Int32Array): Violation | null {
    const slots = this.#parts.rules.nodes.map((_, node) => this.#reactions.slot(node, row[node] as number))
    const cells =
      this.#cellAt < 0 ? [] : [...row.subarray(this.#cellAt)].map((cell) => this.#parts.registers.cell(cell))
    return this.#judge.state(this.#parts.rules.stateOf(slots, cells))
  }

  /** The violation that this state has if it counts as settled; null if the specifications accept it. */
  settledViolation(row: Int32Array): Violation | null {
    const next = this.#judge.next(row[this.#memoryAt] as number, this.#settledEvent(row))
    return next < 0 ? this.#judge.violation(next) : null
  }

  /**
   * The verdict on two leaders with an open link and no message in flight between them; null if there are
   * none.
   */
  #quietViolation(row: Int32Array): Violation | null {
    const { closed } = this.#environments.outlook(row[this.#environmentAt] as number)
    if (closed === null) return null
    for (let a = 0; a < this.#count; a++) {
      if (!this.#leads(row, a)) continue
      for (let b = a + 1; b < this.#count; b++) {
        if (!this.#leads(row, b) || !this.#isQuietBetween(row, a, b)) continue
        const { nodes } = this.#parts.rules
        const between = [present(nodes[a], 'node'), present(nodes[b], 'node')] as const
        const event = this.#parts.events.idOf({ type: 'quiet', at: 0, between })
        const next = this.#judge.next(row[this.#memoryAt] as number, event)
        if (next < 0) return this.#judge.violation(next)
      }
    }
    return null
  }

  #leads(row: Int32Array, node: number): boolean {
    return this.#reactions.pool.data[this.#reactions.place(node, row[node] as number) + LEADS] === 1
  }

  #isQuietBetween(row: Int32Array, a: number, b: number): boolean {
    const { cut } = this.#environments.outlook(row[this.#environmentAt] as number)
    if (isCut(cut, a, b)) return false
    return (
      !this.#inboxes.has(row[this.#inboxAt + a] as number, b) &&
      !this.#inboxes.has(row[this.#inboxAt + b] as number, a)
    )
  }

  isQuiet(row: Int32Array): boolean {
    if (this.#inboxAt < 0) return true
    const end = this.#inboxAt + this.#count
    for (let column = this.#inboxAt; column < end; column++) if (row[column] !== EMPTY_INBOX) return false
    return true
  }

  isUp(row: Int32Array, node: number): boolean {
    return this.#reactions.pool.data[this.#reactions.place(node, row[node] as number) + UP] === 1
  }

  /** Whether a timer is set or a stimulus is owed. */
  #awaitsSomething(row: Int32Array, node: number): boolean {
    const slot = this.#reactions.place(node, row[node] as number)
    const { data } = this.#reactions.pool
    const timers = data[slot + TIMERS] as number
    if (timers > 0 || (data[slot + READS] as number) > 0 || (data[slot + ACK] as number) >= 0) return true
    const stimuli = data[slot + STIMULI] as number
    for (let each = 0; each < stimuli; each++) {
      const at = slot + SLOT + timers + each * STIMULUS
      const whenDown = data[at] as number
      if (data[at + 1] === 1 && (whenDown < 0 || !this.isUp(row, whenDown))) return true
    }
    return false
  }

  #settledEvent(row: Int32Array): number {
    const n = this.#count
    const environment = row[this.#environmentAt] as number
    let upMask = 0
    for (let node = 0; node < n; node++) if (this.isUp(row, node)) upMask += 2 ** node
    const key = this.#environments.outlook(environment).cutId * 2 ** n + upMask
    const known = this.#settledEvents.get(key)
    if (known !== undefined) return known
    const { nodes } = this.#parts.rules
    const up = [...nodes.keys()].filter((node) => this.isUp(row, node))
    const connected = connectedPairs(nodes, up, this.#environments.outlook(environment).cut)
    const event = this.#parts.events.idOf({ type: 'settled', at: 0, connected })
    this.#settledEvents.set(key, event)
    return event
  }
}
