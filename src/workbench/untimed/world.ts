/**
 * The untimed world: the semantics that the explorer searches. Steps happen only when a schedule says so, in
 * any order.
 *
 * Clocks always show 0. Where a protocol compares instants, time can pass in ticks, for all running nodes at
 * once: the clock stays at 0 and the deadlines in each node's state move nearer instead. Timers are
 * independent of ticks and may fire early or late.
 *
 * This is the readable form of the rules. Schedules and counterexamples run on it, and tests compare the
 * explorer's faster form with it. A world is plain data; `perform` returns the next world.
 */
import {
  type Command,
  type Definition,
  type Input,
  type Micros,
  type NodeId,
  type Outcome,
  type Plain,
  type PlainObject,
  present,
  type RegisterModel,
  type Stimulus,
  strict,
} from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/scenario.ts'
import type { Connected, Observation } from '../trace/index.ts'
import { type Cut, closedPairs, connectedPairs, isCut } from './closed-links.ts'
import { append, type Inbox, type InFlight } from './inbox.ts'
import {
  aheadOf,
  DEFAULT_LINK_HISTORY,
  dropFromCrashed,
  type Ends,
  endOf,
  endsAfterCrash,
  initialEnds,
  type LinkHistory,
} from './link-ends.ts'
import { moveLinkEnd, performLinkStep } from './link-steps.ts'
import { DOWN, NO_TIME, type NodeStep, type Slot, type SlotStep, UntimedNode } from './node.ts'
import { performRegisterStep } from './register-steps.ts'
import { type Cell, crashCell, isClosed, NEW_CELL, readingsOf, takeOverCell, writeCell } from './registers.ts'

/** The remaining faults and ticks. */
export type Budget = {
  readonly crashes: number
  readonly recoveries: number
  readonly flips: number
  readonly ticks: number
}

export type UntimedWorld = {
  readonly slots: readonly Slot[]
  readonly inboxes: readonly Inbox[]
  /** Links that are cut. */
  readonly cut: Cut
  /** The link ends, if nodes are notified of link changes; otherwise empty. */
  readonly ends: Ends
  /** One shared register per node; empty if the protocol uses none. */
  readonly cells: readonly Cell[]
}

export type Performed = {
  readonly world: UntimedWorld
  /** The nodes that acted: none, one, or both ends of a link at once. */
  readonly nodeSteps: readonly NodeStep[]
  readonly seen: readonly Observation[]
}

/** The rules of one untimed world: its nodes, protocol and message order. */
export class UntimedRules {
  readonly nodes: readonly NodeId[]
  readonly order: 'fifo' | 'any'
  readonly untimedNodes: readonly UntimedNode[]
  /** The length of a tick; 0 if there are no ticks. */
  readonly tick: Micros
  /** The register semantics; null if there are no registers. */
  readonly model: RegisterModel | null
  readonly #deletable: ((value: Plain, others: readonly Plain[]) => boolean) | null
  /** Whether nodes are notified of link changes, and with which link semantics. */
  readonly reported: boolean
  readonly history: LinkHistory
  readonly #definition: Definition
  readonly #options: PlainObject

  constructor(
    definition: Definition,
    nodes: readonly NodeId[],
    options: PlainObject,
    order: 'fifo' | 'any',
    strictly = false,
    history: LinkHistory = DEFAULT_LINK_HISTORY,
  ) {
    this.nodes = nodes
    this.order = order
    this.reported = definition.links(options) === 'reported'
    this.history = history
    this.tick = definition.exploration.tick
    this.#definition = definition
    this.#options = options
    const { registers } = definition
    this.model = registers?.model(options) ?? null
    this.#deletable = registers?.deletable(options) ?? null
    this.untimedNodes = nodes.map((self) => {
      const protocol = definition.create({ self, nodes }, options)
      return new UntimedNode({ self, nodes }, strictly ? strict(protocol) : protocol, this.model)
    })
  }

