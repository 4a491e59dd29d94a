/**
 * A small world in virtual time with one Byzantine node: it holds the right key and sends fuzzed messages.
 * Nodes run the code of real processes (protocols/host.ts), and all messages of the Byzantine node pass
 * through the real codec, so a message is accepted here only if a real process would accept it.
 */
import {
  type Input,
  type Message,
  type NodeId,
  type Output,
  type Plain,
  type PlainObject,
  type Protocol,
  present,
} from '../../../src/core/index.ts'
import { stateInBundle } from '../../../src/links/index.ts'
import { type GroupSpec, groupFor, host, peerHosting, protocolNamed } from '../../../src/protocols/index.ts'
import { InvalidBytesError } from '../../../src/service/runtime/bytes.ts'
import { Codec } from '../../../src/service/runtime/codec.ts'
import { checkedOptions } from '../../../src/workbench/sim/index.ts'

export const IDS: readonly string[] = ['a', 'b', 'c']
export const DELAY = 1000
const CHECK_INTERVAL = 10_000

/** Marsaglia's 32-bit xorshift: runs must be the same on every machine. */
export function seededRandom(seed: number): (below: number) => number {
  let word = Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995 || 1
  return (below) => {
    word ^= word << 13
    word ^= word >>> 17
    word ^= word << 5
    return (word >>> 0) % below
  }
}

export function specOf(protocol: 'local-leader' | 'omega', options: PlainObject = {}): GroupSpec {
  const definition = present(protocolNamed(protocol), protocol)
  const full = checkedOptions(definition, IDS, options)
  return { protocol, nodes: IDS, options: full }
}

/** How long after the last bad message a leader must exist: the protocol's own bound. */
export function boundOf({ protocol, options }: GroupSpec): number {
  const definition = present(protocolNamed(protocol), protocol)
  return present(definition.settlesWithin, 'bound')(options, DELAY, IDS.length)
}

/** Cache by node and group, because worlds are copied often. */
const made = new WeakMap<GroupSpec, Map<NodeId, Protocol>>()

export function protocolFor(id: NodeId, spec: GroupSpec): Protocol {
  const known = made.get(spec) ?? new Map<NodeId, Protocol>()
  made.set(spec, known)
  const protocol = known.get(id) ?? groupFor(id, spec).protocol
  known.set(id, protocol)
  return protocol
}

export type ByzantineNode = {
  readonly id: NodeId
  readonly protocol: Protocol
  state: Plain
  stable: Plain
  up: boolean
  readonly timers: Map<string, number>
}

type Flight = { readonly at: number; readonly from: NodeId; readonly to: NodeId; readonly body: Message }

/** What the Byzantine node sends instead of a message; null if the codec refuses it. */
export type Tamper = (body: Message, to: NodeId) => Message | null

export class ByzantineWorld {
  readonly specs: { readonly [group: string]: GroupSpec }
  readonly #random: (below: number) => number
  readonly #codec: Codec
  now = 1_000_000
  nodes: ByzantineNode[] = []
  #flights: Flight[] = []
  /** The current Byzantine node. */
  bad: { readonly id: NodeId; readonly tamper: Tamper } | null = null
  readonly outputs: { readonly node: NodeId; readonly event: Output }[] = []

  constructor(
    specs: { readonly [group: string]: GroupSpec },
    random: (below: number) => number,
    codec = new Codec(),
  ) {
    this.specs = specs
    this.#random = random
    this.#codec = codec
    for (const [group, { protocol }] of Object.entries(specs)) codec.learn(group, peerHosting(protocol).wire)
  }

  static create(specs: { readonly [group: string]: GroupSpec }): ByzantineWorld {
    const world = new ByzantineWorld(specs, seededRandom(1))
    for (const id of IDS) {
      const protocol = host({ self: id, groups: {} })
      world.nodes.push({ id, protocol, state: null, stable: null, up: false, timers: new Map() })
      world.start(id)
    }
    return world
  }

