/**
 * A world without time: a thing happens only when the schedule says so, and any order is possible.
 *
 * Its clocks always show 0. Where a protocol compares instants, time can be made to pass all the same, by one tick for
 * every running node at once: the clock stays, and the instants in the node's state move nearer instead. Timers know
 * nothing of this: they may fire early or late.
 *
 * This is the plain, readable form of what the explorer searches: schedules and counterexamples are run by it,
 * and the explorer's own, faster form is tested against it. A world is plain data; `perform` makes the next.
 */
import {
  type Command,
  canonical,
  type Definition,
  type Effect,
  equalPlain,
  fail,
  type Identity,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  type Outcome,
  type Plain,
  type PlainObject,
  type Protocol,
  present,
  type Step,
  type Stimulus,
  strict,
  unreachable,
  type View,
} from '../core/index.ts'
import type { Connected, Observation } from '../trace/index.ts'
import type { ScheduleStep } from './scenario.ts'

/** A node without time: its timers are a set of names, sorted. When it is down only `stable` means anything. */
export type Slot = {
  readonly up: boolean
  readonly state: Plain
  readonly stable: Plain
  readonly timers: readonly string[]
}

/** A message in flight; `from` is a place in the list of nodes. */
export type InFlight = { readonly from: number; readonly body: Message }

/** What a node did: where it stands now, what it sent, what could be seen. */
export type SlotStep = {
  readonly slot: Slot
  readonly sends: readonly { readonly to: NodeId; readonly body: Message }[]
  readonly seen: readonly Observation[]
  /** All that it answered with, and how many of those were carried out before a crash (null: all). */
  readonly effects: readonly Effect[]
  readonly cutAfter: number | null
}

/** A node's turn: what it was given (null when it booted) and what it did. */
export type StillTurn = {
  readonly node: NodeId
  readonly input: Input | null
  readonly stable: Plain
  readonly settledOn: Outcome | null
  readonly did: SlotStep
}

const DOWN = { up: false, state: null, timers: [] } as const

/** The world without time has no clock either: every step sees this. */
export const NO_TIME = 0

/** One node's side of every step. `crashAfter`: it crashes once so many effects have been carried out. */
export class StillNode {
  readonly identity: Identity
  readonly #protocol: Protocol

  constructor(identity: Identity, protocol: Protocol) {
    this.identity = identity
    this.#protocol = protocol
  }

  boot(stable: Plain, settledOn: Outcome | null, crashAfter: number | null): SlotStep {
    const { settled } = this.#protocol
    const step =
      settledOn === null || settled === undefined
        ? this.#protocol.start(stable, NO_TIME)
        : settled(settledOn, NO_TIME)
    const up: Observation = { type: 'up', at: NO_TIME, node: this.identity.self }
    return this.#carryOut({ up: true, state: null, stable, timers: [] }, null, step, crashAfter, [up])
  }

  step(slot: Slot, input: Input, crashAfter: number | null): SlotStep {
    const view = this.#protocol.view(slot.state, NO_TIME)
    const timers = input.type === 'timer' ? slot.timers.filter((name) => name !== input.name) : slot.timers
    const step = this.#protocol.step(slot.state, input, NO_TIME)
    return this.#carryOut({ ...slot, timers }, view, step, crashAfter, [])
  }

