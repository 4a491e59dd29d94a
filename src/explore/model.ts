/**
 * A small world as rows of integers, and all that can happen next.
 *
 * Every node's local state, every inbox, the monitor's memory and what is left of the fault budget are interned
 * to small numbers; a world is one row of them. The protocol's own, readable code runs once for each distinct
 * (local state, input); what it did is remembered as a `Reaction`, and from then on a transition is a few table
 * lookups. The rules are those of the world without time in sim/still.ts, which the tests compare against.
 *
 * Columns: a slot a node, an inbox a node, the monitor, the environment (budget and cut links).
 */
import type {
  Command,
  Definition,
  Input,
  Message,
  NodeId,
  Outcome,
  Plain,
  PlainObject,
} from '../core/index.ts'
import { canonical, present } from '../core/index.ts'
import {
  append,
  type Budget,
  connectedPairs,
  deliverable,
  flipped,
  isCut,
  type ScheduleStep,
  type Slot,
  type SlotStep,
  StillRules,
} from '../sim/index.ts'
import type { Monitor, MonitorMemory } from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import { Interner, PairTable } from './intern.ts'

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

/** What a node does on an input, in numbers. */
type Reaction = {
  readonly next: number
  /** Receiver and message, in turn. */
  readonly sends: Int32Array
  readonly events: Int32Array
  /** The same, cut short by a crash after some of its effects. */
  readonly cuts: readonly CutReaction[]
}
type CutReaction = Reaction & { readonly crashAfter: number }

type CompiledSlot = {
  readonly up: boolean
  readonly timers: readonly { readonly name: string; readonly reaction: Reaction }[]
  readonly stimuli: readonly {
    readonly command: Command
    /** Place of the peer that must be down, or -1. */
    readonly whenDown: number
    readonly reaction: Reaction
  }[]
  readonly crash: Reaction | null
  readonly recover: Reaction | null
}

type CompiledInbox = {
  readonly choices: readonly {
    readonly message: number
    readonly from: number
    readonly nth: number
    readonly rest: number
  }[]
}

type Environment = Budget & { readonly cut: readonly (readonly [number, number])[] }

type CompiledEnvironment = {
  /** The environment after a crash, a recovery, a flip of each pair; -1 where the budget is used up. */
  readonly crashed: number
  readonly recovered: number
  readonly flips: readonly { readonly a: number; readonly b: number; readonly cutting: boolean; readonly next: number }[]
  /** 1 where a link is cut, by sender and receiver. */
  readonly cut: Uint8Array
  readonly anyCut: boolean
  readonly cutId: number
}

export type Violation = { readonly spec: string; readonly why: string }

/** Takes successors: rows are read from `row` at once; what was done is said in numbers (see `Model.describe`). */
export type Sink = {
  take(row: Int32Array, deed: Deed, node: number, choice: number, crashAfter: number): void
  /** Given instead of the row when taking that step violates a specification. */
  violation(violation: Violation, deed: Deed, node: number, choice: number, crashAfter: number): void
}

export const Deeds = ['deliver', 'timer', 'command', 'crash', 'recover', 'flip'] as const
const DELIVER = 0
const TIMER = 1
const COMMAND = 2
const CRASH = 3
const RECOVER = 4
const FLIP = 5
export type Deed = 0 | 1 | 2 | 3 | 4 | 5

/** Deeds from here on are faults: not something that is bound to happen. */
export const FIRST_FAULT: Deed = CRASH

const NO_CUTS: readonly CutReaction[] = []

export class Model {
  readonly columns: number
  /** How often protocol code was run. */
  runs = 0
  readonly goalCounts: number[]
  readonly judgedCounts: number[]
  readonly #settings: ModelSettings
  readonly #rules: StillRules
  readonly #count: number
  readonly #slots: readonly Interner<Slot>[]
  readonly #compiled: (CompiledSlot | undefined)[][]
  readonly #messages = new Interner<{ from: number; body: Message }>()
  readonly #inboxes = new Interner<readonly number[]>()
  readonly #compiledInboxes: (CompiledInbox | undefined)[] = []
  readonly #appended = new PairTable()
  readonly #deliveries: readonly PairTable[]
  readonly #reactions: Reaction[] = []
  readonly #events = new Interner<Observation>()
  readonly #memories = new Interner<MonitorMemory>()
  readonly #judged = new PairTable()
  readonly #violations: Violation[] = []
  readonly #environments = new Interner<Environment>()
  readonly #compiledEnvironments: (CompiledEnvironment | undefined)[] = []
  readonly #cuts = new Interner<Plain>()
  readonly #settledEvents = new Map<number, number>()
  readonly #scratch: Int32Array

