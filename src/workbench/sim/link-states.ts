/**
 * Link states in the timed world, for protocols that are notified of link changes.
 *
 * Follows the rules of untimed/link-ends.ts, but with transition counts instead of leads, because timed
 * worlds are never compared. An even count means up. An end moves when it notices a change of the network or
 * the loss of a message, never exceeds the slack, and the other end follows.
 */
import type { LinkHistory } from '../untimed/link-ends.ts'

/** The change that an end sees; null if there is none. */
export type LinkChange = { readonly up: boolean } | null

export class LinkStates {
  readonly #nodes: number
  readonly #history: LinkHistory
  /** By end and peer: number of transitions seen. */
  readonly #seen: Int32Array
  /** By pair, both ways: 1 after a loss, so that both ends must see the link down before it can go up. */
  readonly #broken: Uint8Array

  constructor(nodes: number, history: LinkHistory, beginsUp: (a: number, b: number) => boolean) {
    this.#nodes = nodes
    this.#history = history
    this.#seen = new Int32Array(nodes ** 2)
    this.#broken = new Uint8Array(nodes ** 2)
    for (let a = 0; a < nodes; a++) {
      for (let b = 0; b < nodes; b++) this.#seen[a * nodes + b] = beginsUp(a, b) ? 0 : 1
    }
  }

  isUp(at: number, peer: number): boolean {
    return this.count(at, peer) % 2 === 0
  }

  /** The incarnation of the link at an end: the label of the messages it sends. */
  count(at: number, peer: number): number {
    return this.#seen[at * this.#nodes + peer] as number
  }

  /** A message on this link was lost: the newest incarnation must end. */
  break(a: number, b: number): void {
    if (this.#newest(a, b) % 2 === 0) this.#setBroken(a, b, 1)
  }

  /** Checks one end. `open`: whether the network carries messages both ways between running nodes. */
  check(at: number, peer: number, open: boolean): LinkChange {
    const mine = this.count(at, peer)
    const theirs = this.count(peer, at)
    if (mine < theirs) return this.#move(at, peer)
    const wanted = open && this.#broken[at * this.#nodes + peer] === 0
    if (this.isUp(at, peer) === wanted || mine - theirs >= Math.max(this.#history.slack, 1)) return null
    this.#setBroken(at, peer, 0)
    return this.#move(at, peer)
  }

  /** A crashed node's ends are down; its peers will see that. */
  crash(at: number): void {
    for (let peer = 0; peer < this.#nodes; peer++) {
      if (peer === at) continue
      const newest = this.#newest(at, peer)
      this.#seen[at * this.#nodes + peer] = newest % 2 === 0 ? newest + 1 : newest
      this.#setBroken(at, peer, 0)
    }
  }

  #newest(a: number, b: number): number {
    return Math.max(this.count(a, b), this.count(b, a))
  }

  #move(at: number, peer: number): LinkChange {
    const place = at * this.#nodes + peer
    this.#seen[place] = (this.#seen[place] as number) + 1
    return { up: this.isUp(at, peer) }
  }

  #setBroken(a: number, b: number, broken: 0 | 1): void {
    this.#broken[a * this.#nodes + b] = broken
    this.#broken[b * this.#nodes + a] = broken
  }
}
