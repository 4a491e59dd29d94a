/**
 * What nodes do, in numbers: the protocol's own code runs once for each distinct (local state, input), and what it
 * did is kept in a pool of integers from which the search reads it ever after.
 */
import { canonical, type Input, present, type Stimulus } from '../core/index.ts'
import type { Slot, SlotStep, StillRules } from '../sim/index.ts'
import type { Inboxes } from './inboxes.ts'
import { Interner, PairTable } from './intern.ts'
import type { Judge } from './judge.ts'
import { Index, Pool } from './pool.ts'

/** A reaction in the pool: these fields, then its sends (receiver, message), then its cuts (reactions). */
export const NEXT = 0
export const SENDS = 1
/** The number that the judge gave to the list of events. */
export const EVENTS = 2
export const CUTS = 3
export const CRASH_AFTER = 4
export const REACTION = 5

/**
 * A slot in the pool: these fields, then a reaction a timer, then for each stimulus the peer that must be down (or
 * -1), whether it is owed, and the reaction.
 */
export const UP = 0
export const CRASH = 1
export const RECOVER = 2
export const TIMERS = 3
export const STIMULI = 4
export const LEADS = 5
export const SLOT = 6
export const STIMULUS = 3

export class Reactions {
  readonly pool = new Pool()
  /** How often protocol code was run. */
  runs = 0
  /** The most slots that any node has. */
  size = 0
  readonly #rules: StillRules
  readonly #inboxes: Inboxes
  readonly #judge: Judge
  readonly #slots: readonly Interner<Slot>[]
  readonly #places: readonly Index[]
  readonly #deliveries: readonly PairTable[]
  readonly #ticks: readonly Index[]
  readonly #links: readonly PairTable[]
  readonly #crashes: boolean

  /** `crashes`: whether any may happen. */
  constructor(rules: StillRules, inboxes: Inboxes, judge: Judge, crashes: boolean) {
    this.#rules = rules
    this.#crashes = crashes
    this.#inboxes = inboxes
    this.#judge = judge
    this.#slots = rules.nodes.map(() => new Interner<Slot>())
    this.#places = rules.nodes.map(() => new Index())
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

  /** Where in the pool a slot stands. */
  place(node: number, slot: number): number {
    const place = (this.#places[node] as Index).get(slot)
    return place >= 0 ? place : this.#compile(node, slot)
  }

  /** What a node does on a message: a place in the pool. */
  delivery(node: number, slot: number, message: number): number {
    const known = (this.#deliveries[node] as PairTable).get(slot, message)
    return known >= 0 ? known : this.#deliver(node, slot, message)
  }

  /** What the passing of a tick makes of a running node: a place in the pool. */
  tick(node: number, slot: number): number {
    const known = (this.#ticks[node] as Index).get(slot)
    return known >= 0 ? known : this.#tick(node, slot)
  }

  /** What a node does when it sees its link to a peer up or down: a place in the pool. */
  link(node: number, slot: number, peer: number, up: boolean): number {
    const known = (this.#links[node] as PairTable).get(slot, peer * 2 + (up ? 1 : 0))
    return known >= 0 ? known : this.#link(node, slot, peer, up)
  }

  commands(node: number, slot: Slot): readonly Stimulus[] {
    return slot.up ? this.#rules.stimuliOf(node, slot) : []
  }

  #compile(node: number, id: number): number {
    const still = present(this.#rules.stillNodes[node], 'node')
    const slot = this.slot(node, id)
    const on = (input: Input): number => this.#reaction(node, slot, (cut) => still.step(slot, input, cut))
    const timers = slot.timers.map((name) => on({ type: 'timer', name }))
    const stimuli = this.commands(node, slot).flatMap(({ command, whenDown, owed }) => [
      whenDown === null ? -1 : this.#rules.nodes.indexOf(whenDown),
      owed ? 1 : 0,
      on({ type: 'command', command }),
    ])
    const crash = slot.up ? this.#reaction(node, slot, () => still.crash(slot)) : -1
    const recover = slot.up ? -1 : this.#reaction(node, slot, (cut) => still.boot(slot.stable, null, cut))
    const leads = slot.up && still.view(slot).role === 'leader' ? 1 : 0
    const head = [slot.up ? 1 : 0, crash, recover, timers.length, stimuli.length / STIMULUS, leads]
    const place = this.pool.add([...head, ...timers, ...stimuli])
    present(this.#places[node], 'node').set(id, place)
    return place
  }

  #deliver(node: number, id: number, message: number): number {
    const still = present(this.#rules.stillNodes[node], 'node')
    const slot = this.slot(node, id)
    const { from, body } = this.#inboxes.message(message)
    const input: Input = {
      type: 'message',
      from: present(this.#rules.nodes[from], 'node'),
      body,
      receipt: null,
    }
    const reaction = this.#reaction(node, slot, (cut) => still.step(slot, input, cut))
    present(this.#deliveries[node], 'node').set(id, message, reaction)
    return reaction
  }

  #link(node: number, id: number, peer: number, up: boolean): number {
    const still = present(this.#rules.stillNodes[node], 'node')
    const slot = this.slot(node, id)
    const input: Input = { type: 'link', peer: present(this.#rules.nodes[peer], 'node'), up }
    const reaction = this.#reaction(node, slot, (cut) => still.step(slot, input, cut))
    present(this.#links[node], 'node').set(id, peer * 2 + (up ? 1 : 0), reaction)
    return reaction
  }

  #tick(node: number, id: number): number {
    const still = present(this.#rules.stillNodes[node], 'node')
    const slot = this.slot(node, id)
    const reaction = this.#reaction(node, slot, () => still.tick(slot, this.#rules.tick))
    present(this.#ticks[node], 'node').set(id, reaction)
    return reaction
  }

  /** Runs the protocol once (and once more for each crash that may fall in the middle of what it does). */
  #reaction(node: number, slot: Slot, run: (crashAfter: number | null) => SlotStep): number {
    this.runs += 1
    const whole = run(null)
    return this.#add(node, whole, 0, this.#crashes ? this.#cuts(node, slot, whole, run) : [])
  }

  /**
   * The crashes in the middle of a step that differ from a crash before or after it: some of what it persists and
   * sends has been done, and some has not.
   */
  #cuts(node: number, slot: Slot, whole: SlotStep, run: (crashAfter: number) => SlotStep): readonly number[] {
    const done = ({ slot: after, sends }: SlotStep): string => canonical([after.stable, sends])
    const seen = new Set([canonical([slot.stable, []]), done(whole)])
    const cuts: number[] = []
    for (let crashAfter = 1; crashAfter < whole.effects.length; crashAfter++) {
      const cut = run(crashAfter)
      if (seen.size === seen.add(done(cut)).size) continue
      cuts.push(this.#add(node, cut, crashAfter, []))
    }
    return cuts
  }

  #add(node: number, { slot, sends, seen }: SlotStep, crashAfter: number, cuts: readonly number[]): number {
    const sent = sends.flatMap(({ to, body }) => [
      this.#rules.nodes.indexOf(to),
      this.#inboxes.messageId(node, body),
    ])
    const events = this.#judge.listId(seen)
    const head = [this.slotId(node, slot), sends.length, events, cuts.length, crashAfter]
    return this.pool.add([...head, ...sent, ...cuts])
  }
}
