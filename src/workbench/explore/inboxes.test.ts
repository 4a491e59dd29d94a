import { describe, expect, it } from 'vitest'
import { DEFAULT_LINK_HISTORY } from '../untimed/index.ts'
import { EMPTY_INBOX, Inboxes } from './inboxes.ts'

const message = (inboxes: Inboxes, from: number, text: string): number =>
  inboxes.messageId(from, { kind: 'note', text })

/** The texts of the messages that can be delivered, each with the inbox that is left. */
function choices(inboxes: Inboxes, inbox: number): readonly (readonly [unknown, number])[] {
  const place = inboxes.place(inbox)
  const { data } = inboxes.pool
  return Array.from({ length: data[place] as number }, (_, each) => {
    const { body } = inboxes.message(data[place + 1 + each * 2] as number)
    return [body['text'], data[place + 2 + each * 2] as number] as const
  })
}

function filled(inboxes: Inboxes, ...messages: readonly number[]): number {
  return messages.reduce((inbox, each) => inboxes.append(inbox, each), EMPTY_INBOX)
}

describe('an interned queue', () => {
  it('is the same for the same order per sender, however the senders interleave', () => {
    const inboxes = new Inboxes('fifo', DEFAULT_LINK_HISTORY)
    const [a, b, c] = [message(inboxes, 0, 'a'), message(inboxes, 0, 'b'), message(inboxes, 1, 'c')]
    expect(filled(inboxes, a, c, b)).toBe(filled(inboxes, c, a, b))
    expect(filled(inboxes, a, b)).not.toBe(filled(inboxes, b, a))
  })

  it('delivers the first message of each sender', () => {
    const inboxes = new Inboxes('fifo', DEFAULT_LINK_HISTORY)
    const [a, b, c] = [message(inboxes, 0, 'a'), message(inboxes, 0, 'b'), message(inboxes, 1, 'c')]
    expect(choices(inboxes, filled(inboxes, a, b, c))).toEqual([
      ['a', filled(inboxes, b, c)],
      ['c', filled(inboxes, a, b)],
    ])
    expect(inboxes.nth(filled(inboxes, a, b), b)).toBe(0)
  })
})

describe('an interned multiset', () => {
  it('is the same for every order', () => {
    const inboxes = new Inboxes('any', DEFAULT_LINK_HISTORY)
    const [a, b] = [message(inboxes, 0, 'a'), message(inboxes, 0, 'b')]
    expect(filled(inboxes, a, b, a)).toBe(filled(inboxes, b, a, a))
  })

  it('delivers any message, but only one of two equal ones', () => {
    const inboxes = new Inboxes('any', DEFAULT_LINK_HISTORY)
    const [b, a] = [message(inboxes, 0, 'b'), message(inboxes, 0, 'a')]
    const inbox = filled(inboxes, b, a, a)
    expect(choices(inboxes, inbox)).toEqual([
      ['b', filled(inboxes, a, a)],
      ['a', filled(inboxes, a, b)],
    ])
  })

  it('numbers messages by their canonical texts, as schedules do', () => {
    const inboxes = new Inboxes('any', DEFAULT_LINK_HISTORY)
    const [b, a, other] = [message(inboxes, 0, 'b'), message(inboxes, 0, 'a'), message(inboxes, 1, 'a')]
    const inbox = filled(inboxes, b, a, other)
    expect([inboxes.nth(inbox, a), inboxes.nth(inbox, b), inboxes.nth(inbox, other)]).toEqual([0, 1, 0])
  })
})

describe('links that change', () => {
  it('drop messages of the incarnation that the receiver leaves, and bring later ones nearer', () => {
    const inboxes = new Inboxes('fifo', DEFAULT_LINK_HISTORY)
    const [a, b, c] = [message(inboxes, 0, 'a'), message(inboxes, 0, 'b'), message(inboxes, 1, 'c')]
    const inbox = filled(inboxes, a, inboxes.ahead(b, 1), c)
    expect(inboxes.afterMove(inbox, 0)).toBe(filled(inboxes, b, c))
    expect(inboxes.afterMove(inbox, 1)).toBe(filled(inboxes, a, inboxes.ahead(b, 1)))
  })

  it('drop messages of a crashed sender that its receiver has not reached', () => {
    const inboxes = new Inboxes('fifo', DEFAULT_LINK_HISTORY)
    const [a, b] = [message(inboxes, 0, 'a'), message(inboxes, 0, 'b')]
    expect(inboxes.fromCrashed(filled(inboxes, a, inboxes.ahead(b, 1)), 0)).toBe(filled(inboxes, a))
  })

  it('show whether a sender has messages in flight', () => {
    const inboxes = new Inboxes('fifo', DEFAULT_LINK_HISTORY)
    const inbox = filled(inboxes, message(inboxes, 1, 'a'))
    expect([inboxes.has(inbox, 0), inboxes.has(inbox, 1)]).toEqual([false, true])
  })
})
