import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { append, deliverable, type Inbox, type InFlight } from './inbox.ts'

const message = (from: number, kind: string): InFlight => ({ from, body: { kind } })
const inboxOf = (order: 'fifo' | 'any', ...messages: readonly InFlight[]): Inbox =>
  messages.reduce<Inbox>((inbox, each) => append(inbox, each, order), [])
const shown = (inbox: Inbox): readonly string[] => inbox.map(({ from, body }) => `${from}${body.kind}`)

const messages = fc.array(
  fc
    .record({ from: fc.nat(2), kind: fc.constantFrom('a', 'b', 'c') })
    .map(({ from, kind }) => message(from, kind)),
  { maxLength: 8 },
)

describe('a FIFO inbox', () => {
  it('keeps the order of each sender', () => {
    const inbox = inboxOf('fifo', message(1, 'b'), message(0, 'c'), message(1, 'a'), message(0, 'a'))
    expect(shown(inbox)).toEqual(['0c', '0a', '1b', '1a'])
  })

  it('is the same for every interleaving of the senders', () => {
    fc.assert(
      fc.property(messages, (sent) => {
        const bySender = sent.toSorted((a, b) => a.from - b.from)
        expect(inboxOf('fifo', ...sent)).toEqual(inboxOf('fifo', ...bySender))
      }),
    )
  })

  it('delivers the oldest message of each sender', () => {
    const inbox = inboxOf('fifo', message(0, 'b'), message(0, 'a'), message(2, 'c'))
    expect(deliverable(inbox, 'fifo')).toEqual([
      { place: 0, nth: 0 },
      { place: 2, nth: 0 },
    ])
  })
})

describe('an unordered inbox', () => {
  it('is the same for every order', () => {
    fc.assert(
      fc.property(messages, fc.infiniteStream(fc.nat()), (sent, keys) => {
        const shuffled = sent
          .map((each) => ({ each, key: keys.next().value as number }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ each }) => each)
        expect(inboxOf('any', ...shuffled)).toEqual(inboxOf('any', ...sent))
      }),
    )
  })

  it('delivers every message, but only one of equal ones', () => {
    const inbox = inboxOf('any', message(0, 'b'), message(0, 'a'), message(0, 'a'), message(1, 'a'))
    expect(shown(inbox)).toEqual(['0a', '0a', '0b', '1a'])
    expect(deliverable(inbox, 'any')).toEqual([
      { place: 0, nth: 0 },
      { place: 2, nth: 2 },
      { place: 3, nth: 0 },
    ])
  })
})

it('skips messages that may not come yet, and does not change the numbers of the others', () => {
  const inbox = inboxOf('any', message(0, 'a'), message(0, 'b'))
  expect(deliverable(inbox, 'any', ({ body }) => body.kind !== 'a')).toEqual([{ place: 1, nth: 1 }])
  expect(deliverable([], 'fifo')).toEqual([])
})

it('loses no message', () => {
  fc.assert(
    fc.property(messages, fc.constantFrom('fifo' as const, 'any' as const), (sent, order) => {
      expect(shown(inboxOf(order, ...sent)).toSorted()).toEqual(shown(sent).toSorted())
    }),
  )
})
