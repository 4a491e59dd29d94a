/**
 * A small world as a row of integers, and all that can happen next.
 *
 * Every node's local state, every inbox, the monitor's memory and what is left of the fault budget are interned to
 * small numbers, each by the file of its name; a world is one row of them, and a transition is a few table lookups.
 * The rules are those of the world without time in sim/still.ts, against which the tests compare.
 *
 * Columns: a slot a node, an inbox a node, the monitor, the environment.
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
  type History,
  isCut,
  type ScheduleStep,
  StillRules,
} from '../sim/index.ts'
import type { Monitor } from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import {
  type Batch,
  COMMAND,
  CRASHING,
  DELIVER,
  type Deed,
  FLIP,
  FOLLOW,
  RECOVERY,
  TICK,
  TIMER,
  type What,
} from './batch.ts'
import { Environments, type Flip, type Move, type Outlook } from './environments.ts'
import { risen, sumOf } from './hash.ts'
import { EMPTY_INBOX, Inboxes } from './inboxes.ts'
import { Interner } from './intern.ts'
import { Judge, NO_EVENTS, type Violation } from './judge.ts'
import {
  CRASH,
  CRASH_AFTER,
  CUTS,
  EVENTS,
  LEADS,
  NEXT,
  REACTION,
  RECOVER,
  Reactions,
  SENDS,
  SLOT,
  STIMULI,
  STIMULUS,
  TIMERS,
  UP,
} from './reactions.ts'

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
  readonly #timersAlways: boolean
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

  constructor(settings: ModelSettings) {
    const { nodes, definition, options, order, history, monitor } = settings
    this.#settings = settings
    this.#count = nodes.length
    this.#timersAlways = settings.timers === 'any'
    this.columns = nodes.length * 2 + 2
    this.#between = new Int32Array(this.columns)
    this.#rules = new StillRules(definition, nodes, options, order, false, history)
    assert(
      !(settings.budget.ticks > 0) || this.#rules.tick > 0,
      `${definition.name} does not say how long a tick is`,
    )
    this.#inboxes = new Inboxes(order, history)
    this.judge = new Judge(monitor, this.#events)
    this.#reactions = new Reactions(this.#rules, this.#inboxes, this.judge, settings.budget.crashes > 0)
    this.#environments = new Environments(nodes.length, history)
  }

  /** How often protocol code was run. */
  get runs(): number {
    return this.#reactions.runs
  }

  /** No column holds a number above this, so far. */
  get largest(): number {
    return Math.max(this.#reactions.size, this.#inboxes.size, this.judge.size, this.#environments.size)
  }

  /** About what the interned pieces take, beside the rows of worlds. */
  get bytes(): number {
    return this.#reactions.bytes + this.#inboxes.bytes + this.judge.bytes
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
      ...inboxes,
      memory,
      this.#environments.idOf({ ...this.#settings.budget, cut: [], ends: world.ends }),
    ])
    return { row, violation }
  }

  /** Whether anything but faults can still happen: a message or a timer that is due, or news that is owed. */
  isBusy(row: Int32Array): boolean {
    if (!this.#isQuiet(row)) return true
    if (this.#environments.outlook(row[this.#count * 2 + 1] as number).busy) return true
    for (let node = 0; node < this.#count; node++) {
      if (this.#isUp(row, node) && this.#awaitsSomething(row, node)) return true
    }
    return false
  }

  /** Puts every successor of a world into the batch. */
  expand(row: Int32Array, into: Batch): void {
    const n = this.#count
    const outlook = this.#environments.outlook(row[n * 2 + 1] as number)
    const timersMayFire = this.#timersAlways || this.#isQuiet(row)
    this.#sum = sumOf(row, 0, this.columns)
    for (let node = 0; node < n; node++) {
      const slot = this.#reactions.place(node, row[node] as number)
      // The pool's array is replaced when it grows, but this slot stands in the old one as well.
      const { data } = this.#reactions.pool
      const isUp = data[slot + UP] === 1
      if (row[n + node] !== EMPTY_INBOX) this.#deliveries(row, into, outlook, node, isUp)
      if (!isUp) {
        if (outlook.recovered >= 0) {
          this.#react(row, into, outlook, data[slot + RECOVER] as number, RECOVERY, node, 0, -1)
        }
        continue
      }
      const timers = data[slot + TIMERS] as number
      for (let each = 0; timersMayFire && each < timers; each++) {
        this.#react(row, into, outlook, data[slot + SLOT + each] as number, TIMER, node, each, -1)
      }
      const stimuli = data[slot + STIMULI] as number
      for (let each = 0; each < stimuli; each++) {
        const at = slot + SLOT + timers + each * STIMULUS
        const whenDown = data[at] as number
        if (whenDown >= 0 && this.#isUp(row, whenDown)) continue
        this.#react(row, into, outlook, data[at + 2] as number, COMMAND, node, each, -1)
      }
      if ((outlook.crashed[node] as number) >= 0) {
        this.#react(row, into, outlook, data[slot + CRASH] as number, CRASHING, node, 0, -1)
      }
    }
    for (let each = 0; each < outlook.moves.length; each++) {
      this.#move(row, into, outlook.moves[each] as Move, each)
    }
    for (let each = 0; each < outlook.flips.length; each++) {
      this.#change(row, into, n * 2 + 1, (outlook.flips[each] as Flip).next, FLIP, 0, each)
    }
    if (outlook.ticked >= 0) this.#tick(row, into, outlook.ticked)
  }

  /** What is wrong with this world as it stands, whatever happens next. */
  violationAsItStands(row: Int32Array): Violation | null {
    return (this.isBusy(row) ? null : this.settledViolation(row)) ?? this.#quietViolation(row)
  }

  /** What the specifications say of this world, if it is taken to be settled; null when they have no objection. */
  settledViolation(row: Int32Array): Violation | null {
    const next = this.judge.next(row[this.#count * 2] as number, this.#settledEvent(row))
    return next < 0 ? this.judge.violation(next) : null
  }

  /** What they say of two leaders between whom a link is up and nothing in flight; null where there are none. */
  #quietViolation(row: Int32Array): Violation | null {
    const { closed } = this.#environments.outlook(row[this.#count * 2 + 1] as number)
    if (closed === null) return null
    for (let a = 0; a < this.#count; a++) {
      if (!this.#leads(row, a)) continue
      for (let b = a + 1; b < this.#count; b++) {
        if (!this.#leads(row, b) || !this.#isQuietBetween(row, a, b)) continue
        const { nodes } = this.#settings
        const between = [present(nodes[a], 'node'), present(nodes[b], 'node')] as const
        const event = this.#events.idOf({ type: 'quiet', at: 0, between })
        const next = this.judge.next(row[this.#count * 2] as number, event)
        if (next < 0) return this.judge.violation(next)
      }
    }
    return null
  }

  #leads(row: Int32Array, node: number): boolean {
    return this.#reactions.pool.data[this.#reactions.place(node, row[node] as number) + LEADS] === 1
  }

  #isQuietBetween(row: Int32Array, a: number, b: number): boolean {
    const n = this.#count
    const { cut } = this.#environments.outlook(row[n * 2 + 1] as number)
    if (isCut(cut, a, b)) return false
    return !this.#inboxes.has(row[n + a] as number, b) && !this.#inboxes.has(row[n + b] as number, a)
  }

  /** A deed in words: as a step of a schedule. */
  describe(row: Int32Array, { what, node, choice, crashAfter }: Deed): ScheduleStep {
    const { nodes } = this.#settings
    const name = present(nodes[node], 'node')
    const cut = crashAfter > 0 ? { crashAfter } : {}
    const slot = this.#reactions.slot(node, row[node] as number)
    switch (what) {
      case DELIVER: {
        const inbox = row[this.#count + node] as number
        const message = this.#inboxes.pool.data[this.#inboxes.place(inbox) + 1 + choice * 2] as number
        const from = present(nodes[this.#inboxes.message(message).from], 'sender')
        const nth = this.#inboxes.nth(inbox, message)
        return { node: name, do: 'deliver', from, ...(nth > 0 ? { nth } : {}), ...cut }
      }
      case TIMER:
        return { node: name, do: 'timer', name: present(slot.timers[choice], 'timer'), ...cut }
      case COMMAND: {
        const { command } = present(this.#reactions.commands(node, slot)[choice], 'stimulus')
        return { node: name, do: 'command', command, ...cut }
      }
      case CRASHING:
        return { node: name, do: 'crash' }
      case RECOVERY:
        return { node: name, do: 'recover', ...cut }
      case FOLLOW:
      case FLIP: {
        const { flips, moves } = this.#environments.outlook(row[this.#count * 2 + 1] as number)
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
    const n = this.#count
    for (let column = n; column < n * 2; column++) if (row[column] !== EMPTY_INBOX) return false
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
    if (timers > 0) return true
    const stimuli = data[slot + STIMULI] as number
    for (let each = 0; each < stimuli; each++) {
      const at = slot + SLOT + timers + each * STIMULUS
      const whenDown = data[at] as number
      if (data[at + 1] === 1 && (whenDown < 0 || !this.#isUp(row, whenDown))) return true
    }
    return false
  }

  #deliveries(row: Int32Array, into: Batch, outlook: Outlook, node: number, isUp: boolean): void {
    const n = this.#count
    const inbox = this.#inboxes.place(row[n + node] as number)
    const choices = this.#inboxes.pool.data[inbox] as number
    for (let each = 0; each < choices; each++) {
      const message = this.#inboxes.pool.data[inbox + 1 + each * 2] as number
      const rest = this.#inboxes.pool.data[inbox + 2 + each * 2] as number
      if (outlook.closed !== null && !this.#mayCome(outlook.closed, node, message)) continue
      if (isUp) {
        const reaction = this.#reactions.delivery(node, row[node] as number, message)
        this.#react(row, into, outlook, reaction, DELIVER, node, each, rest)
      } else {
        // A message that reaches a node which is down is lost.
        this.#change(row, into, n + node, rest, DELIVER, node, each)
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
    const n = this.#count
    const outlook = this.#environments.outlook(next)
    const rest = this.#inboxes.afterMove(row[n + at] as number, peer)
    const what = owed ? FOLLOW : FLIP
    const reaction = this.#reactions.link(at, row[at] as number, peer, up)
    if (this.#settings.history.slack > 0) {
      this.#react(row, into, outlook, reaction, what, at, choice, rest, next)
      return
    }
    const between = this.#between
    between.set(row)
    between[n + peer] = this.#inboxes.afterMove(row[n + peer] as number, at)
    const memory = this.#perform(row, between, 0, outlook.ahead, reaction, next, at, rest, false)
    if (memory < 0) {
      into.violated(this.judge.violation(memory), what, at, choice, 0)
      return
    }
    const other = this.#reactions.link(peer, between[peer] as number, at, up)
    const sum = this.#sum
    this.#sum = sumOf(between, 0, this.columns)
    this.#apply(between, into, outlook.ahead, other, -1, what, at, choice, -1, peer)
    this.#sum = sum
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
    let sum = risen(this.#sum, n * 2 + 1, environment - (row[n * 2 + 1] as number))
    rows[at + n * 2 + 1] = environment
    let memory = row[n * 2] as number
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
    sum = risen(sum, n * 2, memory - (row[n * 2] as number))
    rows[at + n * 2] = memory
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
    environment = -1,
  ): void {
    const after =
      what === CRASHING
        ? (outlook.crashed[node] as number)
        : what === RECOVERY
          ? outlook.recovered
          : environment
    this.#apply(row, into, outlook.ahead, reaction, after, what, node, choice, rest)
    const { data } = this.#reactions.pool
    const cuts = data[reaction + CUTS] as number
    if (cuts === 0) return
    const { crashed: byNode } = after < 0 ? outlook : this.#environments.outlook(after)
    const crashed = byNode[node] as number
    if (crashed < 0) return
    const first = reaction + REACTION + (data[reaction + SENDS] as number) * 2
    for (let each = 0; each < cuts; each++) {
      this.#apply(row, into, outlook.ahead, data[first + each] as number, crashed, what, node, choice, rest)
    }
  }

  /** `actor`: whose reaction it is, where that is not the node that the step is told of. */
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
    actor = node,
  ): void {
    const crashAfter = this.#reactions.pool.data[reaction + CRASH_AFTER] as number
    const crashes = what === CRASHING || crashAfter > 0
    const at = into.begin(row)
    const memory = this.#perform(row, into.rows, at, ahead, reaction, environment, actor, rest, crashes)
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
    crashes: boolean,
  ): number {
    const n = this.#count
    const { data } = this.#reactions.pool
    const next = data[reaction + NEXT] as number
    let sum = risen(this.#sum, node, next - (row[node] as number))
    rows[at + node] = next
    if (rest >= 0) {
      sum = risen(sum, n + node, rest - (row[n + node] as number))
      rows[at + n + node] = rest
    }
    if (environment >= 0) {
      sum = risen(sum, n * 2 + 1, environment - (row[n * 2 + 1] as number))
      rows[at + n * 2 + 1] = environment
    }
    let read = reaction + REACTION
    const sendsEnd = read + (data[reaction + SENDS] as number) * 2
    for (; read < sendsEnd; read += 2) {
      const to = data[read] as number
      const by = ahead === null ? 0 : (ahead[node * n + to] as number)
      if (by < 0) continue
      const message = data[read + 1] as number
      const before = rows[at + n + to] as number
      const after = this.#inboxes.append(before, by === 0 ? message : this.#inboxes.ahead(message, by))
      sum = risen(sum, n + to, after - before)
      rows[at + n + to] = after
    }
    if (crashes && this.#rules.reported) sum = this.#loseOnCrash(rows, at, node, sum)
    this.#made = sum
    const before = row[n * 2] as number
    const events = data[reaction + EVENTS] as number
    if (events === NO_EVENTS) return before
    const memory = this.judge.nextAll(before, events)
    if (memory < 0) return memory
    this.#made = risen(sum, n * 2, memory - before)
    rows[at + n * 2] = memory
    return memory
  }

  /** Frames to a process that crashed are lost, and those from it in an incarnation that its peer has not seen. */
  #loseOnCrash(rows: Int32Array, at: number, crashed: number, sum: number): number {
    const n = this.#count
    let result = sum
    for (let node = 0; node < n; node++) {
      const before = rows[at + n + node] as number
      const after = node === crashed ? EMPTY_INBOX : this.#inboxes.fromCrashed(before, crashed)
      result = risen(result, n + node, after - before)
      rows[at + n + node] = after
    }
    return result
  }

  #settledEvent(row: Int32Array): number {
    const n = this.#count
    const environment = row[n * 2 + 1] as number
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
