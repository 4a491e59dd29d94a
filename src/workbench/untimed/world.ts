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
  unreachable,
} from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/scenario.ts'
import type { Connected, Observation } from '../trace/index.ts'
import { type Cut, closedPairs, connectedPairs, isCut, toggleLink } from './closed-links.ts'
import { append, type Inbox, type InFlight } from './inbox.ts'
import {
  aheadOf,
  canFlip,
  DEFAULT_LINK_HISTORY,
  dropFromCrashed,
  type Ends,
  endOf,
  endsAfterCrash,
  inboxAfterMove,
  initialEnds,
  type LinkHistory,
  moveEnd,
  mustFollow,
} from './link-ends.ts'
import { DOWN, NO_TIME, type NodeStep, type Slot, type SlotStep, UntimedNode } from './node.ts'
import {
  acknowledgeCell,
  buryCell,
  type Cell,
  canBury,
  crashCell,
  examineCell,
  GONE,
  isClosed,
  landCell,
  NEW_CELL,
  readingsOf,
  takeOverCell,
  writeCell,
} from './registers.ts'

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

type RegisterStep = ScheduleStep & {
  readonly do: 'tickDisk' | 'tickMem' | 'write' | 'read' | 'land' | 'examine' | 'bury' | 'delete'
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
      world = this.#apply(world, index, did)
    }
    if (this.reported) {
      // A node that starts settled assumes that its links to the other members are up, so it is notified of
      // those that are down.
      for (const [a, b] of cut.flatMap(([x, y]) => [[x, y] as const, [y, x] as const])) {
        if (!endOf(world.ends, this.nodes.length, a, b).up) continue
        const performed = this.#move(world, a, b)
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
        return { world: this.#apply({ ...world, cells }, index, did), nodeSteps: [], seen: did.seen }
      }
      case 'recover':
      case 'reincarnate':
        return slot.up ? `${step.node} is up already` : this.#recover(world, index, step)
      case 'flip':
      case 'follow':
        return this.#moveEnd(world, index, this.nodes.indexOf(step.peer), step)
      case 'cut':
      case 'heal':
        if (this.reported) return 'nodes are told of their links here: write "flip" and "follow"'
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
        return this.#register(world, index, step)
    }
  }

  /**
   * Register steps. `land`, `examine`, `bury` and `delete` act on the register; the others are steps of its
   * owner.
   */
  #register(world: UntimedWorld, index: number, step: RegisterStep): Performed | string {
    const { model } = this
    const cell = world.cells[index]
    if (model === null || cell === undefined) return `${this.#definition.name} shares no registers`
    const { node } = step
    const slot = present(world.slots[index], 'slot')
    if (step.do === 'land') {
      if (cell.is !== 'late') return `no write of ${node} is late`
      return { world: { ...world, cells: world.cells.with(index, landCell(cell)) }, nodeSteps: [], seen: [] }
    }
    if (step.do === 'examine') {
      if (!this.mayExamine(cell)) return `nobody removes ${node}`
      return {
        world: { ...world, cells: world.cells.with(index, examineCell(cell)) },
        nodeSteps: [],
        seen: [],
      }
    }
    if (step.do === 'bury') {
      if (!canBury(cell, model)) return `no tombstone may be written for ${node} now`
      const tombstone = this.tombstones(cell.other)[step.nth ?? 0]
      if (tombstone === undefined) return `no tombstone number ${step.nth ?? 0} follows from what was read`
      return this.#superseded({ ...world, cells: world.cells.with(index, buryCell(tombstone)) })
    }
    if (step.do === 'delete') {
      if (slot.up && cell.is !== 'buried')
        return `${node} is up: only the register of one that is gone is deleted`
      if (!this.isDeletable(world.cells, index)) {
        return `the register of ${node} may not be deleted`
      }
      return this.#superseded({ ...world, cells: world.cells.with(index, GONE) })
    }
    if (!slot.up) return `${node} is down`
    switch (step.do) {
      case 'tickDisk': {
        const command = { do: 'tick', ...(step.to === undefined ? {} : { to: step.to }) }
        return this.#writing(world, index, { type: 'command', command }, step.late === true)
      }
      case 'write':
        if (!slot.timers.includes('write')) return `${node} has nothing to write`
        return this.#writing(world, index, { type: 'timer', name: 'write' }, step.late === true)
      case 'tickMem': {
        const call = slot.calls.find(({ op }) => op !== 'read')
        if (call === undefined) return `${node} has no write in progress`
        const done = { ...world, cells: world.cells.with(index, acknowledgeCell(cell)) }
        return this.#input(done, index, { type: 'register', call, outcome: 'ok', value: null }, undefined)
      }
      case 'read': {
        const call = slot.calls.find((each) => each.op === 'read' && each.of === step.of)
        if (call === undefined) return `${node} does not wait for the register of ${step.of}`
        const of = present(world.cells[this.nodes.indexOf(step.of)], 'register')
        const value = readingsOf(of, model)[step.nth ?? 0]
        if (value === undefined) return `a read of ${step.of} cannot return number ${step.nth} now`
        return this.#input(world, index, { type: 'register', call, outcome: 'ok', value }, undefined)
      }
      default:
        return unreachable(step)
    }
  }

  /**
   * A node that finds a register deleted lists the registers again and reads all of them. If its own register
   * was removed, it learns so at the latest then, and stops.
   */
  #superseded(after: UntimedWorld): Performed {
    let world = after
    const seen: Observation[] = []
    for (const [index, node] of this.untimedNodes.entries()) {
      const slot = present(world.slots[index], 'slot')
      if (!slot.up || !this.isSuperseded(world.cells, index, slot)) continue
      const did = node.crash(slot)
      seen.push(...did.seen)
      world = this.#apply(world, index, did)
    }
    return { world, nodeSteps: [], seen }
  }

  /** Whether a node's own register was removed and it waits for a register that is deleted. */
  isSuperseded(cells: readonly Cell[], index: number, { calls }: Slot): boolean {
    if (!isClosed(present(cells[index], 'register'))) return false
    return calls.some(({ op, ...call }) => {
      if (op !== 'read' || !('of' in call)) return false
      return present(cells[this.nodes.indexOf(call.of)], 'register').is === 'gone'
    })
  }

  /** An input that makes the node write. `late`: the node crashes before the write takes place. */
  #writing(world: UntimedWorld, index: number, input: Input, late: boolean): Performed | string {
    const node = present(this.untimedNodes[index], 'node')
    const slot = present(world.slots[index], 'slot')
    const { self } = node.identity
    if (!late) {
      const performed = this.#input(world, index, input, undefined)
      const did = performed.nodeSteps[0]?.result
      return did?.writes.length === 0 && did.slot.up ? `${self} cannot write that now` : performed
    }
    const crash = node.stepLate(slot, input)
    if (this.model?.semantics !== 'late' || crash === null) return `no write of ${self} can be late here`
    const cell: Cell = { ...present(world.cells[index], 'register'), other: crash.late, is: 'late' }
    const nodeStep = { node: self, input, stable: slot.stable, settledOn: null, result: crash.did }
    const next = { ...world, cells: world.cells.with(index, cell) }
    return { world: this.#apply(next, index, crash.did), nodeSteps: [nodeStep], seen: crash.did.seen }
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
    return { world: this.#apply({ ...world, cells }, index, did), nodeSteps: [nodeStep], seen: did.seen }
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
    return connectedPairs(
      this.nodes,
      up,
      this.reported ? closedPairs(this.nodes.length, world.ends) : world.cut,
    )
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
    return this.#input(without, index, input, step.crashAfter)
  }

  #input(world: UntimedWorld, index: number, input: Input, crashAfter: number | undefined): Performed {
    const node = present(this.untimedNodes[index], 'node')
    const slot = present(world.slots[index], 'slot')
    const cell = world.cells[index]
    // A node whose register was removed learns so when it writes, and stops.
    const refused = cell !== undefined && isClosed(cell) ? node.stepLate(slot, input) : null
    const did = refused?.did ?? node.step(slot, input, crashAfter ?? null)
    const nodeStep = { node: node.identity.self, input, stable: slot.stable, settledOn: null, result: did }
    return { world: this.#apply(world, index, did), nodeSteps: [nodeStep], seen: did.seen }
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

  #apply(world: UntimedWorld, index: number, { slot, sends, writes }: SlotStep): UntimedWorld {
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

  #moveEnd(
    world: UntimedWorld,
    at: number,
    peer: number,
    step: ScheduleStep & { do: 'flip' | 'follow' },
  ): Performed | string {
    if (!this.reported) return 'nodes are told nothing of their links here: write "cut" or "heal"'
    if (world.slots[at]?.up !== true) return `${step.node} is down`
    const end = endOf(world.ends, this.nodes.length, at, peer)
    if (step.do === 'follow') {
      return mustFollow(end) ? this.#move(world, at, peer, step.crashAfter) : 'the other end does not lead'
    }
    if (!canFlip(end, at, peer, this.history)) return `the end of ${step.node} would lead by too much`
    if (!end.up && world.slots[peer]?.up !== true) return `${step.peer} is down`
    return this.#move(world, at, peer, step.crashAfter)
  }

  /** The end at `at` moves and its node is notified; with slack 0 the other end moves too. */
  #move(world: UntimedWorld, at: number, peer: number, crashAfter?: number): Performed {
    const ends = moveEnd(world.ends, this.nodes.length, at, peer, this.history)
    const both = this.history.slack === 0 && world.slots[peer]?.up === true
    let inboxes = world.inboxes.with(at, this.#afterMove(world, at, peer))
    if (both) inboxes = inboxes.with(peer, this.#afterMove(world, peer, at))
    const first = this.#told({ ...world, ends, inboxes }, at, peer, crashAfter)
    if (!both) return first
    const second = this.#told(first.world, peer, at)
    return {
      world: second.world,
      nodeSteps: [...first.nodeSteps, ...second.nodeSteps],
      seen: [...first.seen, ...second.seen],
    }
  }

  #afterMove(world: UntimedWorld, at: number, peer: number): Inbox {
    return inboxAfterMove(present(world.inboxes[at], 'inbox'), peer, this.history)
  }

  #told(world: UntimedWorld, at: number, peer: number, crashAfter?: number): Performed {
    const { up } = endOf(world.ends, this.nodes.length, at, peer)
    const input: Input = { type: 'link', peer: present(this.nodes[peer], 'node'), up }
    return this.#input(world, at, input, crashAfter)
  }

  #tick(world: UntimedWorld): Performed | string {
    if (this.tick === 0) return `ticks mean nothing to ${this.#definition.name}`
    let next = world
    const seen: Observation[] = []
    for (const [index, node] of this.untimedNodes.entries()) {
      const slot = present(world.slots[index], 'slot')
      if (!slot.up) continue
      const did = node.tick(slot, this.tick)
      seen.push(...did.seen)
      next = this.#apply(next, index, did)
    }
    return { world: next, nodeSteps: [], seen }
  }

  #flip(world: UntimedWorld, a: number, b: number, cutting: boolean): Performed | string {
    if (isCut(world.cut, a, b) === cutting) return `the link is ${cutting ? 'cut' : 'there'} already`
    return { world: { ...world, cut: toggleLink(world.cut, a, b) }, nodeSteps: [], seen: [] }
  }
}