  constructor(settings: ModelSettings) {
    const { nodes, monitor } = settings
    this.#settings = settings
    this.#rules = new StillRules(settings.definition, nodes, settings.options, settings.order)
    this.#count = nodes.length
    this.columns = nodes.length * 2 + 2
    this.#scratch = new Int32Array(this.columns)
    this.#slots = nodes.map(() => new Interner<Slot>())
    this.#compiled = nodes.map(() => [])
    this.#deliveries = nodes.map(() => new PairTable())
    this.goalCounts = monitor.goals.map(() => 0)
    this.judgedCounts = monitor.specs.map(() => 0)
  }

  /** The greatest number that any column may hold so far. */
  get largest(): number {
    const slots = this.#slots.reduce((most, { size }) => Math.max(most, size), 0)
    return Math.max(slots, this.#inboxes.size, this.#memories.size, this.#environments.size)
  }

  begin(): { readonly row: Int32Array; readonly violation: Violation | null } {
    const { initial, budget, monitor } = this.#settings
    let memory = this.#memories.idOf(monitor.begin())
    let violation: Violation | null = null
    const world = this.#rules.begin(initial, (seen) => {
      const next = this.#monitored(memory, this.#events.idOf(seen))
      if (next < 0) violation ??= this.#violations[-next - 2] ?? null
      else memory = next
    })
    const row = new Int32Array(this.columns)
    for (const [index, slot] of world.slots.entries()) row[index] = this.#slotId(index, slot)
    for (const [index, inbox] of world.inboxes.entries()) {
      row[this.#count + index] = this.#inboxes.idOf(inbox.map((message) => this.#messages.idOf(message)))
    }
    row[this.#count * 2] = memory
    row[this.#count * 2 + 1] = this.#environments.idOf({ ...budget, cut: [] })
    return { row, violation }
  }

  /** Hands every successor of a world to the sink. False when nothing but faults could still happen. */
  expand(row: Int32Array, sink: Sink): boolean {
    const n = this.#count
    const environment = this.#environment(row[n * 2 + 1] as number)
    const quiet = this.#isQuiet(row)
    const timersMayFire = quiet || this.#settings.timers === 'any'
    let busy = !quiet
    for (let node = 0; node < n; node++) {
      const slotId = row[node] as number
      const slot = this.#slot(node, slotId)
      const inbox = this.#inbox(row[n + node] as number)
      const { choices } = inbox
      for (let at = 0; at < choices.length; at++) {
        const choice = choices[at] as CompiledInbox['choices'][number]
        if (slot.up) {
          const reaction = this.#delivery(node, slotId, choice.message)
          this.#emit(row, sink, reaction, environment, DELIVER, node, at, choice.rest)
        } else {
          this.#emitLoss(row, sink, node, at, choice.rest)
        }
      }
      if (!slot.up) {
        if (slot.recover !== null && environment.recovered >= 0) {
          this.#emit(row, sink, slot.recover, environment, RECOVER, node, 0, -1)
        }
        continue
      }
      if (slot.timers.length > 0) {
        busy = true
        if (timersMayFire) {
          for (let at = 0; at < slot.timers.length; at++) {
            const { reaction } = slot.timers[at] as CompiledSlot['timers'][number]
            this.#emit(row, sink, reaction, environment, TIMER, node, at, -1)
          }
        }
      }
      for (let at = 0; at < slot.stimuli.length; at++) {
        const { whenDown, reaction } = slot.stimuli[at] as CompiledSlot['stimuli'][number]
        if (whenDown >= 0 && this.#slot(whenDown, row[whenDown] as number).up) continue
        busy = true
        this.#emit(row, sink, reaction, environment, COMMAND, node, at, -1)
      }
      if (slot.crash !== null && environment.crashed >= 0) {
        this.#emit(row, sink, slot.crash, environment, CRASH, node, 0, -1)
      }
    }
    for (let at = 0; at < environment.flips.length; at++) {
      const scratch = this.#scratch
      scratch.set(row)
      scratch[n * 2 + 1] = (environment.flips[at] as CompiledEnvironment['flips'][number]).next
      sink.take(scratch, FLIP, 0, at, 0)
    }
    return busy
  }

  /** What the settled specifications say of this world, were it settled: null when they hold or are not concerned. */
  settledViolation(row: Int32Array): Violation | null {
    const memory = row[this.#count * 2] as number
    const next = this.#monitored(memory, this.#settledEvent(row))
    return next < 0 ? present(this.#violations[-next - 2], 'violation') : null
  }

  /** A deed in words: as a step of a schedule. */
  describe(row: Int32Array, deed: Deed, node: number, choice: number, crashAfter: number): ScheduleStep {
    const { nodes } = this.#settings
    const name = present(nodes[node], 'node')
    const cut = crashAfter > 0 ? { crashAfter } : {}
    const slot = this.#slot(node, row[node] as number)
    switch (deed) {
      case DELIVER: {
        const inbox = this.#inbox(row[this.#count + node] as number)
        const { from, nth } = present(inbox.choices[choice], 'message')
        const which = nth > 0 ? { nth } : {}
        return { node: name, do: 'deliver', from: present(nodes[from], 'sender'), ...which, ...cut }
      }
      case TIMER:
        return { node: name, do: 'timer', name: present(slot.timers[choice], 'timer').name, ...cut }
      case COMMAND:
        return { node: name, do: 'command', command: present(slot.stimuli[choice], 'stimulus').command, ...cut }
      case CRASH:
        return { node: name, do: 'crash' }
      case RECOVER:
        return { node: name, do: 'recover', ...cut }
      case FLIP: {
        const { flips } = this.#environment(row[this.#count * 2 + 1] as number)
        const { a, b, cutting } = present(flips[choice], 'flip')
        return {
          node: present(nodes[a], 'node'),
          do: cutting ? 'cut' : 'heal',
          peer: present(nodes[b], 'node'),
        }
      }
      default:
        return deed satisfies never
    }
  }

  #isQuiet(row: Int32Array): boolean {
    for (let node = 0; node < this.#count; node++) {
      if (this.#inbox(row[this.#count + node] as number).choices.length > 0) return false
    }
    return true
  }

  /** Emits what a reaction makes of a world, and what each of its crashes in the middle would. */
  #emit(
    row: Int32Array,
    sink: Sink,
    reaction: Reaction,
    environment: CompiledEnvironment,
    deed: Deed,
    node: number,
    choice: number,
    rest: number,
  ): void {
    const environmentAfter =
      deed === CRASH ? environment.crashed : deed === RECOVER ? environment.recovered : -1
    this.#emitOne(row, sink, reaction, environment, environmentAfter, deed, node, choice, rest, 0)
    if (reaction.cuts.length === 0) return
    const base = environmentAfter < 0 ? environment : this.#environment(environmentAfter)
    if (base.crashed < 0) return
    for (const cut of reaction.cuts) {
      this.#emitOne(row, sink, cut, environment, base.crashed, deed, node, choice, rest, cut.crashAfter)
    }
  }

  #emitOne(
    row: Int32Array,
    sink: Sink,
    reaction: Reaction,
    environment: CompiledEnvironment,
    environmentAfter: number,
    deed: Deed,
    node: number,
    choice: number,
    rest: number,
    crashAfter: number,
  ): void {
    const n = this.#count
    const scratch = this.#scratch
    for (let column = 0; column < scratch.length; column++) scratch[column] = row[column] as number
    scratch[node] = reaction.next
    if (rest >= 0) scratch[n + node] = rest
    if (environmentAfter >= 0) scratch[n * 2 + 1] = environmentAfter
    const { sends, events } = reaction
    for (let at = 0; at < sends.length; at += 2) {
      const to = sends[at] as number
      if (environment.anyCut && environment.cut[node * n + to] === 1) continue
      scratch[n + to] = this.#append(scratch[n + to] as number, sends[at + 1] as number)
    }
    let memory = scratch[n * 2] as number
    for (let at = 0; at < events.length; at++) {
      const next = this.#monitored(memory, events[at] as number)
      if (next < 0) {
        sink.violation(present(this.#violations[-next - 2], 'violation'), deed, node, choice, crashAfter)
        return
      }
      memory = next
    }
    scratch[n * 2] = memory
    sink.take(scratch, deed, node, choice, crashAfter)
  }

  /** A message that reaches a node which is down is lost. */
  #emitLoss(row: Int32Array, sink: Sink, node: number, choice: number, rest: number): void {
    const scratch = this.#scratch
    scratch.set(row)
    scratch[this.#count + node] = rest
    sink.take(scratch, DELIVER, node, choice, 0)
  }

  #slotId(node: number, slot: Slot): number {
    return present(this.#slots[node], 'slots').idOf(slot)
  }

  #slot(node: number, id: number): CompiledSlot {
    const compiled = this.#compiled[node] as (CompiledSlot | undefined)[]
    return compiled[id] ?? this.#compileSlot(node, id)
  }

  #compileSlot(node: number, id: number): CompiledSlot {
    const still = present(this.#rules.stillNodes[node], 'node')
    const slot = present(this.#slots[node], 'slots').valueOf(id)
    const on = (input: Input): Reaction =>
      this.#reaction(node, slot, (crashAfter) => still.step(slot, input, crashAfter))
    const compiled: CompiledSlot = {
      up: slot.up,
      timers: slot.timers.map((name) => ({ name, reaction: on({ type: 'timer', name }) })),
      stimuli: slot.up
        ? this.#rules.stimuliOf(node, slot).map(({ command, whenDown }) => ({
            command,
            whenDown: whenDown === null ? -1 : this.#settings.nodes.indexOf(whenDown),
            reaction: on({ type: 'command', command }),
          }))
        : [],
      crash: slot.up ? this.#reaction(node, slot, () => still.crash(slot)) : null,
      recover: slot.up ? null : this.#reaction(node, slot, (crashAfter) => still.boot(slot.stable, null, crashAfter)),
    }
    const all = this.#compiled[node] as (CompiledSlot | undefined)[]
    all[id] = compiled
    return compiled
  }

  #delivery(node: number, slotId: number, message: number): Reaction {
    const table = this.#deliveries[node] as PairTable
    const known = table.get(slotId, message)
    if (known >= 0) return this.#reactions[known] as Reaction
    const still = present(this.#rules.stillNodes[node], 'node')
    const slot = present(this.#slots[node], 'slots').valueOf(slotId)
    const { from, body } = this.#messages.valueOf(message)
    const sender = present(this.#settings.nodes[from], 'sender')
    const input: Input = { type: 'message', from: sender, body, receipt: null }
    const reaction = this.#reaction(node, slot, (crashAfter) => still.step(slot, input, crashAfter))
    table.set(slotId, message, this.#reactions.length)
    this.#reactions.push(reaction)
    return reaction
  }

  #reaction(node: number, slot: Slot, run: (crashAfter: number | null) => SlotStep): Reaction {
    this.runs += 1
    const whole = run(null)
    const reaction = this.#inNumbers(node, whole)
    const cuts = this.#cutsOf(node, slot, whole, run)
    return cuts.length === 0 ? reaction : { ...reaction, cuts }
  }

  /**
   * The crashes in the middle of a step that differ from a crash before or after it: some of what it persists and
   * sends has been done, and some has not.
   */
  #cutsOf(
    node: number,
    slot: Slot,
    whole: SlotStep,
    run: (crashAfter: number | null) => SlotStep,
  ): readonly CutReaction[] {
    const traceOf = ({ slot: after, sends }: SlotStep): string => canonical([after.stable, sends])
    const seen = new Set([canonical([slot.stable, []]), traceOf(whole)])
    const cuts: CutReaction[] = []
    for (let crashAfter = 1; crashAfter < whole.effects.length; crashAfter++) {
      const cut = run(crashAfter)
      const trace = traceOf(cut)
      if (seen.has(trace)) continue
      seen.add(trace)
      cuts.push({ ...this.#inNumbers(node, cut), crashAfter })
    }
    return cuts
  }

  #inNumbers(node: number, { slot, sends, seen }: SlotStep): Reaction {
    const { nodes } = this.#settings
    return {
      next: this.#slotId(node, slot),
      sends: Int32Array.from(
        sends.flatMap(({ to, body }) => [nodes.indexOf(to), this.#messages.idOf({ from: node, body })]),
      ),
      events: Int32Array.from(seen.map((event) => this.#events.idOf(event))),
      cuts: NO_CUTS,
    }
  }

  #append(inbox: number, message: number): number {
    const known = this.#appended.get(inbox, message)
    if (known >= 0) return known
    const before = this.#inboxes.valueOf(inbox).map((id) => this.#messages.valueOf(id))
    const after = append(before, this.#messages.valueOf(message), this.#settings.order)
    const id = this.#inboxes.idOf(after.map((inFlight) => this.#messages.idOf(inFlight)))
    this.#appended.set(inbox, message, id)
    return id
  }

  #inbox(id: number): CompiledInbox {
    return this.#compiledInboxes[id] ?? this.#compileInbox(id)
  }

  #compileInbox(id: number): CompiledInbox {
    const ids = this.#inboxes.valueOf(id)
    const inbox = ids.map((message) => this.#messages.valueOf(message))
    const compiled = {
      choices: deliverable(inbox, this.#settings.order).map(({ place, nth }) => ({
        message: ids[place] as number,
        from: present(inbox[place], 'message').from,
        nth,
        rest: this.#inboxes.idOf(ids.toSpliced(place, 1)),
      })),
    }
    this.#compiledInboxes[id] = compiled
    return compiled
  }

  /** The memory after an observation, or -(2 + the number of the violation). */
  #monitored(memory: number, event: number): number {
    const known = this.#judged.get(memory, event)
    return known === -1 ? this.#judge(memory, event) : known
  }

  #judge(memory: number, event: number): number {
    const { monitor } = this.#settings
    const seen = this.#events.valueOf(event)
    const before = this.#memories.valueOf(memory)
    for (const [index, goal] of monitor.goals.entries()) {
      if (monitor.reached(goal, before, seen)) this.goalCounts[index] = (this.goalCounts[index] ?? 0) + 1
    }
    const after = monitor.next(before, seen)
    let result = this.#memories.idOf(after)
    for (const [index, spec] of monitor.specs.entries()) {
      const judgement = monitor.judge(spec, after, seen)
      if (judgement === 'not concerned') continue
      this.judgedCounts[index] = (this.judgedCounts[index] ?? 0) + 1
      if (judgement === 'held' || result < 0) continue
      this.#violations.push({ spec: spec.name, why: judgement.violated })
      result = -1 - this.#violations.length
    }
    this.#judged.set(memory, event, result)
    return result
  }

  #settledEvent(row: Int32Array): number {
    const { nodes } = this.#settings
    const environmentId = row[this.#count * 2 + 1] as number
    const { cutId } = this.#environment(environmentId)
    let upMask = 0
    for (let node = 0; node < this.#count; node++) {
      if (this.#slot(node, row[node] as number).up) upMask += 2 ** node
    }
    const key = cutId * 2 ** this.#count + upMask
    const known = this.#settledEvents.get(key)
    if (known !== undefined) return known
    const up = [...nodes.keys()].filter((node) => this.#slot(node, row[node] as number).up)
    const connected = connectedPairs(nodes, up, this.#environments.valueOf(environmentId).cut)
    const id = this.#events.idOf({ type: 'settled', at: 0, connected })
    this.#settledEvents.set(key, id)
    return id
  }

  #environment(id: number): CompiledEnvironment {
    return this.#compiledEnvironments[id] ?? this.#compileEnvironment(id)
  }

  #compileEnvironment(id: number): CompiledEnvironment {
    const n = this.#count
    const environment = this.#environments.valueOf(id)
    const { crashes, recoveries, flips, cut } = environment
    const spend = (change: Partial<Environment>): number => this.#environments.idOf({ ...environment, ...change })
    const matrix = new Uint8Array(n * n)
    const flipsHere: CompiledEnvironment['flips'][number][] = []
    for (let a = 0; a < n; a++) {
      for (let b = a + 1; b < n; b++) {
        const isOff = isCut(cut, a, b)
        if (isOff) {
          matrix[a * n + b] = 1
          matrix[b * n + a] = 1
        }
        if (flips > 0) {
          flipsHere.push({ a, b, cutting: !isOff, next: spend({ flips: flips - 1, cut: flipped(cut, a, b) }) })
        }
      }
    }
    const compiled = {
      crashed: crashes > 0 ? spend({ crashes: crashes - 1 }) : -1,
      recovered: recoveries > 0 ? spend({ recoveries: recoveries - 1 }) : -1,
      flips: flipsHere,
      cut: matrix,
      anyCut: cut.length > 0,
      cutId: this.#cuts.idOf(cut),
    }
    this.#compiledEnvironments[id] = compiled
    return compiled
  }
}
