/**
 * Interns inboxes: the messages in flight to one node, as one integer.
 *
 * A FIFO link is a queue; an unordered link is a multiset. The list of an inbox groups messages by sender: in
 * sending order for queues, sorted by message id for multisets. Each operation on an inbox is computed once.
 */
import { equalPlain, type Message } from '../../core/index.ts'
import {
  append,
  dropFromCrashed,
  type Inbox,
  type InFlight,
  inboxAfterMove,
  type LinkHistory,
} from '../untimed/index.ts'
import { Interner, ListInterner, PairTable } from './intern.ts'
import { Index, Pool } from './pool.ts'

export const EMPTY_INBOX = 0

export class Inboxes {
  /**
   * At an inbox's offset: the number of deliverable messages, then for each the message and the inbox without
   * it.
   */
  readonly pool = new Pool()
  readonly #messages = new Interner<InFlight>()
  readonly #lists = new ListInterner()
  readonly #places = new Index()
  readonly #appended = new PairTable()
  readonly #labelled = new PairTable()
  readonly #afterMoves = new PairTable()
  readonly #fromCrashed = new PairTable()
  readonly #isBag: boolean
  readonly #history: LinkHistory

  constructor(order: 'fifo' | 'any', history: LinkHistory) {
    this.#isBag = order === 'any'
    this.#history = history
    this.#lists.idOf([])
  }

  get size(): number {
    return this.#lists.size
  }

  get bytes(): number {
    return this.#lists.bytes + this.#messages.bytes
  }

  messageId(from: number, body: Message): number {
    return this.#messages.idOf({ from, body })
  }

  message(id: number): InFlight {
    return this.#messages.valueOf(id)
  }

  append(inbox: number, message: number): number {
    const known = this.#appended.get(inbox, message)
    return known >= 0 ? known : this.#append(inbox, message)
  }

  /** The same message, labelled as this many incarnations ahead of its receiver. */
  ahead(message: number, ahead: number): number {
    const known = this.#labelled.get(message, ahead)
    if (known >= 0) return known
    const id = this.#messages.idOf({ ...this.message(message), ahead })
    this.#labelled.set(message, ahead, id)
    return id
  }

  /** The inbox after the receiver's end of its link to a sender has moved. */
  afterMove(inbox: number, sender: number): number {
    return this.#changed(this.#afterMoves, inbox, sender, (old) => inboxAfterMove(old, sender, this.#history))
  }

  /** The inbox after a sender has crashed. */
  fromCrashed(inbox: number, sender: number): number {
    return this.#changed(this.#fromCrashed, inbox, sender, (old) => dropFromCrashed(old, sender))
  }

  /** The offset of an inbox's entry in the pool. */
  place(inbox: number): number {
    const place = this.#places.get(inbox)
    return place >= 0 ? place : this.#compile(inbox)
  }

  /** Whether a message from this sender is in flight. */
  has(inbox: number, sender: number): boolean {
    return this.#lists.listOf(inbox).some((id) => this.message(id).from === sender)
  }

  /** The index of a message among those of the same sender, in the order that the untimed world uses. */
  nth(inbox: number, message: number): number {
    if (!this.#isBag) return 0
    const wanted = this.message(message)
    return this.#lists
      .listOf(inbox)
      .reduce<Inbox>((bag, id) => append(bag, this.message(id), 'any'), [])
      .filter(({ from }) => from === wanted.from)
      .findIndex(({ body }) => equalPlain(body, wanted.body))
  }

  #changed(known: PairTable, inbox: number, sender: number, change: (old: Inbox) => Inbox): number {
    const already = known.get(inbox, sender)
    if (already >= 0) return already
    const old = this.#lists.listOf(inbox).map((id) => this.message(id))
    const id = this.#lists.idOf(change(old).map((message) => this.#messages.idOf(message)))
    known.set(inbox, sender, id)
    return id
  }

  #append(inbox: number, message: number): number {
    const list = this.#lists.listOf(inbox)
    const { from } = this.message(message)
    const place = list.findIndex((other) => {
      const otherFrom = this.message(other).from
      return otherFrom > from || (this.#isBag && otherFrom === from && other > message)
    })
    const id = this.#lists.idOf(place < 0 ? [...list, message] : list.toSpliced(place, 0, message))
    this.#appended.set(inbox, message, id)
    return id
  }

  #compile(inbox: number): number {
    const list = this.#lists.listOf(inbox)
    const choices: number[] = []
    for (const [at, message] of list.entries()) {
      const previous = list[at - 1]
      const isFirst = previous === undefined || this.message(previous).from !== this.message(message).from
      // A queue delivers its first message. A multiset delivers any; of equal messages one is enough.
      if (!isFirst && (!this.#isBag || previous === message)) continue
      choices.push(message, this.#lists.idOf(list.toSpliced(at, 1)))
    }
    const place = this.pool.add([choices.length / 2, ...choices])
    this.#places.set(inbox, place)
    return place
  }
}
