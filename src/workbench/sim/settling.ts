/**
 * Disturbances and settling: when the world changes, and when it has been left alone for long enough that the promises
 * about a settled system must hold. Also tracks silences, against which nodes' claims of reachability are checked.
 */
import type { Definition, JudgedOptions, Micros, PlainObject, Timeliness } from '../../core/index.ts'
import { judgedOptions } from '../scenario/options.ts'
import type { Scenario } from '../scenario/scenario.ts'
import type { Observation } from '../trace/index.ts'
import type { Agenda } from './agenda.ts'
import { connectivity, mayReach, type UntimelyMessage } from './connectivity.ts'
import type { LinkNotifier } from './link-notifier.ts'
import type { Network } from './network.ts'
import type { Silences } from './silences.ts'
import type { Store } from './store.ts'
import { NEVER, type Pending, type SimNode } from './world-node.ts'

/** The parts of the world that it reads. */
type SettlingContext = {
  readonly definition: Definition
  readonly scenario: Scenario
  readonly network: Network
  readonly store: Store
  readonly nodes: readonly SimNode[]
  /** Updated at every disturbance. */
  readonly silences: Silences
  /** The maximum lateness of timers. */
  readonly lateness: Micros
  /** Null if nodes are not notified of link changes. */
  readonly notifier: LinkNotifier | null
  observe(seen: Observation): void
  push(time: Micros, pending: Pending): void
}

export class Settling {
  readonly #world: SettlingContext
  readonly #judged: JudgedOptions<PlainObject>
  readonly #timeliness: Timeliness | null
  #disturbances = 0
  #settlesAt: Micros = 0

  constructor(world: SettlingContext) {
    const { definition, scenario } = world
    this.#world = world
    this.#judged = judgedOptions(definition, scenario)
    this.#timeliness = timelinessOf(definition, this.#judged)
  }

  /**
   * Reports a disturbance and restarts the settling time. `messages`: dropped or delayed by an event; nodes
   * between which they were sent count as connected only from now on.
   */
  disturb(now: Micros, messages: readonly UntimelyMessage[] = []): void {
    const { definition, scenario, network, nodes, silences, lateness, notifier, observe, push } = this.#world
    const stalled = nodes.filter((node) => node.up && node.stalledUntil !== 0).map(({ id }) => id)
    const messageDelay = network.longestDelay + network.load.most
    const latest = lateness + network.load.most
    const delay = Math.max(messageDelay, latest)
    observe({ type: 'disturbed', at: now, delay, messageDelay, lateness: latest, stalled })
    notifier?.checkAll()
    this.#disturbances += 1
    const within = definition.settlesWithin(this.#judged.slowest, network.longestDelay, nodes.length)
    this.#settlesAt = now + Math.ceil(within / this.#slowestRate())
    push(this.#settlesAt, { type: 'settle', disturbance: this.#disturbances })
    const timeliness = this.#timeliness
    if (timeliness === null) return
    const running = nodes.filter((node) => node.up && node.stalledUntil === 0)
    const unwritable = running.filter(({ isWritable }) => !isWritable)
    silences.update(now, (from, to) => {
      const { up, stalledUntil } = nodes[from] as SimNode
      return up && stalledUntil === 0 && mayReach(network, from, to, timeliness)
    })
    const report = (untimely: readonly UntimelyMessage[]): void => {
      const indexOf = ({ index }: SimNode): number => index
      const condition = { running: running.map(indexOf), unwritable: unwritable.map(indexOf), untimely }
      const reading = connectivity({ network, nodes: scenario.nodes, timeliness, lateness, now }, condition)
      observe({ type: 'connectivity', at: now, ...reading })
    }
    const untimely = messages.filter(({ delay: took }) => took === null || took > timeliness.delay)
    if (untimely.length > 0) report(untimely)
    report([])
  }

  /** The rate of the slowest clock that an event has set. Its node needs that much longer for everything. */
  #slowestRate(): number {
    return this.#world.nodes.reduce((least, { clock }) => Math.min(least, clock.detunedRate), 1)
  }

  /** A settling time has passed; it counts if no other disturbance has come since. */
  settle(disturbance: number, now: Micros): void {
    if (disturbance === this.#disturbances) this.#reportSettled(now)
  }

  /** The run ends: reports the system as settled if it had the time to settle or no event is left. */
  finish(now: Micros, agenda: Agenda): void {
    if (now >= this.#settlesAt || agenda.every(isIrrelevant)) this.#reportSettled(now)
  }

  /** A node that crashes at the instant its stall ends may first have sent something when its timers fired. */
  noteLastWords({ index }: SimNode, now: Micros): void {
    const { network, silences } = this.#world
    const timeliness = this.#timeliness
    if (timeliness === null) return
    silences.noteSent(index, now, (to) => mayReach(network, index, to, timeliness))
  }

  /** Reports peers that the node considers reachable although no message of theirs can have arrived for a while. */
  checkReachable(node: SimNode, localNow: Micros, now: Micros): void {
    const { definition, scenario, nodes, silences, observe } = this.#world
    const identity = { self: node.id, nodes: scenario.nodes }
    const claimed = definition.reachable(node.state, identity, scenario.options, localNow)
    for (const peer of claimed ?? []) {
      const from = nodes.findIndex(({ id }) => id === peer)
      const silentSince = silences.since(from, node.index)
      if (silentSince === null) continue
      observe({ type: 'called-reachable', at: now, node: node.id, peer, silentSince })
    }
  }

  #reportSettled(now: Micros): void {
    const { network, store, nodes, observe } = this.#world
    // While messages can get lost, or nodes are under load, nothing is promised.
    if (network.isLossy || network.load.isFelt(now) || !store.isPrompt(now)) return
    const living = nodes.filter(({ up }) => up)
    if (living.some((node) => node.stalledUntil !== 0 || this.#isOwedStimulus(node))) return
    const connected = network.connected(living.map(({ index }) => index))
    observe({ type: 'settled', at: now, connected })
  }

  #isOwedStimulus(node: SimNode): boolean {
    const { definition, scenario, nodes } = this.#world
    const isDown = (peer: SimNode['id']): boolean => nodes.some(({ id, up }) => id === peer && !up)
    return definition
      .stimuli(node.state, { self: node.id, nodes: scenario.nodes }, scenario.options)
      .some(({ whenDown, owed }) => owed && (whenDown === null || isDown(whenDown)))
  }
}

/** Whether a queue entry changes nothing any more. */
function isIrrelevant(pending: Pending): boolean {
  return (
    pending.type === 'settle' ||
    (pending.type === 'timer' && (pending.timer.entry !== pending.entry || pending.timer.deadline === NEVER))
  )
}

/** Messages that some node could use may arrive, and messages are in time that every node can use. */
function timelinessOf(
  definition: Definition,
  { slowest, strictest }: JudgedOptions<PlainObject>,
): Timeliness | null {
  const timeliness = definition.timeliness(strictest)
  return timeliness && { ...timeliness, fast: definition.timeliness(slowest)?.fast ?? timeliness.fast }
}
