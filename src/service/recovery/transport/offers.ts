/**
 * Columns that this node is sending. The holder may fetch a column over a connection of its own instead of waiting for
 * the body of the request: Node.js can read into memory that is used again (`onread`) only at the end that connected.
 */
import type { ServerResponse } from 'node:http'
import type { NodeId } from '../../../core/index.ts'
import type { ColumnKey } from '../store/index.ts'
import type { BlockSealer } from './blocks.ts'
import { encodeNode, offerPathOf } from './wire.ts'

/** Where the blocks of a column go once its holder has asked for them. */
export type OfferedBody = { readonly stream: ServerResponse; readonly sealer: BlockSealer }

export type Offer = {
  /** Of the column in its stored form. */
  readonly size: number
  /** Of the body, with the frames of all blocks. */
  readonly length: number
  take(body: OfferedBody): void
}

export type OfferAddress = { readonly holder: NodeId; readonly group: string; readonly key: ColumnKey }

export class ColumnOffers {
  readonly #offers = new Map<string, Offer>()

  /** Offers the column to its holder, until the returned function is called. */
  add(address: OfferAddress, offer: Offer): () => void {
    const name = nameOf(address)
    this.#offers.set(name, offer)
    return () => {
      if (this.#offers.get(name) === offer) this.#offers.delete(name)
    }
  }

  /** Each offer is taken once. */
  take(address: OfferAddress): Offer | null {
    const name = nameOf(address)
    const offer = this.#offers.get(name) ?? null
    this.#offers.delete(name)
    return offer
  }
}

function nameOf({ holder, group, key }: OfferAddress): string {
  return `${encodeNode(holder)} ${offerPathOf(group, key)}`
}
