/** Messages of omega on the wire: they are decoded unchanged, and everything else is refused. */
import { describe, expect, it } from 'vitest'
import { canonical, type Message, type Plain, type PlainObject } from '../../core/index.ts'
import { peerHosting } from '../../protocols/index.ts'
import { InvalidBytesError, Writer } from './bytes.ts'
import { MessageCodec } from './message-codec.ts'

const messages = new MessageCodec(peerHosting('omega').wire)

const VIEW = {
  id: [4, 'b'],
  members: [
    ['a', 1],
    ['b', 7],
  ],
}
const HEAD = { by: 3, for: 2, count: 4, received: 1 }
const framed = (body: PlainObject): PlainObject => ({ kind: 'frame', ...HEAD, seq: 5, again: false, body })

const MESSAGES: readonly PlainObject[] = [
  { kind: 'ping', ...HEAD, no: 12, echo: -1 },
  { kind: 'ack', ...HEAD },
  framed({
    kind: 'status',
    life: 2,
    ok: true,
    view: VIEW,
    promised: 4,
    formed: VIEW,
    attempts: [VIEW],
    links: ['a'],
    torn: false,
    aside: false,
  }),
  framed({ kind: 'cand', n: 5, members: VIEW.members, base: VIEW.id }),
  framed({ kind: 'cancel', n: 5 }),
  framed({ kind: 'accept', n: 5, formed: { id: [0, null], members: [] }, attempts: [VIEW] }),
  framed({ kind: 'attempt', n: 5 }),
  framed({ kind: 'attempted', n: 5 }),
  framed({ kind: 'withdraw', n: 5 }),
]

function decoded(text: string): Message {
  const writer = new Writer().begin()
  writer.text(text)
  return messages.decode(0, writer.end())
}

/** False when it is refused as unreadable; any other error fails the test. */
function isTaken(text: string): boolean {
  try {
    decoded(text)
    return true
  } catch (error) {
    if (error instanceof InvalidBytesError) return false
    throw error
  }
}

/** The message with each of its values, at any depth, removed or replaced. */
function* corrupted(value: Plain): Generator<Plain> {
  if (value === null || typeof value !== 'object') return
  const isList = Array.isArray(value)
  for (const key of Object.keys(value)) {
    const inner = (value as PlainObject)[key] as Plain
    const having = (other: Plain): Plain =>
      isList
        ? (value as Plain[]).map((each, at) => (String(at) === key ? other : each))
        : { ...(value as PlainObject), [key]: other }
    for (const other of ['', -7, 1.5, 2 ** 60, [], {}, [[]]] as Plain[]) {
      // Names may be numbers. A message without a kind of omega is not a message of omega.
      const isAnother = typeof inner === 'string' && typeof other === 'number'
      if (key !== 'kind' && !isAnother) yield having(other)
    }
    for (const other of corrupted(inner)) yield having(other)
    if (!isList) {
      const { [key]: _gone, ...rest } = value as PlainObject
      yield rest
      yield { ...(value as PlainObject), more: 1 }
    }
  }
}

describe('messages of omega', () => {
  it.each(MESSAGES.map((message) => [message] as const))('are decoded unchanged: %j', (message) => {
    const { kind, bytes } = messages.encode(message as Message)
    expect(kind).toBe(0)
    expect(messages.decode(kind, bytes)).toEqual(message)
  })

  it('that are corrupted anywhere are unreadable', () => {
    let tried = 0
    const taken: string[] = []
    for (const message of MESSAGES) {
      for (const bad of corrupted(message)) {
        const text = canonical(bad)
        // Some replacements are valid: an empty list of links, for example.
        if (isAsGood(bad as PlainObject)) continue
        tried += 1
        if (isTaken(text)) taken.push(text)
      }
    }
    expect(taken).toEqual([])
    expect(tried).toBeGreaterThan(500)
  })

  it.each([
    [
      'members out of order',
      framed({
        kind: 'cand',
        n: 5,
        members: [
          ['b', 1],
          ['a', 1],
        ],
        base: [0, null],
      }),
    ],
    [
      'a member twice',
      framed({
        kind: 'cand',
        n: 5,
        members: [
          ['a', 1],
          ['a', 2],
        ],
        base: [0, null],
      }),
    ],
    ['a number without a leader', framed({ kind: 'cand', n: 5, members: VIEW.members, base: [3, null] })],
    ['a frame in a frame', framed(framed({ kind: 'cancel', n: 5 }))],
    ['a token that would not be a whole number', framed({ kind: 'cancel', n: 2 ** 41 })],
  ])('%s: unreadable', (_what, message) => {
    expect(() => decoded(canonical(message))).toThrow(InvalidBytesError)
  })
})

/** Lists that may be empty. */
function isAsGood(message: PlainObject): boolean {
  const body = message['body'] as PlainObject | undefined
  const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0
  if (body === undefined || typeof body !== 'object' || body === null) return false
  const given = MESSAGES.find((each) => (each['body'] as PlainObject | undefined)?.['kind'] === body['kind'])
  const original = given?.['body'] as PlainObject | undefined
  if (original === undefined || canonical({ ...message, body: null }) !== canonical({ ...given, body: null }))
    return false
  const changed = Object.keys({ ...original, ...body }).filter(
    (field) => canonical(original[field] ?? null) !== canonical(body[field] ?? null),
  )
  return changed.every((field) => ['links', 'attempts', 'members'].includes(field) && isEmpty(body[field]))
}
