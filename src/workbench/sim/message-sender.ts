/** Sends messages in the timed world: counts them, decides on loss and duplication, and queues their arrival. */
import { type Definition, fail, type Message, type Micros } from '../../core/index.ts'
import type { LossReason } from '../trace/index.ts'
import type { LinkNotifier } from './link-notifier.ts'
import type { LinkStates } from './link-states.ts'
import type { Network } from './network.ts'
import type { WorldHooks } from './world-hooks.ts'
import type { Pending, SimNode } from './world-node.ts'

export type SenderContext = {
  readonly definition: Definition
  readonly network: Network
  /** Both are null if nodes are not notified of link changes. */
  readonly links: LinkStates | null
  readonly notifier: LinkNotifier | null
  readonly record: WorldHooks['record']
  push(time: Micros, pending: Pending): void
}

export class MessageSender {
  readonly #definition: Definition
  readonly #network: Network
  readonly #links: LinkStates | null
  readonly #notifier: LinkNotifier | null
  readonly #record: WorldHooks['record']
  readonly #push: SenderContext['push']
  readonly #kinds: readonly string[]
  readonly #counts: number[]
  #messages = 0

  constructor({ definition, network, links, notifier, record, push }: SenderContext) {
    this.#definition = definition
    this.#network = network
    this.#links = links
    this.#notifier = notifier
    this.#record = record
    this.#push = push
    this.#kinds = [...definition.kinds, ...definition.linkKinds]
    this.#counts = this.#kinds.map(() => 0)
  }

  /** Number of messages of a kind sent so far. */
  sentOf(kind: string): number {
    const index = this.#kinds.indexOf(kind)
    return index < 0 ? 0 : (this.#counts[index] as number)
  }

  /** Sends a message and returns its number. */
  send(from: SimNode, to: SimNode, body: Message, now: Micros): number {
    const id = this.#messages++
    const name = this.#definition.kindOf(body)
    const kind = this.#kinds.indexOf(name)
    if (kind < 0) fail(`message kind "${name}" is not declared by the protocol`)
    this.#counts[kind] = (this.#counts[kind] as number) + 1
    const links = this.#links
    const network = this.#network
    const { index: sender } = from
    const { index: receiver } = to
    if (links !== null && !links.isUp(sender, receiver)) {
      this.#recordLoss(id, 'cut', now)
      return id
    }
    const why = network.lossOf(sender, receiver, name)
    if (why !== null) {
      this.#recordLoss(id, why, now)
      this.#notifier?.noteLoss(from, to)
      return id
    }
    const label = links === null ? 0 : links.count(sender, receiver)
    const isDoubled = network.duplicates() && links === null
    const message: Pending = { type: 'message', from, to, body, id, label, sentAt: now }
    this.#push(network.arrivalOf(sender, receiver, name, now), message)
    if (isDoubled) this.#push(network.arrivalOf(sender, receiver, name, now), message)
    return id
  }

  #recordLoss(message: number, why: LossReason, now: Micros): void {
    this.#record?.({ type: 'lost', at: now, message, why }, [])
  }
}
