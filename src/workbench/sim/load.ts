/**
 * Load: nodes act late, and their messages take longer, by amounts that change over time. A loaded node handles timers
 * and messages late alike, as a process does that has to wait for a processor.
 *
 * Nothing is drawn while there is no load, so a run without load is the same as before.
 */
import { type Micros, microsOf, type NodeId } from '../../core/index.ts'
import type { Random } from '../scenario/random.ts'
import type { ScenarioEvent } from '../scenario/scenario.ts'
import { type Delay, delayOf } from './delay.ts'
import type { Pending } from './world-node.ts'

export type LoadEvent = Extract<ScenarioEvent, { readonly load: unknown }>

/** The load of a node: from `since` on, over `over`, `late` and `delay` move from the former values to these. */
type Phase = {
  readonly late: Delay
  readonly delay: Delay
  /** The exponent of a heavy tail; null: all values of a span are equally likely. */
  readonly tail: number | null
  readonly since: Micros
  readonly over: Micros
  readonly former: { readonly late: Delay; readonly delay: Delay }
}

const NONE: Delay = { least: 0, most: 0 }
const IDLE: Phase = {
  late: NONE,
  delay: NONE,
  tail: null,
  since: 0,
  over: 0,
  former: { late: NONE, delay: NONE },
}

type LateTimers = { readonly until: Micros; readonly most: Micros }

const NO_LATE_TIMERS: LateTimers = { until: 0, most: 0 }

export class Load {
  readonly #nodes: readonly NodeId[]
  readonly #random: Random
  readonly #phases: Phase[]
  /** Arrival time of the last message per link, once there was a load; null if links are unordered. */
  readonly #lastArrival: Float64Array | null
  /** Whether there was a load at any time. Most runs have none, and skip what it would change. */
  hasBegun = false
  /** When the last message arrives, or the last timer fires, that load has made later. */
  #lastLate: Micros = 0
  /** Of the timers of each node that load has made later: when the last one fires, and the most of their lateness. */
  readonly #lateTimers: LateTimers[]

  constructor(nodes: readonly NodeId[], random: Random, isFifo: boolean) {
    this.#nodes = nodes
    this.#random = random
    this.#phases = nodes.map(() => IDLE)
    this.#lateTimers = nodes.map(() => NO_LATE_TIMERS)
    this.#lastArrival = isFifo ? new Float64Array(nodes.length ** 2) : null
  }

  /** Whether any node is loaded, or a message or timer is still to come that load has made later. */
  isFelt(now: Micros): boolean {
    return now < this.#lastLate || this.#phases.some((phase) => phase !== IDLE)
  }

  set(event: LoadEvent, now: Micros, push: (time: Micros, pending: Pending) => void): void {
    const { load, lateMs = 0, delayMs = 0, tail = null, overMs = 0, forMs } = event
    const over = microsOf(overMs)
    for (const [index, id] of this.#nodes.entries()) {
      if (load !== 'all' && !load.includes(id)) continue
      const wanted = { late: delayOf(lateMs), delay: delayOf(delayMs) }
      const former = over === 0 ? wanted : this.#valuesAt(this.#phases[index] as Phase, now)
      const phase = { ...wanted, tail, since: now, over, former }
      const isOver = over === 0 && phase.late.most === 0 && phase.delay.most === 0
      this.#phases[index] = isOver ? IDLE : phase
    }
    this.hasBegun = true
    this.#settleLater(now, push)
    if (forMs !== undefined) {
      const atMs = event.atMs + forMs
      push(now + microsOf(forMs), { type: 'event', event: { atMs, load, lateMs: 0, delayMs: 0 } })
    }
    if (over > 0) push(now + over, { type: 'loadSettled' })
  }

