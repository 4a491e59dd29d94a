/**
 * Notifies nodes of link changes in the timed world. Each end checks its link soon after the network has
 * changed or the other end has moved.
 */
import type { Input, Micros } from '../../core/index.ts'
import type { LinkStates } from './link-states.ts'
import type { Network } from './network.ts'
import type { Pending, SimNode } from './world-node.ts'

/** What the notifier needs of the world. */
type NotifierContext = {
  now(): Micros
  push(time: Micros, pending: Pending): void
  advance(node: SimNode, input: Input): void
}

export class LinkNotifier {
  readonly #states: LinkStates
  readonly #network: Network
  readonly #nodes: readonly SimNode[]
  readonly #world: NotifierContext

  constructor(states: LinkStates, network: Network, nodes: readonly SimNode[], world: NotifierContext) {
    this.#states = states
    this.#network = network
    this.#nodes = nodes
    this.#world = world
  }

  /** Checks one end of a link and notifies its node of a change. */
  check(node: SimNode, peer: SimNode): void {
    if (!node.up) return
    if (node.stalledUntil !== 0) {
      this.#world.push(node.stalledUntil, { type: 'checkLink', node, peer })
      return
    }
    const change = this.#states.check(node.index, peer.index, this.#isOpen(node, peer))
    if (change === null) return
    this.#checkSoon(peer, node)
    this.#checkSoon(node, peer)
    this.#world.advance(node, { type: 'link', peer: peer.id, up: change.up })
  }

  /**
   * A message of an incarnation that its receiver has not reached starts that incarnation there. False if the
   * incarnation has ended.
   */
  accepts(from: SimNode, to: SimNode, label: number): boolean {
    while (to.up && this.#states.count(to.index, from.index) < label) this.check(to, from)
    return to.up && this.#states.count(to.index, from.index) === label
  }

  /** A loss on such a link makes both ends see it down. */
  noteLoss(from: SimNode, to: SimNode): void {
    this.#states.break(from.index, to.index)
    this.#checkSoon(from, to)
  }

  /** After a change of the network: schedules a check of every end. */
  checkAll(): void {
    for (const node of this.#nodes) {
      for (const peer of this.#nodes) {
        if (node === peer) continue
        const open = this.#isOpen(node, peer)
        if (!open) this.#states.break(node.index, peer.index)
        if (open !== this.#states.isUp(node.index, peer.index)) this.#checkSoon(node, peer)
      }
    }
  }

  #isOpen(node: SimNode, peer: SimNode): boolean {
    return node.up && peer.up && this.#network.isOpen(node.index, peer.index)
  }

  #checkSoon(node: SimNode, peer: SimNode): void {
    const after = this.#network.delay(node.index, peer.index)
    this.#world.push(this.#world.now() + after, { type: 'checkLink', node, peer })
  }
}