  start(
    initial: Outcome | null,
    cut: Cut = [],
  ): { readonly world: UntimedWorld; readonly nodeSteps: readonly NodeStep[] } {
    let world: UntimedWorld = {
      slots: this.nodes.map(() => ({ ...DOWN, stable: null })),
      inboxes: this.nodes.map(() => []),
      cut: this.reported ? [] : cut,
      ends: this.reported ? initialEnds(this.nodes.length, (a, b) => this.#beginsUp(initial, a, b)) : [],
      cells: this.model === null ? [] : this.nodes.map(() => NEW_CELL),
    }
    const nodeSteps: NodeStep[] = []
    for (const [index, node] of this.untimedNodes.entries()) {
      const settledOn = initial?.members.includes(node.identity.self) === true ? initial : null
      const did = node.boot(null, settledOn, null, null)
      nodeSteps.push({ node: node.identity.self, input: null, stable: null, settledOn, result: did })
      world = this.apply(world, index, did)
    }
    if (this.reported) {
      // A node that starts settled assumes that its links to the other members are up, so it is notified of
      // closed links.
      for (const [a, b] of cut.flatMap(([x, y]) => [[x, y] as const, [y, x] as const])) {
        if (!endOf(world.ends, this.nodes.length, a, b).up) continue
        const performed = moveLinkEnd(this, world, a, b)
        world = performed.world
        nodeSteps.push(...performed.nodeSteps)
      }
    }
    return { world, nodeSteps }
  }

  /**
   * A settled world starts with the links among the members up; any other world starts with all links down.
   */
  #beginsUp(initial: Outcome | null, a: number, b: number): boolean {
    if (initial === null) return false
    return [a, b].every((place) => initial.members.includes(present(this.nodes[place], 'node')))
  }

  /** The world after a step, or the reason why the step is impossible. */
  perform(world: UntimedWorld, step: ScheduleStep): Performed | string {
    if (step.do === 'tick') return this.#tick(world)
    const index = this.nodes.indexOf(step.node)
    const node = present(this.untimedNodes[index], 'node')
    const slot = present(world.slots[index], 'slot')
    switch (step.do) {
      case 'crash': {
        if (!slot.up) return `${step.node} is down already`
        const did = node.crash(slot)
        const { model } = this
        const cells =
          model === null
            ? world.cells
            : world.cells.map((cell, place) => (place === index ? crashCell(cell, model) : cell))
        return { world: this.apply({ ...world, cells }, index, did), nodeSteps: [], seen: did.seen }
      }
      case 'recover':
      case 'reincarnate':
        return slot.up ? `${step.node} is up already` : this.#recover(world, index, step)
      case 'flip':
      case 'follow':
      case 'cut':
      case 'heal':
        return performLinkStep(this, world, step)
      case 'deliver':
        return this.#deliver(world, index, step)
      case 'timer':
        if (!slot.timers.includes(step.name)) return `${step.node} has no timer "${step.name}" running`
        return this.feed(world, index, { type: 'timer', name: step.name }, step.crashAfter)
      case 'command':
        if (!slot.up) return `${step.node} is down`
        return this.feed(world, index, { type: 'command', command: step.command }, step.crashAfter)
      default:
        return performRegisterStep(this, world, index, step)
    }
  }

