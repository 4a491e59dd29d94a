/**
 * The messages in flight to a node, as one number.
 *
 * A link that keeps its order is a queue, one that does not is a bag; the list of an inbox holds the messages of
 * each sender together, in their order or, in a bag, by number. Every inbox is worked out once.
 */
import { equalPlain, type Message } from '../core/index.ts'
import { append, type Inbox, type InFlight } from '../sim/index.ts'
import { Interner, ListInterner, PairTable } from './intern.ts'
import { Index, Pool } from './pool.ts'

export const EMPTY_INBOX = 0

export class Inboxes {
  /** At an inbox's place: how many messages may come out, then for each the message and the inbox without it. */
  readonly pool = new Pool()
  readonly #messages = new Interner<InFlight>()
  readonly #lists = new ListInterner()
  readonly #places = new Index()
  readonly #appended = new PairTable()
  readonly #isBag: boolean

  constructor(order: 'fifo' | 'any') {
    this.#isBag = order === 'any'
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

  /** Where in the pool an inbox's choices stand. */
  place(inbox: number): number {
    const place = this.#places.get(inbox)
    return place >= 0 ? place : this.#compile(inbox)
  }

  /** The place of a message among those from the same sender, in the order of the world without time. */
  nth(inbox: number, message: number): number {
    if (!this.#isBag) return 0
    const wanted = this.message(message)
    return this.#lists
      .listOf(inbox)
      .reduce<Inbox>((bag, id) => append(bag, this.message(id), 'any'), [])
      .filter(({ from }) => from === wanted.from)
      .findIndex(({ body }) => equalPlain(body, wanted.body))
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
      // From a queue the first comes out; from a bag anything does, but of equal messages any one will do.
      if (!isFirst && (!this.#isBag || previous === message)) continue
      choices.push(message, this.#lists.idOf(list.toSpliced(at, 1)))
    }
    const place = this.pool.add([choices.length / 2, ...choices])
    this.#places.set(inbox, place)
    return place
  }
}
