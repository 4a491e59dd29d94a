/** Storage accepts everything that the decoder accepts, and neither accepts values that no node could use. */
import { describe, expect, it } from 'vitest'
import { nested } from '../../../test/support/byzantine/fuzzed-messages.ts'
import { sent } from '../../../test/support/messages.ts'
import { canonical, type Message, type Plain, type PlainObject } from '../../core/index.ts'
import { peerHosting } from '../../protocols/index.ts'
import { checkedStable } from '../../protocols/local-leader/stable.ts'
import { InvalidBytesError, Writer } from './bytes.ts'
import { Codec } from './codec.ts'
import { MessageCodec } from './message-codec.ts'

const messages = new MessageCodec(peerHosting('local-leader').wire)

const BEACON = {
  candidate: true,
  low: 0,
  priority: 0,
  incumbent: false,
  heard: true,
  seen: { number: 3, owner: 'a' },
  lease: { left: 1000, token: 3 },
}
const REQUEST = { incarnation: 1, counter: 2 }
const CONFIG = { id: [0, 0], sets: [['a', 'b', 'c']] }
const ELECTION = {
  kind: 'Election',
  beacon: BEACON,
  request: REQUEST,
  epoch: 3,
  renew: true,
  config: CONFIG,
  certificate: { owner: 'b', request: REQUEST },
  view: { round: REQUEST, members: ['a'] },
  wanted: ['a', 'b'],
  tree: ['b', 'a'],
}
const REPLY = {
  kind: 'Reply',
  beacon: BEACON,
  candidate: 'a',
  request: REQUEST,
  votes: [{ node: 'b', support: true }],
  promised: { number: 3, owner: 'a' },
  config: CONFIG,
}

/** The decoded message, or why it is refused. */
function received(body: PlainObject): Message | string {
  const { kind, bytes } = messages.encode(body as Message)
  try {
    return messages.decode(kind, bytes)
  } catch (error) {
    if (error instanceof InvalidBytesError) return error.message
    throw error
  }
}

function plainText(text: string): string {
  const writer = new Writer().begin()
  writer.text(text)
  try {
    messages.decode(0, writer.end())
    return 'taken'
  } catch (error) {
    if (error instanceof InvalidBytesError) return error.message
    throw error
  }
}

const MOST = 2 ** 53 - 1

