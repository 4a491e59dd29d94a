/**
 * Numbers the messages of the untimed world, so that its traces pair each delivery with its send as those of
 * the timed world do. A message's position on its link is its position in the inbox (`append` in inbox.ts):
 * sending order on FIFO links, canonical text order on unordered links.
 */
import { canonical, type Message, type NodeId, present } from '../../core/index.ts'

type NumberedMessage = { readonly id: number; readonly text: string }

export class MessageNumbers {
  readonly #keepsOrder: boolean
  readonly #inFlight = new Map<NodeId, Map<NodeId, NumberedMessage[]>>()
  #next = 0

  constructor(keepsOrder: boolean) {
    this.#keepsOrder = keepsOrder
  }

  /** The number of a message that is sent. A message that is lost at once also gets a number. */
  send(from: NodeId, to: NodeId, body: Message, lost: boolean): number {
    const id = this.#next++
    if (lost) return id
    const link = this.#link(from, to)
    const text = canonical(body)
    const later = this.#keepsOrder ? -1 : link.findIndex((other) => other.text > text)
    link.splice(later < 0 ? link.length : later, 0, { id, text })
    return id
  }

  deliver(from: NodeId, to: NodeId, nth: number): number {
    return present(this.#link(from, to).splice(nth, 1)[0], 'the message that was delivered').id
  }

  /**
   * Keeps the first or last `count` messages on a link and returns the numbers of the others, which are lost.
   */
  keep(from: NodeId, to: NodeId, count: number, which: 'first' | 'last'): readonly number[] {
    const link = this.#link(from, to)
    const lost = link.length - count
    return (which === 'last' ? link.splice(0, lost) : link.splice(count, lost)).map(({ id }) => id)
  }

  #link(from: NodeId, to: NodeId): NumberedMessage[] {
    let links = this.#inFlight.get(from)
    if (links === undefined) {
      links = new Map()
      this.#inFlight.set(from, links)
    }
    let link = links.get(to)
    if (link === undefined) {
      link = []
      links.set(to, link)
    }
    return link
  }
}
