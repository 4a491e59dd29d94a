/**
 * Memoized reactions: protocol code runs once per (local state, input). Its result is compiled to integers in
 * a pool, from which the search reads it.
 */
import { assert, canonical, type Input, present, type Stimulus } from '../../core/index.ts'
import type { Slot, SlotStep, UntimedRules } from '../untimed/index.ts'
import type { Inboxes } from './inboxes.ts'
import { Interner, PairTable } from './intern.ts'
import type { Judge } from './judge.ts'
import { Index, Pool } from './pool.ts'
import type { Registers } from './registers.ts'

/**
 * A reaction in the pool: these fields, then its sends (receiver, message), then its cuts (offsets of
 * reactions).
 */
export const NEXT = 0
export const SENDS = 1
/** The judge's id of the list of observations. */
export const EVENTS = 2
export const CUTS = 3
export const CRASH_AFTER = 4
/** The value that the node writes to its register, or -1. */
export const WRITES = 5
/** The reaction that replaces this one if the write is refused, or -1. */
export const REFUSED = 6
export const REACTION = 7

/**
 * A slot in the pool: these fields, then one reaction per timer; then per stimulus the peer that must be down
 * (or -1), whether it is owed, and the reaction; then the owner of each register that the node reads. If
 * writes can be late, then for each crash before a write: its cause (0 timer, 1 stimulus), the index of the
 * cause, the reaction and the value.
 */
export const UP = 0
export const CRASH = 1
/** The reaction to the acknowledgement of the pending write, or -1. */
export const ACK = 2
export const TIMERS = 3
export const STIMULI = 4
export const READS = 5
export const LATES = 6
export const LEADS = 7
export const SLOT = 8
export const STIMULUS = 3
export const LATE = 4

export class Reactions {
  readonly pool = new Pool()
  /** Number of runs of protocol code. */
  runs = 0
  /** The largest number of slots of any node. */
  size = 0
  readonly #rules: UntimedRules
  readonly #inboxes: Inboxes
  readonly #judge: Judge
  readonly #slots: readonly Interner<Slot>[]
  readonly #offsets: readonly Index[]
  readonly #deliveries: readonly PairTable[]
  readonly #ticks: readonly Index[]
  readonly #recoveries: readonly PairTable[]
  /** By reader and owner. */
  readonly #reads: readonly (readonly PairTable[])[]
  readonly #links: readonly PairTable[]
  readonly #registers: Registers
  readonly #crashes: boolean

  /** `crashes`: whether crashes are possible. */
  constructor(rules: UntimedRules, inboxes: Inboxes, judge: Judge, registers: Registers, crashes: boolean) {
    this.#rules = rules
    this.#registers = registers
    this.#crashes = crashes
    this.#recoveries = rules.nodes.map(() => new PairTable())
    this.#reads = rules.nodes.map(() => rules.nodes.map(() => new PairTable()))
    this.#inboxes = inboxes
    this.#judge = judge
    this.#slots = rules.nodes.map(() => new Interner<Slot>())
    this.#offsets = rules.nodes.map(() => new Index())
    this.#deliveries = rules.nodes.map(() => new PairTable())
    this.#ticks = rules.nodes.map(() => new Index())
    this.#links = rules.nodes.map(() => new PairTable())
  }