  /** A copy of the world that continues independently. */
  copy(random: (below: number) => number): ByzantineWorld {
    const world = new ByzantineWorld(this.specs, random, this.#codec)
    world.now = this.now
    world.nodes = this.nodes.map((node) => ({ ...node, timers: new Map(node.timers) }))
    world.#flights = [...this.#flights]
    return world
  }

  node(id: NodeId): ByzantineNode {
    return present(
      this.nodes.find((node) => node.id === id),
      'node',
    )
  }

  start(id: NodeId): void {
    const node = this.node(id)
    node.up = true
    node.timers.clear()
    this.#carryOut(node, node.protocol.start(node.stable, this.now))
    for (const [group, spec] of Object.entries(this.specs)) {
      this.#input(node, { type: 'command', command: { do: 'join', group, spec } })
    }
  }

  stop(id: NodeId): void {
    const node = this.node(id)
    node.up = false
    node.timers.clear()
  }

  command(id: NodeId, group: string, command: PlainObject & { do: string }): void {
    this.#input(this.node(id), { type: 'command', command: { do: 'tell', group, command } })
  }

  /** Delivers a message now. */
  deliver(from: NodeId, to: NodeId, body: Message): void {
    this.#input(this.node(to), { type: 'message', from, body, receipt: null })
  }

  /** Runs until `isOver`, or for this long. Returns whether it was over. */
  run(micros: number, isOver: () => boolean = () => false): boolean {
    const end = this.now + micros
    let checkedAt = Number.NEGATIVE_INFINITY
    for (;;) {
      // The check costs more than most steps.
      if (this.now - checkedAt >= CHECK_INTERVAL) {
        if (isOver()) return true
        checkedAt = this.now
      }
      let at = Number.POSITIVE_INFINITY
      let flight = -1
      let due: { readonly node: ByzantineNode; readonly name: string } | null = null
      for (const [index, each] of this.#flights.entries()) {
        if (each.at < at) [at, flight] = [each.at, index]
      }
      for (const node of this.nodes) {
        for (const [name, when] of node.timers) if (when < at) [at, due] = [when, { node, name }]
      }
      if (at > end) {
        this.now = end
        return isOver()
      }
      this.now = Math.max(this.now, at)
      if (due !== null) {
        due.node.timers.delete(due.name)
        this.#input(due.node, { type: 'timer', name: due.name })
      } else {
        const [{ from, to, body }] = this.#flights.splice(flight, 1) as [Flight]
        if (this.node(to).up) this.deliver(from, to, body)
      }
    }
  }

  viewOf(id: NodeId, group: string) {
    const { state } = this.node(id)
    const protocol = protocolFor(id, present(this.specs[group], group))
    return protocol.view(stateInBundle(state, group), this.now)
  }

  /** The leader that all running nodes follow; null if they disagree or there is none. */
  leaderOf(group: string): NodeId | null {
    const running = this.nodes.filter(({ up }) => up)
    const leaders = new Set(running.map(({ id }) => this.viewOf(id, group).leader))
    const [leader] = leaders
    if (leaders.size !== 1 || leader === undefined || leader === null) return null
    return this.viewOf(leader, group).role === 'leader' ? leader : null
  }

  isLed(): boolean {
    return Object.keys(this.specs).every((group) => this.leaderOf(group) !== null)
  }

  /**
   * Every group has a leader, and in groups with views all nodes are in the view: only then may another node
   * fail.
   */
  isWhole(): boolean {
    const isIn = (group: string): boolean =>
      this.specs[group]?.protocol !== 'omega' ||
      IDS.every((id) => this.viewOf(id, group).members?.length === IDS.length)
    return this.isLed() && Object.keys(this.specs).every(isIn)
  }

  /** The message in these bytes; null if a receiver refuses them. */
  decode(bytes: Uint8Array): Message | null {
    const envelope = this.#codec.decode(bytes)
    return envelope instanceof InvalidBytesError ? null : envelope.body
  }

  encode(from: NodeId, to: NodeId, body: Message): Uint8Array {
    return this.#codec.encode({ from, to, body })
  }

  #input(node: ByzantineNode, input: Input): void {
    if (node.up) this.#carryOut(node, node.protocol.step(node.state, input, this.now))
  }

  #carryOut(node: ByzantineNode, { state, effects }: ReturnType<Protocol['step']>): void {
    node.state = state
    for (const effect of effects) {
      switch (effect.type) {
        case 'persist':
          node.stable = effect.stable
          break
        case 'send':
          this.#send(node.id, effect.to, effect.body)
          break
        case 'setTimer': {
          const { at } = effect
          node.timers.set(effect.name, typeof at === 'number' ? at : at[0] + this.#random(at[1] - at[0] + 1))
          break
        }
        case 'stopTimer':
          node.timers.delete(effect.name)
          break
        case 'output':
          this.outputs.push({ node: node.id, event: effect.event })
          break
        default:
      }
    }
  }

  #send(from: NodeId, to: NodeId, body: Message): void {
    const sent = this.bad !== null && this.bad.id === from ? this.bad.tamper(body, to) : body
    if (sent !== null) this.#flights.push({ at: this.now + DELAY, from, to, body: sent })
  }
}
