/**
 * The network of the timed world: open links, delays, loss and duplication.
 *
 * Nodes are indexes here. A cut takes effect when a message is sent; messages in flight still arrive.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { NetworkReading } from '../scenario/options.ts'
import type { Random } from '../scenario/random.ts'
import type { NetworkRule, Network as NetworkSettings, Pair, Span } from '../scenario/scenario.ts'
import type { Connected, LossReason } from '../trace/index.ts'
import { type Delay, delayOf } from './delay.ts'
import { Load } from './load.ts'

export { type Delay, delayOf } from './delay.ts'

type Rule = {
  readonly from: number | null
  readonly to: number | null
  readonly kind: string | null
  readonly delay: Delay | null
  /** Probability that this rule loses a message; 1 loses all. */
  readonly loss: number
}

/** The best and the worst treatment of a message on a link, over all kinds of messages. */
type LinkQuality = {
  /** The longest delay of any message; null if some message is always lost. */
  readonly most: Micros | null
  /** The shortest delay of any message; null if none arrives. */
  readonly least: Micros | null
  /** Whether the loss of a message is a matter of chance. */
  readonly losesByChance: boolean
}

const CLOSED: LinkQuality = { most: null, least: null, losesByChance: false }

export class Network {
  readonly load: Load
  readonly #nodes: readonly NodeId[]
  readonly #count: number
  readonly #random: Random
  readonly #indexOf: ReadonlyMap<NodeId, number>
  readonly #delay: Delay
  /** Probabilities of loss and of duplication. */
  loss: number
  duplicate: number
  #rules: readonly Rule[]
  /** Arrival time of the last message per link; null if links are unordered. */
  readonly #lastArrival: Float64Array | null
  /** 1 for an open link. `#graph` is the state that `heal: all` restores. */
  readonly #open: Uint8Array
  #graph: Uint8Array
  readonly #slow = new Map<number, Delay>()
  /** The longest delay of any message so far. */
  #longest: Micros

  constructor(
    nodes: readonly NodeId[],
    settings: NetworkSettings,
    links: 'full' | readonly Pair[],
    random: Random,
  ) {
    this.load = new Load(nodes, random, settings.fifo)
    this.#nodes = nodes
    this.#count = nodes.length
    this.#random = random
    this.#indexOf = new Map(nodes.map((id, index) => [id, index]))
    this.#delay = delayOf(settings.delayMs)
    this.loss = settings.loss
    this.duplicate = settings.duplicate
    this.#rules = settings.rules.map((rule) => this.#ruleOf(rule))
    this.#longest = this.#delay.most
    this.#lengthen()
    this.#lastArrival = settings.fifo ? new Float64Array(this.#count ** 2) : null
    this.#graph = this.#graphOf(links)
    this.#open = this.#graph.slice()
  }

  get longestDelay(): Micros {
    return this.#longest
  }

