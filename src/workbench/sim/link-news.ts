/**
 * In the timed world: who sees which link up or down, for protocols that are told of their links.
 *
 * The rules are those of ends.ts, with counts instead of leads, since this world is never compared with another: an
 * even count is up. An end moves when it notices that the network has changed, or that something sent over the link
 * was lost, and never leads by more than the slack; the other end follows.
 */
import type { LinkHistory } from '../untimed/link-ends.ts'

/** What a look at a link has come to, for the end that looked: what it now sees, or null when it sees nothing new. */
export type LinkChange = { readonly up: boolean } | null

export class LinkStates {
  readonly #nodes: number
  readonly #history: LinkHistory
  /** By end and peer: transitions seen. */
  readonly #seen: Int32Array
  /** By pair, both ways: 1 where something was lost, so that both ends must see a down before an up. */
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

  /** The incarnation of the link that an end is in: the label of what it sends. */
  count(at: number, peer: number): number {
    return this.#seen[at * this.#nodes + peer] as number
  }

  /** Something sent over this link is lost: its newest incarnation must end, if it has not. */
  break(a: number, b: number): void {
    if (this.#newest(a, b) % 2 === 0) this.#setBroken(a, b, 1)
  }

  /** An end looks at its link; `open`: whether the network would carry messages, both ways, between living processes. */
  check(at: number, peer: number, open: boolean): LinkChange {
    const mine = this.count(at, peer)
    const theirs = this.count(peer, at)
    if (mine < theirs) return this.#move(at, peer)
    const wanted = open && this.#broken[at * this.#nodes + peer] === 0
    if (this.isUp(at, peer) === wanted || mine - theirs >= Math.max(this.#history.slack, 1)) return null
    this.#setBroken(at, peer, 0)
    return this.#move(at, peer)
  }

  /** A process is gone: its ends are down, and its peers will see that. */
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