  get bytes(): number {
    return this.#slots.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  slotId(node: number, slot: Slot): number {
    const id = present(this.#slots[node], 'node').idOf(slot)
    this.size = Math.max(this.size, id + 1)
    return id
  }

  slot(node: number, id: number): Slot {
    return present(this.#slots[node], 'node').valueOf(id)
  }

  /** The offset of a slot in the pool. */
  place(node: number, slot: number): number {
    const place = (this.#offsets[node] as Index).get(slot)
    return place >= 0 ? place : this.#compile(node, slot)
  }

  /** The owners of the registers that a node waits to read. */
  readsOf(node: number, slot: number): readonly number[] {
    const place = this.place(node, slot)
    const { data } = this.pool
    const first =
      place + SLOT + (data[place + TIMERS] as number) + (data[place + STIMULI] as number) * STIMULUS
    return [...data.subarray(first, first + (data[place + READS] as number))]
  }

  /** The offset of the reaction to a crash. */
  crash(node: number, slot: number): number {
    const place = this.place(node, slot)
    return this.pool.data[place + CRASH] as number
  }

  /** The judge's id of the observations of a crash; -1 if the node is down. */
  crashEvents(node: number, slot: number): number {
    const place = this.place(node, slot)
    const crash = this.pool.data[place + CRASH] as number
    return crash < 0 ? -1 : (this.pool.data[crash + EVENTS] as number)
  }

  /**
   * Whether a crash after a step between these slots leads to the same state as a crash before it, or back to
   * `before`.
   */
  isForgotten(node: number, before: number, after: number): boolean {
    const offsets = [this.place(node, before), this.place(node, after)]
    const { data } = this.pool
    const [first = -1, second = -1] = offsets.map((place) => data[place + CRASH])
    if (second < 0) return false
    if (first < 0) return data[second + NEXT] === before
    return data[first + NEXT] === data[second + NEXT] && data[first + EVENTS] === data[second + EVENTS]
  }

  /** The offset of a node's reaction to a message. */
  delivery(node: number, slot: number, message: number): number {
    const known = (this.#deliveries[node] as PairTable).get(slot, message)
    return known >= 0 ? known : this.#deliver(node, slot, message)
  }

  /** The offset of a node's reaction to its recovery, if its register holds this value. */
  recovery(node: number, slot: number, value: number): number {
    const known = (this.#recoveries[node] as PairTable).get(slot, value)
    return known >= 0 ? known : this.#recover(node, slot, value)
  }

  /** The offset of a node's reaction to the result of a read. */
  read(node: number, slot: number, of: number, value: number): number {
    const known = ((this.#reads[node] as readonly PairTable[])[of] as PairTable).get(slot, value)
    return known >= 0 ? known : this.#read(node, slot, of, value)
  }

  /** The offset of a running node's reaction to a tick. */
  tick(node: number, slot: number): number {
    const known = (this.#ticks[node] as Index).get(slot)
    return known >= 0 ? known : this.#tick(node, slot)
  }

  /** The offset of a node's reaction to a link change. */
  link(node: number, slot: number, peer: number, up: boolean): number {
    const known = (this.#links[node] as PairTable).get(slot, peer * 2 + (up ? 1 : 0))
    return known >= 0 ? known : this.#link(node, slot, peer, up)
  }

  commands(node: number, slot: Slot): readonly Stimulus[] {
    return slot.up ? this.#rules.stimuliOf(node, slot) : []
  }

  #compile(node: number, id: number): number {
    const untimed = present(this.#rules.untimedNodes[node], 'node')
    const slot = this.slot(node, id)
    const on = (input: Input): number => this.#reaction(node, slot, (cut) => untimed.step(slot, input, cut))
    const timers = slot.timers.map((name) => on({ type: 'timer', name }))
    const commands = this.commands(node, slot)
    const stimuli = commands.flatMap(({ command, whenDown, owed }) => [
      whenDown === null ? -1 : this.#rules.nodes.indexOf(whenDown),
      owed ? 1 : 0,
      on({ type: 'command', command }),
    ])
    const crash = slot.up ? this.#reaction(node, slot, () => untimed.crash(slot)) : -1
    const write = slot.calls.find(({ op }) => op !== 'read')
    const ack = write === undefined ? -1 : on({ type: 'register', call: write, outcome: 'ok', value: null })
    const reads = slot.calls.flatMap((call) =>
      call.op === 'read' ? [this.#rules.nodes.indexOf(call.of)] : [],
    )
    const lates =
      this.#rules.model?.semantics === 'late'
        ? [
            ...slot.timers.map((name, each) => this.#lateOn(node, slot, 0, each, { type: 'timer', name })),
            ...commands.map(({ command }, each) =>
              this.#lateOn(node, slot, 1, each, { type: 'command', command }),
            ),
          ].flat()
        : []
    const counts = [timers.length, stimuli.length / STIMULUS, reads.length, lates.length / LATE]
    const leads = slot.up && untimed.view(slot).role === 'leader' ? 1 : 0
    const head = [slot.up ? 1 : 0, crash, ack, ...counts, leads]
    const place = this.pool.add([...head, ...timers, ...stimuli, ...reads, ...lates])
    present(this.#offsets[node], 'node').set(id, place)
    return place
  }

  #lateOn(node: number, slot: Slot, kind: number, choice: number, input: Input): readonly number[] {
    const late = present(this.#rules.untimedNodes[node], 'node').stepLate(slot, input)
    if (late === null) return []
    this.runs += 1
    return [kind, choice, this.#add(node, late.did, 0, []), this.#registers.valueId(late.late)]
  }

  #recover(node: number, id: number, value: number): number {
    const untimed = present(this.#rules.untimedNodes[node], 'node')
    const slot = this.slot(node, id)
    const own = this.#registers.value(value)
    const reaction = this.#reaction(node, slot, (cut) => untimed.boot(slot.stable, null, cut, own))
    present(this.#recoveries[node], 'node').set(id, value, reaction)
    return reaction
  }

  #read(node: number, id: number, of: number, value: number): number {
    const untimed = present(this.#rules.untimedNodes[node], 'node')
    const slot = this.slot(node, id)
    const target = present(this.#rules.nodes[of], 'node')
    const call = slot.calls.find((each) => each.op === 'read' && each.of === target)
    const input: Input = {
      type: 'register',
      call: present(call, 'read'),
      outcome: 'ok',
      value: this.#registers.value(value),
    }
    const reaction = this.#reaction(node, slot, (cut) => untimed.step(slot, input, cut))
    present(this.#reads[node]?.[of], 'node').set(id, value, reaction)
    return reaction
  }

  #deliver(node: number, id: number, message: number): number {
    const untimed = present(this.#rules.untimedNodes[node], 'node')
    const slot = this.slot(node, id)
    const { from, body } = this.#inboxes.message(message)
    const input: Input = {
      type: 'message',
      from: present(this.#rules.nodes[from], 'node'),
      body,
      receipt: null,
    }
    const reaction = this.#reaction(node, slot, (cut) => untimed.step(slot, input, cut))
    present(this.#deliveries[node], 'node').set(id, message, reaction)
    return reaction
  }

  #link(node: number, id: number, peer: number, up: boolean): number {
    const untimed = present(this.#rules.untimedNodes[node], 'node')
    const slot = this.slot(node, id)
    const input: Input = { type: 'link', peer: present(this.#rules.nodes[peer], 'node'), up }
    const reaction = this.#reaction(node, slot, (cut) => untimed.step(slot, input, cut))
    present(this.#links[node], 'node').set(id, peer * 2 + (up ? 1 : 0), reaction)
    return reaction
  }

  #tick(node: number, id: number): number {
    const untimed = present(this.#rules.untimedNodes[node], 'node')
    const slot = this.slot(node, id)
    const reaction = this.#reaction(node, slot, () => untimed.tick(slot, this.#rules.tick))
    present(this.#ticks[node], 'node').set(id, reaction)
    return reaction
  }

  /** Runs the protocol once, and once more for each crash in the middle of the step. */
  #reaction(node: number, slot: Slot, run: (crashAfter: number | null) => SlotStep): number {
    this.runs += 1
    const whole = run(null)
    const refused = this.#refused(node, whole, run)
    return this.#add(node, whole, 0, this.#crashes ? this.#cuts(node, slot, whole, run) : [], refused)
  }

  /** A node whose register was removed stops at its next write. */
  #refused(node: number, whole: SlotStep, run: (crashAfter: number) => SlotStep): number {
    if (!this.#rules.burials) return -1
    const at = whole.effects.findIndex((effect) => effect.type === 'register' && effect.call.op === 'write')
    return at < 0 ? -1 : this.#add(node, run(at), 0, [])
  }

  /**
   * The crashes in the middle of a step that differ from a crash before and a crash after it: only a part of
   * its writes and messages is done.
   */
  #cuts(node: number, slot: Slot, whole: SlotStep, run: (crashAfter: number) => SlotStep): readonly number[] {
    const done = ({ slot: after, sends, writes }: SlotStep): string =>
      canonical([after.stable, sends, writes])
    const seen = new Set([canonical([slot.stable, [], []]), done(whole)])
    const cuts: number[] = []
    for (let crashAfter = 1; crashAfter < whole.effects.length; crashAfter++) {
      const cut = run(crashAfter)
      if (seen.size === seen.add(done(cut)).size) continue
      cuts.push(this.#add(node, cut, crashAfter, []))
    }
    return cuts
  }

  #add(node: number, step: SlotStep, crashAfter: number, cuts: readonly number[], refused = -1): number {
    const { slot, sends, writes, seen } = step
    const self = present(this.#rules.nodes[node], 'node')
    assert(
      writes.length <= 1 && writes.every(({ of }) => of === self),
      'the explorer supports one write per step, to the own register',
    )
    const written = writes.map(({ value }) => this.#registers.valueId(value))[0] ?? -1
    const sent = sends.flatMap(({ to, body }) => [
      this.#rules.nodes.indexOf(to),
      this.#inboxes.messageId(node, body),
    ])
    const events = this.#judge.listId(seen)
    const head = [this.slotId(node, slot), sends.length, events, cuts.length, crashAfter, written, refused]
    return this.pool.add([...head, ...sent, ...cuts])
  }
}