  /** Why a message is lost, or null if it gets through. Consumes randomness. */
  lossOf(from: number, to: number, kind: string): LossReason | null {
    if (this.#open[from * this.#count + to] === 0) return 'cut'
    const rule = this.#rules.length > 0 ? this.#ruleFor(from, to, kind) : null
    if (rule !== null && rule.loss > 0 && this.#random.chance(rule.loss)) return 'rule'
    return this.#random.chance(this.loss) ? 'chance' : null
  }

  duplicates(): boolean {
    return this.#random.chance(this.duplicate)
  }

  /** Whether links deliver in the order of sending. */
  get isOrdered(): boolean {
    return this.#lastArrival !== null
  }

  /** When a message sent at `at` arrives and is handled, with the present load. Consumes randomness. */
  arrivalOf(from: number, to: number, kind: string, at: Micros): Micros {
    const link = from * this.#count + to
    const rule = this.#rules.length > 0 ? this.#ruleFor(from, to, kind) : null
    const slow = this.#slow.size > 0 ? this.#slow.get(link) : undefined
    const { least, most } = rule?.delay ?? slow ?? this.#delay
    const unloaded = this.#inOrder(link, at + this.#random.integer(least, most))
    return this.load.hasBegun ? this.load.arrivalOf(from, to, unloaded, at) : unloaded
  }

  /** An event makes a message arrive at an instant. Returns when it does if it is behind all messages on its link. */
  arriveBehind(from: number, to: number, at: Micros): Micros {
    return this.#inOrder(from * this.#count + to, at)
  }

  /** An event makes a message take this long. */
  noteDelay(delay: Micros): void {
    this.#longest = Math.max(this.#longest, delay)
  }

  #inOrder(link: number, at: Micros): Micros {
    if (this.#lastArrival === null) return at
    const arrival = Math.max(at, this.#lastArrival[link] as number)
    this.#lastArrival[link] = arrival
    return arrival
  }

  /** Whether both directions between two nodes are open. */
  isOpen(a: number, b: number): boolean {
    return this.#open[a * this.#count + b] === 1 && this.#open[b * this.#count + a] === 1
  }

  /** The delay from one node to another. Consumes randomness. */
  delay(from: number, to: number): Micros {
    return this.delayFrom(this.#random, from, to)
  }

  /** The same, drawn from another source of chance. */
  delayFrom(random: Random, from: number, to: number): Micros {
    const { least, most } = this.#slow.get(from * this.#count + to) ?? this.#delay
    return random.integer(least, most)
  }

  /** The closed links and the slow links, by direction. */
  reading(from: Micros): NetworkReading {
    const pairs = this.#nodes.flatMap((a, sender) =>
      this.#nodes.flatMap((b, receiver) => {
        const link = sender * this.#count + receiver
        return sender === receiver ? [] : [{ pair: [a, b] as const, link }]
      }),
    )
    return {
      from,
      closed: pairs.filter(({ link }) => this.#open[link] === 0).map(({ pair }) => pair),
      slow: pairs.filter(({ link }) => this.#slow.has(link)).map(({ pair }) => pair),
      loss: this.loss,
      duplicate: this.duplicate,
    }
  }

  cut(pairs: readonly Pair[], oneWay: boolean): void {
    this.#set(pairs, oneWay, 0)
  }

  /** Nodes reach only nodes in their own block. Nodes that are in no block form one more block. */
  partition(blocks: readonly (readonly NodeId[])[]): void {
    const blockOf = new Int32Array(this.#count).fill(-1)
    for (const [block, members] of blocks.entries()) {
      for (const id of members) blockOf[this.#index(id)] = block
    }
    for (let a = 0; a < this.#count; a++) {
      for (let b = 0; b < this.#count; b++) {
        if (blockOf[a] !== blockOf[b]) this.#open[a * this.#count + b] = 0
      }
    }
  }

  heal(pairs: 'all' | readonly Pair[]): void {
    if (pairs === 'all') {
      this.#open.set(this.#graph)
      this.#slow.clear()
      return
    }
    this.#set(pairs, false, 1)
    for (const link of this.#linksOf(pairs, false)) this.#slow.delete(link)
  }

  replace(links: 'full' | readonly Pair[]): void {
    this.#graph = this.#graphOf(links)
    this.#open.set(this.#graph)
  }

  slow(pairs: readonly Pair[], span: Span): void {
    const delay = delayOf(span)
    this.#longest = Math.max(this.#longest, delay.most)
    for (const link of this.#linksOf(pairs, false)) this.#slow.set(link, delay)
  }

  /** The pairs of these nodes that reach each other both ways. */
  connected(among: readonly number[]): Connected {
    const pairs: (readonly [NodeId, NodeId])[] = []
    let possible = 0
    for (const [at, a] of among.entries()) {
      for (const b of among.slice(at + 1)) {
        possible += 1
        if (this.isOpen(a, b)) pairs.push([this.#nodes[a] as NodeId, this.#nodes[b] as NodeId])
      }
    }
    return pairs.length === possible ? 'full' : pairs
  }

  /** Replaces the rules. */
  setRules(rules: readonly NetworkRule[]): void {
    this.#rules = rules.map((rule) => this.#ruleOf(rule))
    this.#lengthen()
  }

  /** Whether any message may be lost by chance. */
  get isLossy(): boolean {
    return this.loss > 0 || this.#rules.some(({ loss }) => loss > 0 && loss < 1)
  }

  /** The possible treatment of messages from one node to another. */
  qualityBetween(from: number, to: number): LinkQuality {
    const link = from * this.#count + to
    if (this.#open[link] === 0 || this.loss === 1) return CLOSED
    const usual = this.#slow.get(link) ?? this.#delay
    let most: Micros | null = 0
    let least: Micros | null = null
    let losesByChance = this.loss > 0
    const take = (delay: Delay, loss: number): void => {
      if (loss > 0) losesByChance ||= loss < 1
      if (loss < 1) least = Math.min(least ?? delay.least, delay.least)
      most = loss > 0 || most === null ? null : Math.max(most, delay.most)
    }
    for (const rule of this.#rules) {
      if ((rule.from !== null && rule.from !== from) || (rule.to !== null && rule.to !== to)) continue
      take(rule.delay ?? usual, rule.loss)
      // A rule without a kind matches everything, so no later rule applies.
      if (rule.kind === null) return { most: this.loss > 0 ? null : most, least, losesByChance }
    }
    take(usual, 0)
    return { most: this.loss > 0 ? null : most, least, losesByChance }
  }

  #ruleOf(rule: NetworkRule): Rule {
    return {
      from: rule.from === undefined ? null : this.#index(rule.from),
      to: rule.to === undefined ? null : this.#index(rule.to),
      kind: rule.kind ?? null,
      delay: rule.delayMs === undefined ? null : delayOf(rule.delayMs),
      loss: rule.drop === true ? 1 : (rule.loss ?? 0),
    }
  }

  #lengthen(): void {
    for (const { delay } of this.#rules) this.#longest = Math.max(this.#longest, delay?.most ?? 0)
  }

  #ruleFor(from: number, to: number, kind: string): Rule | null {
    for (const rule of this.#rules) {
      if (rule.from !== null && rule.from !== from) continue
      if (rule.to !== null && rule.to !== to) continue
      if (rule.kind !== null && rule.kind !== kind) continue
      return rule
    }
    return null
  }

  #graphOf(links: 'full' | readonly Pair[]): Uint8Array {
    if (links === 'full') return new Uint8Array(this.#count ** 2).fill(1)
    const graph = new Uint8Array(this.#count ** 2)
    for (const link of this.#linksOf(links, false)) graph[link] = 1
    for (let node = 0; node < this.#count; node++) graph[node * this.#count + node] = 1
    return graph
  }

  #set(pairs: readonly Pair[], oneWay: boolean, open: 0 | 1): void {
    for (const link of this.#linksOf(pairs, oneWay)) this.#open[link] = open
  }

  #linksOf(pairs: readonly Pair[], oneWay: boolean): number[] {
    return pairs.flatMap(([a, b]) => {
      const there = this.#index(a) * this.#count + this.#index(b)
      const back = this.#index(b) * this.#count + this.#index(a)
      return oneWay ? [there] : [there, back]
    })
  }

  #index(id: NodeId): number {
    return this.#indexOf.get(id) as number
  }
}
