/**
 * A small world as a row of integers, and all that can happen next.
 *
 * Every node's local state, every inbox, the monitor's memory and what is left of the fault budget are interned to
 * small numbers, each by the file of its name; a world is one row of them, and a transition is a few table lookups.
 * The rules are those of the world without time in sim/still.ts, against which the tests compare.
 *
 * Columns: a slot a node, the monitor, the environment, then an inbox a node where there are messages, and a register a
 * node where there are registers.
 */
import {
  assert,
  type Definition,
  type NodeId,
  type Outcome,
  type PlainObject,
  present,
} from '../core/index.ts'
import { type Budget, connectedPairs, GONE, type ScheduleStep, StillRules } from '../sim/index.ts'
import type { Monitor } from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import {
  ACKNOWLEDGE,
  Batch,
  COMMAND,
  CRASHING,
  DELETE,
  DELIVER,
  type Deed,
  FLIP,
  LAND,
  LATE_COMMAND,
  LATE_TIMER,
  READ,
  RECOVERY,
  TICK,
  TIMER,
  type What,
} from './batch.ts'
import { Environments, type Flip, type Outlook } from './environments.ts'
import { Fans, type Places } from './fans.ts'
import { risen, sumOf } from './hash.ts'
import { EMPTY_INBOX, Inboxes } from './inboxes.ts'
import { Interner } from './intern.ts'
import { Judge, NO_EVENTS, type Violation } from './judge.ts'
import {
  ACK,
  CRASH,
  CRASH_AFTER,
  CUTS,
  EVENTS,
  LATE,
  LATES,
  NEXT,
  REACTION,
  READS,
  Reactions,
  SENDS,
  SLOT,
  STIMULI,
  STIMULUS,
  TIMERS,
  UP,
  WRITES,
} from './reactions.ts'
import { Registers } from './registers.ts'

/** Of a read: which of the calls, and which of the values that it may return. */
const READING_BITS = 6
/** A column that a transition leaves alone. */
const UNCHANGED = -1

export type ModelSettings = {
  readonly definition: Definition
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly order: 'fifo' | 'any'
  /** `quiet`: a timer fires only when no message is in flight. */
  readonly timers: 'any' | 'quiet'
  readonly initial: Outcome | null
  readonly budget: Budget
  readonly monitor: Monitor
}

export class Model {
  readonly columns: number
  readonly judge: Judge
  readonly #settings: ModelSettings
  readonly #rules: StillRules
  readonly #count: number
  /** Where the columns of each kind begin; -1 where there are none. */
  readonly #memoryAt: number
  readonly #environmentAt: number
  readonly #inboxAt: number
  readonly #cellAt: number
  readonly #canBeLate: boolean
  readonly #canBeDeleted: boolean
  readonly #registers: Registers
  readonly #places: Places
  /** Null where messages, too, have a part in what happens next. */
  readonly #fans: Fans | null
  readonly #timersAlways: boolean
  readonly #events = new Interner<Observation>()
  readonly #inboxes: Inboxes
  readonly #reactions: Reactions
  readonly #environments: Environments
  readonly #settledEvents = new Map<number, number>()
  /** Of the row that is being expanded, see hash.ts. */
  #sum = 0
  /** Whether the successors are for a fan: then events are noted where the monitor's memory stands. */
  #forFan = false