describe('a message', () => {
  it('is accepted as long as every field is within its bounds', () => {
    for (const body of [ELECTION, REPLY, { kind: 'Heartbeat', beacon: BEACON }])
      expect(received(body)).toEqual(body)
  })

  it.each<[string, PlainObject]>([
    ['beacon.seen.number', { kind: 'Heartbeat', beacon: { ...BEACON, seen: { number: MOST, owner: 'c' } } }],
    ['beacon.seen', { kind: 'Heartbeat', beacon: { ...BEACON, seen: { number: 0, owner: 'c' } } }],
    ['beacon.low', { kind: 'Heartbeat', beacon: { ...BEACON, low: 4 } }],
    ['beacon.priority', { kind: 'Heartbeat', beacon: { ...BEACON, priority: 2 ** 31 - 1 } }],
    ['beacon.lease.token', { kind: 'Heartbeat', beacon: { ...BEACON, lease: { left: 1, token: MOST } } }],
    ['beacon.lease.left', { kind: 'Heartbeat', beacon: { ...BEACON, lease: { left: MOST, token: 1 } } }],
    ['epoch', { ...ELECTION, epoch: MOST }],
    ['request.counter', { ...ELECTION, request: { incarnation: 1, counter: MOST } }],
    ['request.incarnation', { ...ELECTION, request: { incarnation: 0, counter: 1 } }],
    [
      'certificate.request',
      { ...ELECTION, certificate: { owner: 'b', request: { incarnation: MOST, counter: 1 } } },
    ],
    ['certificate.owner', { ...ELECTION, certificate: { owner: '', request: REQUEST } }],
    ['view.members', { ...ELECTION, view: { round: REQUEST, members: ['a', 'a'] } }],
    ['wanted', { ...ELECTION, wanted: [] }],
    ['tree', { ...ELECTION, tree: [1.5] }],
    ['config.id.0', { ...ELECTION, config: { id: [MOST, 0], sets: [['a']] } }],
    ['config.id.1', { ...ELECTION, config: { id: [1, MOST], sets: [['a']] } }],
    ['config.sets', { ...ELECTION, config: { id: [1, 1], sets: [] } }],
    ['config.sets', { ...ELECTION, config: { id: [1, 1], sets: [['a'], ['b'], ['c']] } }],
    ['config.sets.0', { ...ELECTION, config: { id: [1, 1], sets: [[]] } }],
    ['config.sets.0', { ...ELECTION, config: { id: [1, 1], sets: [['']] } }],
    ['config.sets.0', { ...ELECTION, config: { id: [1, 1], sets: [[1.5]] } }],
    ['config.sets.0', { ...ELECTION, config: { id: [1, 1], sets: [['b', 'a']] } }],
    ['config.sets.0', { ...ELECTION, config: { id: [1, 1], sets: [['x'.repeat(256)]] } }],
    ['promised', { ...REPLY, promised: { number: 3, owner: null } }],
    [
      'votes',
      {
        ...REPLY,
        votes: [
          { node: 'b', support: true },
          { node: 'b', support: false },
        ],
      },
    ],
  ])('is unreadable when %s is out of bounds: %j', (field, body) => {
    expect(received(body)).toMatch(
      new RegExp(`^${canonical(body['kind'] as Plain).slice(1, -1)}\\.${field.replaceAll('.', '\\.')}[^a-z]`),
    )
  })

  it('is accepted only if stable data with the same values is', () => {
    const seen = sent('local-leader', { options: { mode: 'majority' } }).flatMap(({ body }) => {
      const { promised, config } = (body ?? {}) as { promised?: Plain; config?: Plain }
      return promised === undefined || config === undefined ? [] : [{ promised, config }]
    })
    expect(seen.length).toBeGreaterThan(20)
    for (const values of seen) checkedStable({ incarnation: 1, lockTime: 1, ...values })
    for (const [field, values] of [
      ['promised.number', { promised: { number: MOST, owner: 'a' }, config: CONFIG }],
      ['config.sets.0', { promised: { number: 1, owner: 'a' }, config: { id: [1, 1], sets: [[1.5]] } }],
      ['incarnation', { incarnation: MOST, promised: { number: 1, owner: 'a' }, config: CONFIG }],
    ] as const) {
      expect(() => checkedStable({ incarnation: 1, lockTime: 1, ...values })).toThrow(`(${field}: `)
    }
  })

  it('that is nested too deeply is unreadable, before it is parsed', () => {
    const settings = (agreed: Plain): string => canonical({ kind: 'Settings', agreed })
    expect(plainText(settings({ sigma: 3, nodes: ['a', 'b'], weights: { a: 1 } }))).toBe('taken')
    expect(plainText(settings({ deep: nested(5000) }))).toMatch(/nested more than 12 levels/)
    expect(plainText(settings({ deep: nested(5) }))).toMatch(/Settings\.agreed\.deep: is nested too deeply/)
    expect(plainText(settings({ long: 'x'.repeat(2000) }))).toMatch(/more than 1024 characters/)
    expect(
      plainText(settings(Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`s${at}`, 1])))),
    ).toMatch(/at most 64 entries/)
    // Brackets in a string are not levels.
    expect(plainText(settings({ text: '['.repeat(100) }))).toBe('taken')
    expect(plainText(settings({ text: `"${'['.repeat(100)}` }))).toBe('taken')
  })
})

describe('a session', () => {
  it.each([
    ['by', { by: MOST }],
    ['by', { by: 0 }],
    ['number', { number: MOST }],
    ['sent', { sent: MOST }],
    ['echo', { echo: { sent: MOST, received: 1 } }],
  ])('is unreadable when %s is out of bounds', (_, change) => {
    const codec = new Codec()
    const body = {
      kind: 'datagram',
      config: 0,
      by: 1,
      for: 1,
      number: 1,
      sent: 1,
      awake: null,
      echo: null,
      body: null,
      ...change,
    }
    expect(codec.decode(codec.encode({ from: 'a', to: 'b', body }))).toBeInstanceOf(InvalidBytesError)
  })
})
