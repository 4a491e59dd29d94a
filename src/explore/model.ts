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
import {
  type Budget,
  connectedPairs,
  GONE,
  type History,
  isCut,
  type ScheduleStep,
  StillRules,
} from '../sim/index.ts'
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
  FOLLOW,
  LAND,
  LATE_COMMAND,
  LATE_TIMER,
  READ,
  RECOVERY,
  TICK,
  TIMER,
  type What,
} from './batch.ts'
import { Environments, type Flip, type Move, type Outlook } from './environments.ts'
import { type FanRules, Fans, type Places } from './fans.ts'
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
  LEADS,
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
import { ANY_WAY } from './ways.ts'

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
  readonly history: History
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
  readonly #judgesStates: boolean
  readonly #judgesSettled: boolean
  readonly #events = new Interner<Observation>()
  readonly #inboxes: Inboxes
  readonly #reactions: Reactions
  readonly #environments: Environments
  readonly #settledEvents = new Map<number, number>()
  /** A world between the two turns of a link whose ends move together. */
  readonly #between: Int32Array
  /** Of the row that is being expanded, see hash.ts. */
  #sum = 0
  /** Of the row that was made last. */
  #made = 0
  /** Whether the successors are for a fan: then events are noted where the monitor's memory stands. */
  #forFan = false

  constructor(settings: ModelSettings) {
    const { nodes, definition, options, order, history, monitor } = settings
    this.#settings = settings
    this.#count = nodes.length
    this.#timersAlways = settings.timers === 'any'
    this.#rules = new StillRules(definition, nodes, options, order, false, history)
    const n = nodes.length
    this.#memoryAt = n
    this.#environmentAt = n + 1
    const hasMessages = definition.kinds.length + definition.linkKinds.length > 0 || this.#rules.reported
    const hasRegisters = this.#rules.model !== null
    this.#inboxAt = hasMessages ? n + 2 : -1
    this.#cellAt = hasRegisters ? n + 2 + (hasMessages ? n : 0) : -1
    this.columns = n + 2 + (hasMessages ? n : 0) + (hasRegisters ? n : 0)
    this.#canBeLate = this.#rules.model?.semantics === 'late'
    this.#canBeDeleted = this.#rules.deletes
    this.#registers = new Registers(this.#rules)
    this.#places = { memoryAt: this.#memoryAt, environmentAt: this.#environmentAt, cellAt: this.#cellAt }
    this.#between = new Int32Array(this.columns)
    assert(
      !(settings.budget.ticks > 0) || this.#rules.tick > 0,
      `${definition.name} does not say how long a tick is`,
    )
    this.#inboxes = new Inboxes(order, history)
    this.judge = new Judge(monitor, this.#events)
    this.#judgesStates = this.judge.speaksOfStates
    this.#judgesSettled = this.judge.judgesSettled
    this.#reactions = new Reactions(
      this.#rules,
      this.#inboxes,
      this.judge,
      this.#registers,
      settings.budget.crashes > 0,
    )
    this.#environments = new Environments(nodes.length, history)
    this.#fans =
      hasRegisters && !hasMessages
        ? new Fans(n, this.columns, this.#places, this.#fanRules(), this.judge)
        : null
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
      this.#environments.idOf({ ...budgetOf(this.#settings.budget), cut: [], ends: world.ends }),
      ...(this.#inboxAt < 0 ? [] : inboxes),
      ...world.cells.map((cell) => this.#registers.idOf(cell)),
    ])
    return { row, violation }
  }

  /** Whether anything but faults can still happen: a message or a timer that is due, or news that is owed. */
  isBusy(row: Int32Array): boolean {
    if (!this.#isQuiet(row)) return true
    if (this.#environments.outlook(row[this.#environmentAt] as number).busy) return true
    for (let node = 0; node < this.#count; node++) {
      if (this.#isUp(row, node) && this.#awaitsSomething(row, node)) return true
    }
    return false
  }

  /** Where in a row stands what the monitor remembers. */
  get memoryAt(): number {
    return this.#memoryAt
  }

  /**
   * Puts every successor of a world into the batch; but for such that are known, if it is said in which way the world was
   * come to, and what the monitor remembered in the one before.
   */
  expand(row: Int32Array, into: Batch, way = ANY_WAY, earlier = 0): void {
    const outlook = this.#environments.outlook(row[this.#environmentAt] as number)
    this.#sum = sumOf(row, 0, this.columns)
    if (this.#fans === null) this.#expandPlainly(row, into, outlook)
    else {
      this.#fans.spread(row, this.#sum, way, earlier, into)
      if (this.#canBeDeleted) this.#deletions(row, into)
    }
    for (let each = 0; each < outlook.moves.length; each++) {
      this.#move(row, into, outlook.moves[each] as Move, each)
    }
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

  #deletions(row: Int32Array, into: Batch): void {
    for (let node = 0; node < this.#count; node++) this.#delete(row, into, node)
  }

  #fanRules(): FanRules {
    return {
      readsOf: (node, slot) => this.#reactions.readsOf(node, slot),
      crashEvents: (node, slot) => this.#reactions.crashEvents(node, slot),
      isForgotten: (node, before, after) => this.#reactions.isForgotten(node, before, after),
      ownMoves: (row, into, node) =>
        this.#alone(row, (outlook) => this.#ownMoves(row, into, outlook, node, true)),
      reads: (row, into, node, of) =>
        this.#alone(row, (outlook) => this.#reads(row, into, outlook, node, of)),
    }
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
      assert(!this.#forFan || whenDown < 0, 'where nodes share registers, no stimulus depends on who is up')
      if (whenDown >= 0 && this.#isUp(row, whenDown)) continue
      this.#react(row, into, outlook, data[at + 2] as number, COMMAND, node, each, -1, UNCHANGED)
    }
    const ack = data[slot + ACK] as number
    if (ack >= 0) {
      const cell = this.#registers.acknowledged(row[this.#cellAt + node] as number)
      this.#react(row, into, outlook, ack, ACKNOWLEDGE, node, 0, -1, cell)
    }
    if ((outlook.crashed[node] as number) < 0) return
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

  /** What is wrong with this world as it stands, whatever happens next. */
  violationAsItStands(row: Int32Array): Violation | null {
    if (this.#judgesStates) {
      const violation = this.#stateViolation(row)
      if (violation !== null) return violation
    }
    const settled = this.#judgesSettled && !this.isBusy(row) ? this.settledViolation(row) : null
    return settled ?? this.#quietViolation(row)
  }

  /** What specifications of states say of this one; null when they have no objection. */
  #stateViolation(row: Int32Array): Violation | null {
    const slots = this.#settings.nodes.map((_, node) => this.#reactions.slot(node, row[node] as number))
    const cells =
      this.#cellAt < 0 ? [] : [...row.subarray(this.#cellAt)].map((cell) => this.#registers.cell(cell))
    return this.judge.state(this.#rules.stateOf(slots, cells))
  }

  /** What the specifications say of this world, if it is taken to be settled; null when they have no objection. */
  settledViolation(row: Int32Array): Violation | null {
    const next = this.judge.next(row[this.#memoryAt] as number, this.#settledEvent(row))
    return next < 0 ? this.judge.violation(next) : null
  }

  /** What they say of two leaders between whom a link is up and nothing in flight; null where there are none. */
  #quietViolation(row: Int32Array): Violation | null {
    const { closed } = this.#environments.outlook(row[this.#environmentAt] as number)
    if (closed === null) return null
    for (let a = 0; a < this.#count; a++) {
      if (!this.#leads(row, a)) continue
      for (let b = a + 1; b < this.#count; b++) {
        if (!this.#leads(row, b) || !this.#isQuietBetween(row, a, b)) continue
        const { nodes } = this.#settings
        const between = [present(nodes[a], 'node'), present(nodes[b], 'node')] as const
        const event = this.#events.idOf({ type: 'quiet', at: 0, between })
        const next = this.judge.next(row[this.#memoryAt] as number, event)
        if (next < 0) return this.judge.violation(next)
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
      case FOLLOW:
      case FLIP: {
        const { flips, moves } = this.#environments.outlook(row[this.#environmentAt] as number)
        const move = moves[choice]
        if (move !== undefined) {
          const peer = present(nodes[move.peer], 'node')
          return { node: name, do: what === FOLLOW ? 'follow' : 'flip', peer, ...cut }
        }
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
      if (outlook.closed !== null && !this.#mayCome(outlook.closed, node, message)) continue
      if (isUp) {
        const reaction = this.#reactions.delivery(node, row[node] as number, message)
        this.#react(row, into, outlook, reaction, DELIVER, node, each, rest, UNCHANGED)
      } else {
        // A message that reaches a node which is down is lost.
        this.#change(row, into, this.#inboxAt + node, rest, DELIVER, node, each)
      }
    }
  }

  /** Whether the receiver sees the link up, and in the message's incarnation. */
  #mayCome(closed: Uint8Array, node: number, message: number): boolean {
    const { from, ahead } = this.#inboxes.message(message)
    return ahead === undefined && closed[node * this.#count + from] === 0
  }

  /** An end of a link moves, and its node is told; where both ends move in one step, the other's node is, too. */
  #move(row: Int32Array, into: Batch, { at, peer, up, next, owed }: Move, choice: number): void {
    if (!this.#isUp(row, at) || (up && !owed && !this.#isUp(row, peer))) return
    const outlook = this.#environments.outlook(next)
    const rest = this.#inboxes.afterMove(row[this.#inboxAt + at] as number, peer)
    const what = owed ? FOLLOW : FLIP
    const reaction = this.#reactions.link(at, row[at] as number, peer, up)
    if (this.#settings.history.slack > 0) {
      this.#react(row, into, outlook, reaction, what, at, choice, rest, UNCHANGED, next)
      return
    }
    const between = this.#between
    between.set(row)
    between[this.#inboxAt + peer] = this.#inboxes.afterMove(row[this.#inboxAt + peer] as number, at)
    const memory = this.#perform(row, between, 0, outlook.ahead, reaction, next, at, rest, UNCHANGED, false)
    if (memory < 0) {
      into.violated(this.judge.violation(memory), what, at, choice, 0)
      return
    }
    const other = this.#reactions.link(peer, between[peer] as number, at, up)
    const sum = this.#sum
    this.#sum = sumOf(between, 0, this.columns)
    this.#apply(between, into, outlook.ahead, other, -1, what, at, choice, -1, UNCHANGED, peer)
    this.#sum = sum
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
      outlook.ahead,
      reaction,
      outlook.crashed[node] as number,
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
    environment = -1,
  ): void {
    const after =
      what === CRASHING
        ? (outlook.crashed[node] as number)
        : what === RECOVERY
          ? outlook.recovered
          : environment
    this.#apply(row, into, outlook.ahead, reaction, after, what, node, choice, rest, cell)
    const { data } = this.#reactions.pool
    const cuts = data[reaction + CUTS] as number
    if (cuts === 0) return
    const { crashed: byNode } = after < 0 ? outlook : this.#environments.outlook(after)
    const crashed = byNode[node] as number
    if (crashed < 0) return
    const first = reaction + REACTION + (data[reaction + SENDS] as number) * 2
    for (let each = 0; each < cuts; each++) {
      this.#apply(
        row,
        into,
        outlook.ahead,
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

  /**
   * `rest`: the inbox without what was delivered, and `cell`: the own register before what is written; or -1. `actor`: whose
   * reaction it is, where that is not the node that the step is told of.
   */
  #apply(
    row: Int32Array,
    into: Batch,
    ahead: Int8Array | null,
    reaction: number,
    environment: number,
    what: What,
    node: number,
    choice: number,
    rest: number,
    cell: number,
    actor = node,
  ): void {
    const crashAfter = this.#reactions.pool.data[reaction + CRASH_AFTER] as number
    const crashes = what === CRASHING || crashAfter > 0
    const at = into.begin(row)
    const memory = this.#perform(row, into.rows, at, ahead, reaction, environment, actor, rest, cell, crashes)
    if (memory < 0) into.violated(this.judge.violation(memory), what, node, choice, crashAfter)
    else into.took(this.#made, what, node, choice, crashAfter)
  }

  /**
   * Makes the successor of `row` in `rows`, where a copy of it stands at `at`; `#made` is then the sum of its columns.
   * Says what the monitor remembers, below 0 when a specification is violated.
   */
  #perform(
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
    let sum = risen(this.#sum, node, next - (row[node] as number))
    rows[at + node] = next
    if (rest >= 0) {
      sum = risen(sum, this.#inboxAt + node, rest - (row[this.#inboxAt + node] as number))
      rows[at + this.#inboxAt + node] = rest
    }
    if (environment >= 0) {
      sum = risen(sum, this.#environmentAt, environment - (row[this.#environmentAt] as number))
      rows[at + this.#environmentAt] = environment
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
      const by = ahead === null ? 0 : (ahead[node * n + to] as number)
      if (by < 0) continue
      const message = data[read + 1] as number
      const before = rows[at + this.#inboxAt + to] as number
      const after = this.#inboxes.append(before, by === 0 ? message : this.#inboxes.ahead(message, by))
      sum = risen(sum, this.#inboxAt + to, after - before)
      rows[at + this.#inboxAt + to] = after
    }
    if (crashes && this.#rules.reported) sum = this.#loseOnCrash(rows, at, node, sum)
    this.#made = sum
    const before = row[this.#memoryAt] as number
    const events = data[reaction + EVENTS] as number
    if (events === NO_EVENTS) return before
    const memory = this.#forFan ? events : this.judge.nextAll(before, events)
    if (memory < 0) return memory
    this.#made = risen(sum, this.#memoryAt, memory - before)
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
      result = risen(result, this.#inboxAt + node, after - before)
      rows[at + this.#inboxAt + node] = after
    }
    return result
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
    const connected = connectedPairs(nodes, up, this.#environments.outlook(environment).cut)
    const event = this.#events.idOf({ type: 'settled', at: 0, connected })
    this.#settledEvents.set(key, event)
    return event
  }
}

/** The budget may come with more than that; what does not count must not tell worlds apart. */
function budgetOf({ crashes, recoveries, flips, ticks }: Budget): Budget {
  return { crashes, recoveries, flips, ticks }
}