  /** A ramp has ended. A node whose ramp went down to nothing is no longer loaded. */
  settle(now: Micros, push: (time: Micros, pending: Pending) => void): void {
    for (const [index, phase] of this.#phases.entries()) {
      const { late, delay, since, over } = phase
      if (phase === IDLE || now < since + over) continue
      const isOver = late.most === 0 && delay.most === 0
      this.#phases[index] = isOver ? IDLE : { ...phase, former: { late, delay } }
    }
    if (this.#phases.every((phase) => phase === IDLE)) this.#settleLater(now, push)
  }

  #settleLater(now: Micros, push: (time: Micros, pending: Pending) => void): void {
    if (this.#lastLate > now) push(this.#lastLate, { type: 'loadSettled' })
  }

  /** A timer fires later than without load, at `at`. */
  noteLateTimer(node: number, at: Micros, late: Micros, now: Micros): void {
    const { until, most } = this.#lateTimers[node] as LateTimers
    const former = now < until ? most : 0
    this.#lateTimers[node] = { until: Math.max(until, at), most: Math.max(former, late) }
    this.#lastLate = Math.max(this.#lastLate, at)
  }

  /** How late a node acts. Consumes randomness if it is loaded. */
  lateness(node: number, now: Micros, random = this.#random): Micros {
    const phase = this.#phases[node] as Phase
    return phase === IDLE ? 0 : draw(this.#valuesAt(phase, now).late, phase.tail, random)
  }

  /**
   * When a message arrives and is handled that would arrive at `at` without load. Consumes randomness, of the world or of
   * another source.
   */
  arrivalOf(from: number, to: number, at: Micros, now: Micros, random = this.#random): Micros {
    if (!this.hasBegun) return at
    const sender = this.#phases[from] as Phase
    const delay = sender === IDLE ? 0 : draw(this.#valuesAt(sender, now).delay, sender.tail, random)
    return this.arriveBehind(from, to, at + delay + this.lateness(to, now, random), at)
  }

  /** On a link that keeps its order: not before the messages that load has made later. */
  arriveBehind(from: number, to: number, arrival: Micros, unloaded = arrival): Micros {
    const inOrder = this.#inOrder(from, to, arrival)
    if (inOrder > unloaded) this.#lastLate = Math.max(this.#lastLate, inOrder)
    return inOrder
  }

  #inOrder(from: number, to: number, arrival: Micros): Micros {
    if (this.#lastArrival === null) return arrival
    const link = from * this.#nodes.length + to
    const inOrder = Math.max(arrival, this.#lastArrival[link] as number)
    this.#lastArrival[link] = inOrder
    return inOrder
  }

  /** The most that a node may be late, now and during its ramp, or because of timers that a former load made later. */
  mostLate(node: number, now: Micros): Micros {
    const { until, most } = this.#lateTimers[node] as LateTimers
    return Math.max(this.#loadedLate(node), now < until ? most : 0)
  }

  #loadedLate(node: number): Micros {
    const { late, former } = this.#phases[node] as Phase
    return Math.max(late.most, former.late.most)
  }

  /** The least and the most that load adds to a message between two nodes, now and during their ramps. */
  addedBetween(from: number, to: number): Delay {
    const { delay, former } = this.#phases[from] as Phase
    const { late, former: before } = this.#phases[to] as Phase
    return {
      least: Math.min(delay.least, former.delay.least) + Math.min(late.least, before.late.least),
      most: Math.max(delay.most, former.delay.most) + this.#loadedLate(to),
    }
  }

  /** The most that load adds to any message or timer. */
  get most(): Micros {
    let most = 0
    for (const [index, { delay, former }] of this.#phases.entries())
      most = Math.max(most, Math.max(delay.most, former.delay.most) + this.#loadedLate(index))
    return most
  }

  #valuesAt({ late, delay, since, over, former }: Phase, now: Micros): Phase['former'] {
    if (now >= since + over) return { late, delay }
    const part = (now - since) / over
    return { late: between(former.late, late, part), delay: between(former.delay, delay, part) }
  }
}

function draw({ least, most }: Delay, tail: number | null, random: Random): Micros {
  if (tail === null || least <= 0) return random.integer(least, most)
  // The inverse of a Pareto distribution that is cut off at `most`.
  const cut = 1 - (least / most) ** tail
  return Math.round(least / (1 - random.fraction() * cut) ** (1 / tail))
}

function between(a: Delay, b: Delay, part: number): Delay {
  const at = (from: Micros, to: Micros): Micros => Math.round(from + (to - from) * part)
  return { least: at(a.least, b.least), most: at(a.most, b.most) }
}