  crash(slot: Slot): SlotStep {
    return {
      slot: { ...DOWN, stable: slot.stable },
      sends: [],
      seen: [this.#down()],
      effects: [],
      cutAfter: null,
    }
  }

  /** Time passes: what was to come at an instant is that much nearer. */
  tick(slot: Slot, by: Micros): SlotStep {
    const was = this.view(slot)
    const next = { ...slot, state: this.#protocol.shift(slot.state, -by) }
    const view = this.view(next)
    // A lease whose end has merely come nearer is still the same lease.
    const nearer = was.until === null ? was : { ...was, until: was.until - by }
    const seen = equalPlain(nearer, view) ? [] : [this.#seen(view)]
    return { slot: next, sends: [], seen, effects: [], cutAfter: null }
  }

  view(slot: Slot): View {
    return this.#protocol.view(slot.state, NO_TIME)
  }

  #carryOut(
    from: Slot,
    was: View | null,
    { state, effects }: Step<Plain>,
    crashAfter: number | null,
    before: readonly Observation[],
  ): SlotStep {
    const { self: node } = this.identity
    const crashes = crashAfter !== null && crashAfter < effects.length
    const done = crashes ? effects.slice(0, crashAfter) : effects
    const timers = new Set(from.timers)
    const sends: { to: NodeId; body: Message }[] = []
    const seen = [...before]
    let { stable } = from
    for (const effect of done) {
      switch (effect.type) {
        case 'persist':
          stable = effect.stable
          break
        case 'send':
          sends.push({ to: effect.to, body: effect.body })
          break
        case 'setTimer':
          timers.add(effect.name)
          break
        case 'stopTimer':
          timers.delete(effect.name)
          break
        case 'output':
          seen.push({ type: 'output', at: NO_TIME, node, event: effect.event })
          break
        case 'register':
          fail('this world has no shared registers')
          break
        default:
          unreachable(effect)
      }
    }
    if (crashes) {
      seen.push(this.#down())
      return { slot: { ...DOWN, stable }, sends, seen, effects, cutAfter: crashAfter }
    }
    const view = this.#protocol.view(state, NO_TIME)
    if (was === null || !equalPlain(was, view)) seen.push(this.#seen(view))
    const slot = { up: true, state, stable, timers: [...timers].sort() }
    return { slot, sends, seen, effects, cutAfter: null }
  }

  #seen(view: View): Observation {
    return { type: 'view', at: NO_TIME, node: this.identity.self, view, until: null }
  }

  #down(): Observation {
    return { type: 'down', at: NO_TIME, node: this.identity.self }
  }
}

/** Messages in flight to one node, in the one order that means the same: see `append`. */
export type Inbox = readonly InFlight[]

/**
 * A link that keeps its order is a queue, so only the order of messages from the same sender matters; a link that
 * does not is a bag, and no order matters.
 */
export function append(inbox: Inbox, message: InFlight, order: 'fifo' | 'any'): Inbox {
  const rank = (other: InFlight): number => {
    if (other.from !== message.from) return other.from - message.from
    if (order === 'fifo') return -1
    return canonical(other.body) <= canonical(message.body) ? -1 : 1
  }
  const place = inbox.findIndex((other) => rank(other) > 0)
  return place < 0 ? [...inbox, message] : inbox.toSpliced(place, 0, message)
}

/** Which messages may be delivered next: each with its number among those from the same sender. */
export function deliverable(
  inbox: Inbox,
  order: 'fifo' | 'any',
): readonly { readonly place: number; readonly nth: number }[] {
  const choices: { place: number; nth: number }[] = []
  let nth = 0
  for (const [place, message] of inbox.entries()) {
    const previous = inbox[place - 1]
    nth = previous !== undefined && previous.from === message.from ? nth + 1 : 0
    if (nth > 0 && order === 'fifo') continue
    // Of two equal messages it does not matter which arrives.
    if (nth > 0 && previous !== undefined && equalPlain(previous.body, message.body)) continue
    choices.push({ place, nth })
  }
  return choices
}

/** How many faults may still happen, and how often time may pass. */
export type Budget = {
  readonly crashes: number
  readonly recoveries: number
  readonly flips: number
  readonly ticks: number
}

/** Pairs of places, the smaller first, sorted. */
export type Cut = readonly (readonly [number, number])[]

export type StillWorld = {
  readonly slots: readonly Slot[]
  readonly inboxes: readonly Inbox[]
  /** Links that are cut. */
  readonly cut: Cut
}

export type Performed = {
  readonly world: StillWorld
  readonly turn: StillTurn | null
  readonly seen: readonly Observation[]
}

/** The rules of one such world: which nodes, which protocol, which order of messages. */
export class StillRules {
  readonly nodes: readonly NodeId[]
  readonly order: 'fifo' | 'any'
  readonly stillNodes: readonly StillNode[]
  /** How long a tick is; 0 where there is none. */
  readonly tick: Micros
  readonly #definition: Definition
  readonly #options: PlainObject

  constructor(
    definition: Definition,
    nodes: readonly NodeId[],
    options: PlainObject,
    order: 'fifo' | 'any',
    strictly = false,
  ) {
    this.nodes = nodes
    this.order = order
    this.tick = definition.exploration.tick
    this.#definition = definition
    this.#options = options
    this.stillNodes = nodes.map((self) => {
      const protocol = definition.create({ self, nodes }, options)
      return new StillNode({ self, nodes }, strictly ? strict(protocol) : protocol)
    })
  }

  begin(
    initial: Outcome | null,
    cut: Cut = [],
  ): { readonly world: StillWorld; readonly turns: readonly StillTurn[] } {
    let world: StillWorld = {
      slots: this.nodes.map(() => ({ ...DOWN, stable: null })),
      inboxes: this.nodes.map(() => []),
      cut,
    }
    const turns: StillTurn[] = []
    for (const [index, node] of this.stillNodes.entries()) {
      const settledOn = initial?.members.includes(node.identity.self) === true ? initial : null
      const did = node.boot(null, settledOn, null)
      turns.push({ node: node.identity.self, input: null, stable: null, settledOn, did })
      world = this.#apply(world, index, did)
    }
    return { world, turns }
  }

  /** The world after a step, or in words why that step is impossible. */
  perform(world: StillWorld, step: ScheduleStep): Performed | string {
    if (step.do === 'tick') return this.#tick(world)
    const index = this.nodes.indexOf(step.node)
    const node = present(this.stillNodes[index], 'node')
    const slot = present(world.slots[index], 'slot')
    switch (step.do) {
      case 'crash': {
        if (!slot.up) return `${step.node} is down already`
        const did = node.crash(slot)
        return { world: this.#apply(world, index, did), turn: null, seen: did.seen }
      }
      case 'recover': {
        if (slot.up) return `${step.node} is up already`
        const did = node.boot(slot.stable, null, step.crashAfter ?? null)
        const turn = { node: step.node, input: null, stable: slot.stable, settledOn: null, did }
        return { world: this.#apply(world, index, did), turn, seen: did.seen }
      }
      case 'cut':
      case 'heal':
        return this.#flip(world, index, this.nodes.indexOf(step.peer), step.do === 'cut')
      case 'deliver':
        return this.#deliver(world, index, step)
      case 'timer':
        if (!slot.timers.includes(step.name)) return `${step.node} has no timer "${step.name}" running`
        return this.#input(world, index, { type: 'timer', name: step.name }, step.crashAfter)
      case 'command':
        if (!slot.up) return `${step.node} is down`
        return this.#input(world, index, { type: 'command', command: step.command }, step.crashAfter)
      default:
        return unreachable(step)
    }
  }

  /** What the surroundings may tell this node now. */
  commands(world: StillWorld, index: number): readonly Command[] {
    return this.stimuli(world, index).map(({ command }) => command)
  }

  stimuli(world: StillWorld, index: number): readonly Stimulus[] {
    const slot = present(world.slots[index], 'slot')
    if (!slot.up) return []
    return this.stimuliOf(index, slot).filter(
      ({ whenDown }) => whenDown === null || !present(world.slots[this.nodes.indexOf(whenDown)], 'peer').up,
    )
  }

  stimuliOf(index: number, slot: Slot) {
    const { identity } = present(this.stillNodes[index], 'node')
    return this.#definition.stimuli(slot.state, identity, this.#options)
  }

  connected(world: StillWorld): Connected {
    const up = [...world.slots.keys()].filter((index) => world.slots[index]?.up === true)
    return connectedPairs(this.nodes, up, world.cut)
  }

  #deliver(world: StillWorld, index: number, step: ScheduleStep & { do: 'deliver' }): Performed | string {
    const inbox = present(world.inboxes[index], 'inbox')
    const from = this.nodes.indexOf(step.from)
    const first = inbox.findIndex((message) => message.from === from)
    const place = first + (step.nth ?? 0)
    const message = inbox[place]
    if (first < 0 || message === undefined || message.from !== from) {
      return `no such message is in flight from ${step.from} to ${step.node}`
    }
    if (this.order === 'fifo' && place > first)
      return `the link from ${step.from} to ${step.node} keeps its order`
    const without = { ...world, inboxes: world.inboxes.with(index, inbox.toSpliced(place, 1)) }
    if (!present(world.slots[index], 'slot').up) return { world: without, turn: null, seen: [] }
    const input: Input = { type: 'message', from: step.from, body: message.body, receipt: null }
    return this.#input(without, index, input, step.crashAfter)
  }

  #input(world: StillWorld, index: number, input: Input, crashAfter: number | undefined): Performed {
    const node = present(this.stillNodes[index], 'node')
    const slot = present(world.slots[index], 'slot')
    const did = node.step(slot, input, crashAfter ?? null)
    const turn = { node: node.identity.self, input, stable: slot.stable, settledOn: null, did }
    return { world: this.#apply(world, index, did), turn, seen: did.seen }
  }

  #apply(world: StillWorld, index: number, { slot, sends }: SlotStep): StillWorld {
    let { inboxes } = world
    for (const { to, body } of sends) {
      const target = this.nodes.indexOf(to)
      if (isCut(world.cut, index, target)) continue
      inboxes = inboxes.with(
        target,
        append(present(inboxes[target], 'inbox'), { from: index, body }, this.order),
      )
    }
    return { ...world, slots: world.slots.with(index, slot), inboxes }
  }

  #tick(world: StillWorld): Performed | string {
    if (this.tick === 0) return `ticks mean nothing to ${this.#definition.name}`
    let next = world
    const seen: Observation[] = []
    for (const [index, node] of this.stillNodes.entries()) {
      const slot = present(world.slots[index], 'slot')
      if (!slot.up) continue
      const did = node.tick(slot, this.tick)
      seen.push(...did.seen)
      next = this.#apply(next, index, did)
    }
    return { world: next, turn: null, seen }
  }

  #flip(world: StillWorld, a: number, b: number, cutting: boolean): Performed | string {
    if (isCut(world.cut, a, b) === cutting) return `the link is ${cutting ? 'cut' : 'there'} already`
    return { world: { ...world, cut: flipped(world.cut, a, b) }, turn: null, seen: [] }
  }
}

export function isCut(cut: Cut, a: number, b: number): boolean {
  return cut.some(([x, y]) => (x === a && y === b) || (x === b && y === a))
}

export function flipped(cut: Cut, a: number, b: number): Cut {
  if (isCut(cut, a, b)) return cut.filter((pair) => !isCut([pair], a, b))
  return [...cut, [Math.min(a, b), Math.max(a, b)] as const].sort((p, q) => p[0] - q[0] || p[1] - q[1])
}

export function connectedPairs(nodes: readonly NodeId[], up: readonly number[], cut: Cut): Connected {
  const pairs = up.flatMap((a) => up.filter((b) => b > a).map((b) => [a, b] as const))
  const open = pairs.filter(([a, b]) => !isCut(cut, a, b))
  if (open.length === pairs.length) return 'full'
  return open.map(([a, b]) => [nodes[a] as NodeId, nodes[b] as NodeId] as const)
}