  constructor(settings: ModelSettings) {
    const { nodes, definition, options, order, monitor } = settings
    this.#settings = settings
    this.#count = nodes.length
    this.#timersAlways = settings.timers === 'any'
    this.#rules = new StillRules(definition, nodes, options, order)
    const n = nodes.length
    this.#memoryAt = n
    this.#environmentAt = n + 1
    const hasMessages = definition.kinds.length + definition.linkKinds.length > 0
    const hasRegisters = this.#rules.model !== null
    this.#inboxAt = hasMessages ? n + 2 : -1
    this.#cellAt = hasRegisters ? n + 2 + (hasMessages ? n : 0) : -1
    this.columns = n + 2 + (hasMessages ? n : 0) + (hasRegisters ? n : 0)
    this.#canBeLate = this.#rules.model?.semantics === 'late'
    this.#canBeDeleted = this.#rules.deletes
    this.#registers = new Registers(this.#rules)
    this.#places = { memoryAt: this.#memoryAt, environmentAt: this.#environmentAt, cellAt: this.#cellAt }
    this.#fans =
      hasRegisters && !hasMessages ? new Fans(n, this.columns, this.#places, new Batch(this.columns)) : null
    assert(
      !(settings.budget.ticks > 0) || this.#rules.tick > 0,
      `${definition.name} does not say how long a tick is`,
    )
    this.#inboxes = new Inboxes(order)
    this.judge = new Judge(monitor, this.#events)
    this.#reactions = new Reactions(this.#rules, this.#inboxes, this.judge, this.#registers)
    this.#environments = new Environments(nodes.length)
  }

  /** How often protocol code was run. */
  get runs(): number {
    return this.#reactions.runs
  }

  /** No column holds a number above this, so far. */
  get largest(): number {
    const { size } = this.#registers
    return Math.max(this.#reactions.size, this.#inboxes.size, this.judge.size, this.#environments.size, size)
  }

  /** About what the interned pieces take, beside the rows of worlds. */
  get bytes(): number {
    return this.#reactions.bytes + this.#inboxes.bytes + this.judge.bytes + this.#registers.bytes
  }

  begin(): { readonly row: Int32Array; readonly violation: Violation | null } {
    let memory = this.judge.begin()
    let violation: Violation | null = null
    const { world, turns } = this.#rules.begin(this.#settings.initial)
    for (const seen of turns.flatMap(({ did }) => did.seen)) {
      const next = this.judge.next(memory, this.#events.idOf(seen))
      if (next < 0) violation ??= this.judge.violation(next)
      else memory = next
    }
    const inboxes = world.inboxes.map((inbox) =>
      inbox.reduce(
        (id, { from, body }) => this.#inboxes.append(id, this.#inboxes.messageId(from, body)),
        EMPTY_INBOX,
      ),
    )
    const row = Int32Array.from([
      ...world.slots.map((slot, node) => this.#reactions.slotId(node, slot)),
      memory,
      this.#environments.idOf(environmentOf(this.#settings.budget)),
      ...(this.#inboxAt < 0 ? [] : inboxes),
      ...world.cells.map((cell) => this.#registers.idOf(cell)),
    ])
    return { row, violation }
  }

  /** Whether anything but faults can still happen: a message or a timer that is due, or news that is owed. */
  isBusy(row: Int32Array): boolean {
    if (!this.#isQuiet(row)) return true
    for (let node = 0; node < this.#count; node++) {
      if (this.#isUp(row, node) && this.#awaitsSomething(row, node)) return true
    }
    return false
  }

  /** Puts every successor of a world into the batch. */
  expand(row: Int32Array, into: Batch): void {
    const outlook = this.#environments.outlook(row[this.#environmentAt] as number)
    this.#sum = sumOf(row, 0, this.columns)
    if (this.#fans === null) this.#expandPlainly(row, into, outlook)
    else this.#expandByFans(row, into, this.#fans)
    for (let each = 0; each < outlook.flips.length; each++) {
      this.#change(row, into, this.#environmentAt, (outlook.flips[each] as Flip).next, FLIP, 0, each)
    }
    if (outlook.ticked >= 0) this.#tick(row, into, outlook.ticked)
  }

  #expandPlainly(row: Int32Array, into: Batch, outlook: Outlook): void {
    const timersMayFire = this.#timersAlways || this.#isQuiet(row)
    for (let node = 0; node < this.#count; node++) {
      if (this.#inboxAt >= 0 && row[this.#inboxAt + node] !== EMPTY_INBOX) {
        this.#deliveries(row, into, outlook, node, this.#isUp(row, node))
      }
      this.#ownMoves(row, into, outlook, node, timersMayFire)
      if (this.#cellAt < 0) continue
      this.#reads(row, into, outlook, node, -1)
      if (this.#canBeDeleted) this.#delete(row, into, node)
    }
  }

  #expandByFans(row: Int32Array, into: Batch, fans: Fans): void {
    const cellAt = this.#cellAt
    const sum = this.#sum
    const { judge } = this
    const places = this.#places
    const environment = row[this.#environmentAt] as number
    for (let node = 0; node < this.#count; node++) {
      const stance = fans.stance(node, row[node] as number, environment)
      const slot = this.#reactions.place(node, row[node] as number)
      let fan = fans.known(node, node, stance, row[cellAt + node] as number)
      if (fan < 0) fan = this.#ownFan(row, fans, node, stance)
      into.tookFan(row, sum, fans.pool.data, fan, node, places, judge)
      const { data } = this.#reactions.pool
      const reads = data[slot + READS] as number
      const firstRead =
        slot + SLOT + (data[slot + TIMERS] as number) + (data[slot + STIMULI] as number) * STIMULUS
      for (let each = 0; each < reads; each++) {
        const of = data[firstRead + each] as number
        let read = fans.known(node, of, stance, row[cellAt + of] as number)
        if (read < 0) read = this.#readFan(row, fans, node, stance, of)
        into.tookFan(row, sum, fans.pool.data, read, node, places, judge)
      }
      if (this.#canBeDeleted) this.#delete(row, into, node)
    }
  }

  #ownFan(row: Int32Array, fans: Fans, node: number, stance: number): number {
    return fans.make(node, node, stance, row, (small, into) =>
      this.#alone(small, (outlook) => this.#ownMoves(small, into, outlook, node, true)),
    )
  }

  #readFan(row: Int32Array, fans: Fans, node: number, stance: number, of: number): number {
    return fans.make(node, of, stance, row, (small, into) =>
      this.#alone(small, (outlook) => this.#reads(small, into, outlook, node, of)),
    )
  }

  /** Expands another row than the one that is being expanded, for a fan. */
  #alone(row: Int32Array, expand: (outlook: Outlook) => void): void {
    const sum = this.#sum
    this.#sum = sumOf(row, 0, this.columns)
    this.#forFan = true
    expand(this.#environments.outlook(row[this.#environmentAt] as number))
    this.#forFan = false
    this.#sum = sum
  }

  /** All that a node may do by itself: nothing but its own columns, the monitor and the budget have a part in it. */
  #ownMoves(row: Int32Array, into: Batch, outlook: Outlook, node: number, timersMayFire: boolean): void {
    const slot = this.#reactions.place(node, row[node] as number)
    // The pool's array is replaced when it grows, but this slot stands in the old one as well.
    const { data } = this.#reactions.pool
    if (this.#canBeLate) this.#land(row, into, node)
    if (data[slot + UP] !== 1) {
      if (outlook.recovered >= 0) this.#recoveries(row, into, outlook, node)
      return
    }
    const timers = data[slot + TIMERS] as number
    for (let each = 0; timersMayFire && each < timers; each++) {
      this.#react(row, into, outlook, data[slot + SLOT + each] as number, TIMER, node, each, -1, UNCHANGED)
    }
    const stimuli = data[slot + STIMULI] as number
    for (let each = 0; each < stimuli; each++) {
      const at = slot + SLOT + timers + each * STIMULUS
      const whenDown = data[at] as number
      if (whenDown >= 0 && this.#isUp(row, whenDown)) continue
      this.#react(row, into, outlook, data[at + 2] as number, COMMAND, node, each, -1, UNCHANGED)
    }
    const ack = data[slot + ACK] as number
    if (ack >= 0) {
      const cell = this.#registers.acknowledged(row[this.#cellAt + node] as number)
      this.#react(row, into, outlook, ack, ACKNOWLEDGE, node, 0, -1, cell)
    }
    if (outlook.crashed < 0) return
    const cell = this.#cellAt < 0 ? UNCHANGED : this.#registers.crashed(row[this.#cellAt + node] as number)
    this.#react(row, into, outlook, data[slot + CRASH] as number, CRASHING, node, 0, -1, cell)
    const lates = data[slot + LATES] as number
    const firstLate = slot + SLOT + timers + stimuli * STIMULUS + (data[slot + READS] as number)
    for (let each = 0; each < lates; each++) {
      this.#late(row, into, outlook, node, data, firstLate + each * LATE)
    }
  }

  /** The reads that a node waits for: all of them, or only those of one register. */
  #reads(row: Int32Array, into: Batch, outlook: Outlook, node: number, only: number): void {
    const slot = this.#reactions.place(node, row[node] as number)
    const { data } = this.#reactions.pool
    const reads = data[slot + READS] as number
    const first = slot + SLOT + (data[slot + TIMERS] as number) + (data[slot + STIMULI] as number) * STIMULUS
    for (let each = 0; each < reads; each++) {
      const of = data[first + each] as number
      if (only < 0 || only === of) this.#readings(row, into, outlook, node, each, of)
    }
  }

  /** What the specifications say of this world, if it is taken to be settled; null when they have no objection. */
  settledViolation(row: Int32Array): Violation | null {
    const next = this.judge.next(row[this.#memoryAt] as number, this.#settledEvent(row))
    return next < 0 ? this.judge.violation(next) : null
  }

  /** What specifications of states say of this one; null when they have no objection. */
  stateViolation(row: Int32Array): Violation | null {
    const slots = this.#settings.nodes.map((_, node) => this.#reactions.slot(node, row[node] as number))
    const cells =
      this.#cellAt < 0 ? [] : [...row.subarray(this.#cellAt)].map((cell) => this.#registers.cell(cell))
    return this.judge.state(this.#rules.stateOf(slots, cells))
  }

  /** A deed in words: as a step of a schedule. */
  describe(row: Int32Array, { what, node, choice, crashAfter }: Deed): ScheduleStep {
    const { nodes } = this.#settings
    const name = present(nodes[node], 'node')
    const cut = crashAfter > 0 ? { crashAfter } : {}
    const slot = this.#reactions.slot(node, row[node] as number)
    switch (what) {
      case DELIVER: {
        const inbox = row[this.#inboxAt + node] as number
        const message = this.#inboxes.pool.data[this.#inboxes.place(inbox) + 1 + choice * 2] as number
        const from = present(nodes[this.#inboxes.message(message).from], 'sender')
        const nth = this.#inboxes.nth(inbox, message)
        return { node: name, do: 'deliver', from, ...(nth > 0 ? { nth } : {}), ...cut }
      }
      case TIMER: {
        const timer = present(slot.timers[choice], 'timer')
        if (this.#cellAt >= 0 && timer === 'write') return { node: name, do: 'write' }
        return { node: name, do: 'timer', name: timer, ...cut }
      }
      case COMMAND: {
        const { command } = present(this.#reactions.commands(node, slot)[choice], 'stimulus')
        const to = command['to']
        if (this.#cellAt >= 0 && command.do === 'tick' && typeof to === 'number') {
          return { node: name, do: 'tickDisk', to }
        }
        return { node: name, do: 'command', command, ...cut }
      }
      case READ: {
        const call = present(slot.calls[choice >> READING_BITS], 'read')
        assert(call.op === 'read', 'a read')
        const nth = choice & ((1 << READING_BITS) - 1)
        return { node: name, do: 'read', of: call.of, ...(nth > 0 ? { nth } : {}) }
      }
      case ACKNOWLEDGE:
        return { node: name, do: 'tickMem' }
      case LATE_TIMER:
        return { node: name, do: 'write', late: true }
      case LATE_COMMAND: {
        const { command } = present(this.#reactions.commands(node, slot)[choice], 'stimulus')
        const to = command['to']
        return { node: name, do: 'tickDisk', ...(typeof to === 'number' ? { to } : {}), late: true }
      }
      case LAND:
        return { node: name, do: 'land' }
      case DELETE:
        return { node: name, do: 'delete' }
      case CRASHING:
        return { node: name, do: 'crash' }
      case RECOVERY:
        if (this.#cellAt < 0) return { node: name, do: 'recover', ...cut }
        return { node: name, do: 'reincarnate', ...(choice > 0 ? { nth: choice } : {}), ...cut }
      case FLIP: {
        const { flips } = this.#environments.outlook(row[this.#environmentAt] as number)
        const { a, b, cutting } = present(flips[choice], 'flip')
        return {
          node: present(nodes[a], 'node'),
          do: cutting ? 'cut' : 'heal',
          peer: present(nodes[b], 'node'),
        }
      }
      case TICK:
        return { do: 'tick' }
      default:
        return what satisfies never
    }
  }

  #isQuiet(row: Int32Array): boolean {
    if (this.#inboxAt < 0) return true
    const end = this.#inboxAt + this.#count
    for (let column = this.#inboxAt; column < end; column++) if (row[column] !== EMPTY_INBOX) return false
    return true
  }

  #isUp(row: Int32Array, node: number): boolean {
    return this.#reactions.pool.data[this.#reactions.place(node, row[node] as number) + UP] === 1
  }

  /** A timer, or a stimulus that is owed to it. */
  #awaitsSomething(row: Int32Array, node: number): boolean {
    const slot = this.#reactions.place(node, row[node] as number)
    const { data } = this.#reactions.pool
    const timers = data[slot + TIMERS] as number
    if (timers > 0 || (data[slot + READS] as number) > 0 || (data[slot + ACK] as number) >= 0) return true
    const stimuli = data[slot + STIMULI] as number
    for (let each = 0; each < stimuli; each++) {
      const at = slot + SLOT + timers + each * STIMULUS
      const whenDown = data[at] as number
      if (data[at + 1] === 1 && (whenDown < 0 || !this.#isUp(row, whenDown))) return true
    }
    return false
  }

  #deliveries(row: Int32Array, into: Batch, outlook: Outlook, node: number, isUp: boolean): void {
    const inbox = this.#inboxes.place(row[this.#inboxAt + node] as number)
    const choices = this.#inboxes.pool.data[inbox] as number
    for (let each = 0; each < choices; each++) {
      const message = this.#inboxes.pool.data[inbox + 1 + each * 2] as number
      const rest = this.#inboxes.pool.data[inbox + 2 + each * 2] as number
      if (isUp) {
        const reaction = this.#reactions.delivery(node, row[node] as number, message)
        this.#react(row, into, outlook, reaction, DELIVER, node, each, rest, UNCHANGED)
      } else {
        // A message that reaches a node which is down is lost.
        this.#change(row, into, this.#inboxAt + node, rest, DELIVER, node, each)
      }
    }
  }

  /** Every value that a read may return now. */
  #readings(row: Int32Array, into: Batch, outlook: Outlook, node: number, call: number, of: number): void {
    const place = this.#registers.place(row[this.#cellAt + of] as number)
    const { data } = this.#registers.pool
    const count = data[place] as number
    for (let nth = 0; nth < count; nth++) {
      const reaction = this.#reactions.read(node, row[node] as number, of, data[place + 1 + nth] as number)
      this.#react(row, into, outlook, reaction, READ, node, (call << READING_BITS) | nth, -1, UNCHANGED)
    }
  }

  /** A node comes back with what its own register may be read as; without registers there is one way. */
  #recoveries(row: Int32Array, into: Batch, outlook: Outlook, node: number): void {
    const slot = row[node] as number
    if (this.#cellAt < 0) {
      this.#react(
        row,
        into,
        outlook,
        this.#reactions.recovery(node, slot, 0),
        RECOVERY,
        node,
        0,
        -1,
        UNCHANGED,
      )
      return
    }
    const cell = row[this.#cellAt + node] as number
    if (this.#canBeDeleted && this.#registers.cell(cell).is === 'gone') return
    const place = this.#registers.place(cell)
    const count = this.#registers.pool.data[place] as number
    for (let nth = 0; nth < count; nth++) {
      const value = this.#registers.pool.data[place + 1 + nth] as number
      const reaction = this.#reactions.recovery(node, slot, value)
      const taken = this.#registers.takenOver(cell, value)
      this.#react(row, into, outlook, reaction, RECOVERY, node, nth, -1, taken)
    }
  }

  /** A crash of a node whose write is still to come. */
  #late(row: Int32Array, into: Batch, outlook: Outlook, node: number, data: Int32Array, at: number): void {
    const what = data[at] === 0 ? LATE_TIMER : LATE_COMMAND
    const cell = this.#registers.late(row[this.#cellAt + node] as number, data[at + 3] as number)
    const reaction = data[at + 2] as number
    this.#apply(
      row,
      into,
      outlook.cut,
      reaction,
      outlook.crashed,
      what,
      node,
      data[at + 1] as number,
      -1,
      cell,
    )
  }

  #land(row: Int32Array, into: Batch, node: number): void {
    const cell = row[this.#cellAt + node] as number
    if (this.#registers.cell(cell).is !== 'late') return
    this.#change(row, into, this.#cellAt + node, this.#registers.landed(cell), LAND, node, 0)
  }

  #delete(row: Int32Array, into: Batch, node: number): void {
    if (this.#isUp(row, node)) return
    const cells = row.subarray(this.#cellAt, this.#cellAt + this.#count)
    if (!this.#registers.isDeletable(cells, node)) return
    this.#change(row, into, this.#cellAt + node, this.#registers.idOf(GONE), DELETE, node, 0)
  }

  /** A successor that differs in one column. */
  #change(
    row: Int32Array,
    into: Batch,
    column: number,
    value: number,
    what: What,
    node: number,
    choice: number,
  ): void {
    into.rows[into.begin(row) + column] = value
    into.took(risen(this.#sum, column, value - (row[column] as number)), what, node, choice, 0)
  }

  /** Time passes for all nodes that are up; what is seen of it is judged in their order. */
  #tick(row: Int32Array, into: Batch, environment: number): void {
    const n = this.#count
    const { rows } = into
    const at = into.begin(row)
    let sum = risen(this.#sum, this.#environmentAt, environment - (row[this.#environmentAt] as number))
    rows[at + this.#environmentAt] = environment
    let memory = row[this.#memoryAt] as number
    for (let node = 0; node < n; node++) {
      if (!this.#isUp(row, node)) continue
      const reaction = this.#reactions.tick(node, row[node] as number)
      const { data } = this.#reactions.pool
      const next = data[reaction + NEXT] as number
      sum = risen(sum, node, next - (row[node] as number))
      rows[at + node] = next
      memory = this.judge.nextAll(memory, data[reaction + EVENTS] as number)
      if (memory < 0) {
        into.violated(this.judge.violation(memory), TICK, 0, 0, 0)
        return
      }
    }
    sum = risen(sum, this.#memoryAt, memory - (row[this.#memoryAt] as number))
    rows[at + this.#memoryAt] = memory
    into.took(sum, TICK, 0, 0, 0)
  }

  /** What a reaction makes of a world, and what each crash in the middle of it would. */
  #react(
    row: Int32Array,
    into: Batch,
    outlook: Outlook,
    reaction: number,
    what: What,
    node: number,
    choice: number,
    rest: number,
    cell: number,
  ): void {
    const after = what === CRASHING ? outlook.crashed : what === RECOVERY ? outlook.recovered : -1
    this.#apply(row, into, outlook.cut, reaction, after, what, node, choice, rest, cell)
    const { data } = this.#reactions.pool
    const cuts = data[reaction + CUTS] as number
    if (cuts === 0) return
    const crashed = after < 0 ? outlook.crashed : this.#environments.outlook(after).crashed
    if (crashed < 0) return
    const first = reaction + REACTION + (data[reaction + SENDS] as number) * 2
    for (let each = 0; each < cuts; each++) {
      this.#apply(
        row,
        into,
        outlook.cut,
        data[first + each] as number,
        crashed,
        what,
        node,
        choice,
        rest,
        cell,
      )
    }
  }

  /** `rest`: the inbox without what was delivered, and `cell`: the own register before what is written; or -1. */
  #apply(
    row: Int32Array,
    into: Batch,
    cut: Uint8Array | null,
    reaction: number,
    environment: number,
    what: What,
    node: number,
    choice: number,
    rest: number,
    cell: number,
  ): void {
    const n = this.#count
    const { data } = this.#reactions.pool
    const { rows } = into
    const at = into.begin(row)
    const next = data[reaction + NEXT] as number
    let sum = risen(this.#sum, node, next - (row[node] as number))
    rows[at + node] = next
    if (rest >= 0) {
      const column = this.#inboxAt + node
      sum = risen(sum, column, rest - (row[column] as number))
      rows[at + column] = rest
    }
    if (environment >= 0) {
      const column = this.#environmentAt
      sum = risen(sum, column, environment - (row[column] as number))
      rows[at + column] = environment
    }
    const written = data[reaction + WRITES] as number
    if (written >= 0 || cell >= 0) {
      const column = this.#cellAt + node
      const before = row[column] as number
      const kept = cell >= 0 ? cell : before
      const after = written >= 0 ? this.#registers.written(kept, written) : kept
      sum = risen(sum, column, after - before)
      rows[at + column] = after
    }
    let read = reaction + REACTION
    const sendsEnd = read + (data[reaction + SENDS] as number) * 2
    for (; read < sendsEnd; read += 2) {
      const to = data[read] as number
      if (cut !== null && cut[node * n + to] === 1) continue
      const column = this.#inboxAt + to
      const before = rows[at + column] as number
      const after = this.#inboxes.append(before, data[read + 1] as number)
      sum = risen(sum, column, after - before)
      rows[at + column] = after
    }
    const crashAfter = data[reaction + CRASH_AFTER] as number
    const events = data[reaction + EVENTS] as number
    if (events !== NO_EVENTS) {
      const before = row[this.#memoryAt] as number
      const memory = this.#forFan ? events : this.judge.nextAll(before, events)
      if (memory < 0) {
        into.violated(this.judge.violation(memory), what, node, choice, crashAfter)
        return
      }
      sum = risen(sum, this.#memoryAt, memory - before)
      rows[at + this.#memoryAt] = memory
    }
    into.took(sum, what, node, choice, crashAfter)
  }

  #settledEvent(row: Int32Array): number {
    const n = this.#count
    const environment = row[this.#environmentAt] as number
    let upMask = 0
    for (let node = 0; node < n; node++) if (this.#isUp(row, node)) upMask += 2 ** node
    const key = this.#environments.outlook(environment).cutId * 2 ** n + upMask
    const known = this.#settledEvents.get(key)
    if (known !== undefined) return known
    const { nodes } = this.#settings
    const up = [...nodes.keys()].filter((node) => this.#isUp(row, node))
    const connected = connectedPairs(nodes, up, this.#environments.valueOf(environment).cut)
    const event = this.#events.idOf({ type: 'settled', at: 0, connected })
    this.#settledEvents.set(key, event)
    return event
  }
}

/** The budget may come with more than that; what does not count must not tell worlds apart. */
function environmentOf({ crashes, recoveries, flips, ticks }: Budget) {
  return { crashes, recoveries, flips, ticks, cut: [] }
}
