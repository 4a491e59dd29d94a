/**
 * Events that act on one message in flight, by its number in the trace: drop it, delay it, or copy it. A message that
 * waits for a paused node is in flight too. An event acts on all copies of its message.
 *
 * They draw nothing from the world's source of chance. So the messages of the rest of the run take as long as without
 * the event, as far as the nodes still send them.
 */
import { type Micros, microsOf } from '../../core/index.ts'
import type { RecordHook } from '../scenario/options.ts'
import { Random } from '../scenario/random.ts'
import type { ScenarioEvent } from '../scenario/scenario.ts'
import type { Agenda, PendingMessage, Waiting } from './agenda.ts'
import type { UntimelyMessage } from './connectivity.ts'
import type { LinkNotifier } from './link-notifier.ts'
import type { Network } from './network.ts'
import type { SimNode } from './world-node.ts'

export type MessageEvent = Extract<
  ScenarioEvent,
  { readonly drop: number } | { readonly delay: number } | { readonly copy: number }
>

/** The parts of the world that these events act on. */
type InFlightContext = {
  readonly agenda: Agenda
  readonly nodes: readonly SimNode[]
  readonly network: Network
  /** Null if nodes are not notified of link changes. */
  readonly notifier: LinkNotifier | null
  readonly record: RecordHook | null
  readonly seed: number
}

/** Makes the delay of a copy independent of what the world draws. */
const OWN_SEEDS = 0x85eb_ca6b

export function isMessageEvent(event: ScenarioEvent): event is MessageEvent {
  return 'drop' in event || 'delay' in event || 'copy' in event
}

export class InFlight {
  readonly #world: InFlightContext

  constructor(world: InFlightContext) {
    this.#world = world
  }

  /** Why the event changes nothing; null if it does. */
  whyIgnored(event: MessageEvent): string | null {
    const message = numberOf(event)
    if (this.#find(message, 0) === null) return `message ${message} is not in flight`
    const isReported = this.#world.notifier !== null
    return 'copy' in event && isReported ? 'links that report their state never copy a message' : null
  }

  /** Applies an event that is not ignored. Returns the messages that are not timely any more because of it. */
  change(event: MessageEvent, now: Micros): readonly UntimelyMessage[] {
    if ('drop' in event) return this.#drop(event.drop, now)
    if ('delay' in event) return this.#delay(event.delay, microsOf(event.forMs), now)
    const { copy, afterMs } = event
    return this.#copy(copy, afterMs === undefined ? null : microsOf(afterMs), now)
  }

  #drop(number: number, now: Micros): readonly UntimelyMessage[] {
    const { record, notifier } = this.#world
    return this.#withdraw(now, ({ id }) => id === number).map(({ message: { from, to } }) => {
      record?.({ type: 'lost', at: now, message: number, why: 'dropped' }, [])
      notifier?.noteLoss(from, to)
      return { from: from.index, to: to.index, delay: null }
    })
  }

  /** On a link that keeps its order, the messages behind it wait for it. */
  #delay(number: number, by: Micros, now: Micros): readonly UntimelyMessage[] {
    const { agenda, network } = this.#world
    return this.#withdraw(now, ({ id }) => id === number).map(({ at, message }) => {
      const { from, to, sentAt } = message
      const arrival = at + by
      const isBehind = (other: PendingMessage, time: Micros): boolean =>
        other.from === from && other.to === to && other.id > number && time < arrival
      const behind = network.isOrdered ? this.#withdraw(now, isBehind) : []
      network.arriveBehind(from.index, to.index, arrival)
      network.noteDelay(arrival - sentAt)
      for (const each of [message, ...behind.map((waiting) => waiting.message)]) agenda.push(arrival, each)
      return { from: from.index, to: to.index, delay: arrival - sentAt }
    })
  }

  /** `after`: how long after the original it arrives; null: it takes a delay of its own from now on. */
  #copy(number: number, after: Micros | null, now: Micros): readonly UntimelyMessage[] {
    const { agenda, network, seed } = this.#world
    const first = this.#find(number, now)
    if (first === null) return []
    const { from, to, sentAt } = first.message
    const own = new Random((seed ^ Math.imul(number + 1, OWN_SEEDS)) >>> 0)
    const { index: sender } = from
    const { index: receiver } = to
    const drawn = now + network.delayFrom(own, sender, receiver)
    const unloaded = network.arriveBehind(sender, receiver, after === null ? drawn : first.at + after)
    const arrival =
      after === null
        ? network.load.arrivalOf(sender, receiver, unloaded, now, own)
        : network.load.arriveBehind(sender, receiver, unloaded)
    network.noteDelay(arrival - sentAt)
    agenda.push(arrival, first.message)
    return []
  }

  /** The copy of a message that arrives first. A message that waits for its receiver has arrived by now. */
  #find(number: number, now: Micros): Waiting | null {
    const { agenda, nodes } = this.#world
    for (const { backlog } of nodes) {
      for (const each of backlog)
        if (each.type === 'message' && each.id === number) return { at: now, message: each }
    }
    return agenda.find(number)
  }

  /** Takes messages out of the queue and the backlogs. */
  #withdraw(now: Micros, test: (message: PendingMessage, at: Micros) => boolean): readonly Waiting[] {
    const { agenda, nodes } = this.#world
    const waiting: Waiting[] = []
    for (const node of nodes) {
      const kept = node.backlog.filter((each) => {
        if (each.type !== 'message' || !test(each, now)) return true
        waiting.push({ at: now, message: each })
        return false
      })
      if (kept.length < node.backlog.length) node.backlog = kept
    }
    return [...waiting, ...agenda.withdraw(test)]
  }
}

function numberOf(event: MessageEvent): number {
  if ('drop' in event) return event.drop
  return 'delay' in event ? event.delay : event.copy
}
