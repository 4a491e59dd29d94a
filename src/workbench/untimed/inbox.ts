/** Messages in flight to a node, in the untimed world. */
import { canonical, equalPlain, type Message } from '../../core/index.ts'

/** A message in flight. `from`: the index of the sender. `ahead`: see link-ends.ts; absent if it is 0. */
export type InFlight = { readonly from: number; readonly body: Message; readonly ahead?: number }

/** The messages in flight to one node, in canonical order: see `append`. */
export type Inbox = readonly InFlight[]

/**
 * A FIFO link is a queue: only the order of messages from the same sender matters. An unordered link is a
 * multiset: no order matters. Inserting in canonical order makes equal situations equal values.
 */
export function append(inbox: Inbox, message: InFlight, order: 'fifo' | 'any'): Inbox {
  const rank = (other: InFlight): number => {
    if (other.from !== message.from) return other.from - message.from
    if (order === 'fifo') return -1
    return canonical(other.body) <= canonical(message.body) ? -1 : 1
  }
  const place = inbox.findIndex((other) => rank(other) > 0)
  return place < 0 ? [...inbox, message] : inbox.toSpliced(place, 0, message)
}

/** The messages that can be delivered next, each with its number among those from the same sender. */
export function deliverable(
  inbox: Inbox,
  order: 'fifo' | 'any',
  mayCome: (message: InFlight) => boolean = () => true,
): readonly { readonly place: number; readonly nth: number }[] {
  const choices: { place: number; nth: number }[] = []
  let nth = 0
  for (const [place, message] of inbox.entries()) {
    const previous = inbox[place - 1]
    nth = previous !== undefined && previous.from === message.from ? nth + 1 : 0
    if (nth > 0 && order === 'fifo') continue
    // Of two equal messages, delivering either has the same effect.
    if (nth > 0 && previous !== undefined && equalPlain(previous.body, message.body)) continue
    if (!mayCome(message)) continue
    choices.push({ place, nth })
  }
  return choices
}