  #recover(
    world: UntimedWorld,
    index: number,
    step: ScheduleStep & { do: 'recover' | 'reincarnate' },
  ): Performed | string {
    const node = present(this.untimedNodes[index], 'node')
    const { stable } = present(world.slots[index], 'slot')
    const { model } = this
    let own: Plain = null
    let { cells } = world
    const cell = cells[index]
    if (model !== null && cell !== undefined) {
      if (isClosed(cell)) return `${step.node} was removed`
      const value = readingsOf(cell, model)[step.nth ?? 0]
      if (value === undefined) return `its register cannot be read as number ${step.nth}`
      own = value
      cells = cells.with(index, takeOverCell(cell, value, model))
    }
    const did = node.boot(stable, null, step.crashAfter ?? null, own)
    const nodeStep = { node: step.node, input: null, stable, settledOn: null, result: did }
    return { world: this.apply({ ...world, cells }, index, did), nodeSteps: [nodeStep], seen: did.seen }
  }

  /** The commands that the environment may give to this node now. */
  commands(world: UntimedWorld, index: number): readonly Command[] {
    return this.stimuli(world, index).map(({ command }) => command)
  }

  stimuli(world: UntimedWorld, index: number): readonly Stimulus[] {
    const slot = present(world.slots[index], 'slot')
    if (!slot.up) return []
    return this.stimuliOf(index, slot).filter(
      ({ whenDown }) => whenDown === null || !present(world.slots[this.nodes.indexOf(whenDown)], 'peer').up,
    )
  }

  stimuliOf(index: number, slot: Slot) {
    const { identity } = present(this.untimedNodes[index], 'node')
    return this.#definition.stimuli(slot.state, identity, this.#options)
  }

  get protocol(): string {
    return this.#definition.name
  }

  /** Whether registers can be deleted. */
  get deletes(): boolean {
    return this.#deletable !== null
  }

  /** Whether a node may read this register in order to remove its owner. */
  mayExamine(cell: Cell): boolean {
    return this.burials && !isClosed(cell)
  }

  /** Whether nodes can remove other nodes. */
  get burials(): boolean {
    return this.model !== null && this.model.burials !== 'none'
  }

  tombstones(value: Plain): readonly Plain[] {
    return this.#definition.registers?.tombstones(value, this.#options) ?? []
  }

  isDeletable(cells: readonly Cell[], of: number): boolean {
    const cell = present(cells[of], 'register')
    if (this.burials && cell.is !== 'buried') return false
    // Nodes that are being removed are not waited for.
    const others = cells.filter((other, index) => index !== of && !isClosed(other))
    return (
      cell.is !== 'gone' &&
      this.#deletable?.(
        cell.value,
        others.map(({ value }) => value),
      ) === true
    )
  }

  /** The world as state specifications see it. */
  stateOf(slots: readonly Slot[], cells: readonly Cell[]): Observation & { type: 'state' } {
    return {
      type: 'state',
      at: NO_TIME,
      nodes: this.nodes,
      variables: slots.map(({ up, state }) => (up ? this.#definition.variables(state) : null)),
      registers: cells.map(({ value }) => value),
    }
  }

  connected(world: UntimedWorld): Connected {
    const up = [...world.slots.keys()].filter((index) => world.slots[index]?.up === true)
    return connectedPairs(this.nodes, up, this.#closed(world))
  }

  /** The closed links, by direction. */
  closedLinks(world: UntimedWorld): readonly (readonly [from: NodeId, to: NodeId])[] {
    const named = (place: number): NodeId => present(this.nodes[place], 'node')
    return this.#closed(world).flatMap(([a, b]) => [
      [named(a), named(b)] as const,
      [named(b), named(a)] as const,
    ])
  }

  #closed(world: UntimedWorld): Cut {
    return this.reported ? closedPairs(this.nodes.length, world.ends) : world.cut
  }

  #deliver(world: UntimedWorld, index: number, step: ScheduleStep & { do: 'deliver' }): Performed | string {
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
    if (!this.canDeliver(world, index, message))
      return `${step.node} does not see that link up, or not yet in the message's incarnation`
    const without = { ...world, inboxes: world.inboxes.with(index, inbox.toSpliced(place, 1)) }
    if (!present(world.slots[index], 'slot').up) return { world: without, nodeSteps: [], seen: [] }
    const input: Input = { type: 'message', from: step.from, body: message.body, receipt: null }
    return this.feed(without, index, input, step.crashAfter)
  }

  /** Feeds an input to a node. `crashAfter`: the node crashes after this many effects. */
  feed(world: UntimedWorld, index: number, input: Input, crashAfter?: number): Performed {
    const node = present(this.untimedNodes[index], 'node')
    const slot = present(world.slots[index], 'slot')
    const cell = world.cells[index]
    // A node whose register was removed learns so when it writes, and stops.
    const refused = cell !== undefined && isClosed(cell) ? node.stepLate(slot, input) : null
    const did = refused?.did ?? node.step(slot, input, crashAfter ?? null)
    const nodeStep = { node: node.identity.self, input, stable: slot.stable, settledOn: null, result: did }
    return { world: this.apply(world, index, did), nodeSteps: [nodeStep], seen: did.seen }
  }

  /** Pairs of leaders that both see their link up, with no message in flight on it. */
  quietLeaders(world: UntimedWorld): readonly (readonly [NodeId, NodeId])[] {
    if (!this.reported) return []
    const closed = closedPairs(this.nodes.length, world.ends)
    const leaders = this.untimedNodes.flatMap((node, place) => {
      const slot = present(world.slots[place], 'slot')
      return slot.up && node.view(slot).role === 'leader' ? [place] : []
    })
    const hears = (at: number, from: number): boolean =>
      present(world.inboxes[at], 'inbox').some((message) => message.from === from)
    return leaders.flatMap((a) =>
      leaders
        .filter((b) => b > a && !isCut(closed, a, b) && !hears(a, b) && !hears(b, a))
        .map((b) => [present(this.nodes[a], 'node'), present(this.nodes[b], 'node')] as const),
    )
  }

  /** Whether a message can be delivered now: its receiver must see the link up. */
  canDeliver(world: UntimedWorld, index: number, { from, ahead }: InFlight): boolean {
    return !this.reported || (ahead === undefined && endOf(world.ends, this.nodes.length, index, from).up)
  }

  /** How many incarnations ahead a message between these nodes would be now; -1 if it would be lost. */
  aheadOf(world: UntimedWorld, from: number, to: number): number {
    if (this.reported) return aheadOf(endOf(world.ends, this.nodes.length, from, to), this.history)
    return isCut(world.cut, from, to) ? -1 : 0
  }

  /** The world after a node's step: its new state, its messages and its register writes. */
  apply(world: UntimedWorld, index: number, { slot, sends, writes }: SlotStep): UntimedWorld {
    let { inboxes, ends, cells } = world
    for (const { of, value } of writes) {
      const place = this.nodes.indexOf(of)
      const cell = present(cells[place], 'register')
      cells = cells.with(place, writeCell(cell, value, present(this.model, 'model')))
    }
    for (const { to, body } of sends) {
      const target = this.nodes.indexOf(to)
      const ahead = this.aheadOf(world, index, target)
      if (ahead < 0) continue
      const message = ahead === 0 ? { from: index, body } : { from: index, body, ahead }
      inboxes = inboxes.with(target, append(present(inboxes[target], 'inbox'), message, this.order))
    }
    if (this.reported && world.slots[index]?.up !== slot.up && !slot.up) {
      ends = endsAfterCrash(ends, this.nodes.length, index)
      inboxes = inboxes.map((inbox, at) => (at === index ? [] : dropFromCrashed(inbox, index)))
    }
    return { ...world, slots: world.slots.with(index, slot), inboxes, ends, cells }
  }

  #tick(world: UntimedWorld): Performed | string {
    if (this.tick === 0) return `${this.#definition.name} does not define the length of a tick`
    let next = world
    const seen: Observation[] = []
    for (const [index, node] of this.untimedNodes.entries()) {
      const slot = present(world.slots[index], 'slot')
      if (!slot.up) continue
      const did = node.tick(slot, this.tick)
      seen.push(...did.seen)
      next = this.apply(next, index, did)
    }
    return { world: next, nodeSteps: [], seen }
  }
}
