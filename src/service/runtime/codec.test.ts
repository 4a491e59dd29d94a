import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EVENTS, sent } from '../../../test/support/messages.ts'
import type { Message } from '../../core/index.ts'
import { type Datagram, type Part, weightOf } from '../../links/index.ts'
import { peerHosting } from '../../protocols/index.ts'
import { InvalidBytesError } from './bytes.ts'
import { Codec, type Envelope, groupDigest } from './codec.ts'

const codec = new Codec()
const { wire } = peerHosting('local-leader')
codec.learn('g', wire)
codec.learn('other', wire)

const MORE = { options: { mode: 'majority' }, events: EVENTS }

/** Messages of a simulated group as a real process would send them: in a bundle with a message of another group. */
function envelopes(protocol: string, more: object): readonly Envelope[] {
  return sent(protocol, more).map((message, index): Envelope => {
    const { body, ...session } = message as unknown as Datagram
    if (message.kind !== 'datagram') return wrapped({ kind: 'datagram', ...SESSION, body: bundled(message) })
    const whole = { ...session, config: 0, body: body === null ? null : bundled(body) }
    return wrapped(whole, index)
  })
}

const SESSION = { config: 0, by: 1, for: 2, number: 3, sent: 4, awake: null, echo: null }

function bundled(body: Message): Message {
  const parts: readonly Part[] = [
    { group: 'g', config: 7, body },
    { group: 'other', config: 4_000_000_000, body: { kind: 'Settings', agreed: { sigma: 3 } } },
  ]
  return { kind: 'bundle', parts }
}

const wrapped = (body: Message, index = 0): Envelope => ({
  from: index % 2 === 0 ? 'a' : 3,
  to: 'b',
  body,
  foreign: 0,
})

describe('every message', () => {
  it.each([
    ['local-leader', MORE, ['Election', 'Reply', 'Release', 'Heartbeat']],
    ['local-leader', { options: { mode: 'local' }, events: EVENTS.slice(0, 3) }, ['Election']],
    ['local-leader', { options: { mode: 'majority', treeFrom: 3 }, events: EVENTS }, ['Election']],
    ['bully', {}, []],
  ] as const)('of %s is decoded unchanged: %j', (protocol, more, kinds) => {
    const all = envelopes(protocol, more)
    expect(all.length).toBeGreaterThan(20)
    const seen = new Set(sent(protocol, more).map((body) => (body['body'] as Message | null)?.kind ?? 'Echo'))
    for (const kind of kinds) expect(seen).toContain(kind)
    for (const envelope of all) expect(codec.decode(codec.encode(envelope))).toEqual(envelope)
  })

  const lengthWith = (parts: readonly Part[]): number =>
    codec.encode(wrapped({ kind: 'datagram', ...SESSION, body: { kind: 'bundle', parts } })).length
  const sizeOf = (part: Part): number => lengthWith([part, part]) - lengthWith([part])
  const partsOf = (nodes: readonly string[]): readonly Part[] =>
    sent('local-leader', { nodes }).flatMap(({ body }) =>
      body === null ? [] : [{ group: 'g', config: 0, body: body as Message }],
    )

  it('of a group of five fits into a datagram of an Ethernet frame', () => {
    expect(Math.max(...partsOf(['n1', 'n2', 'n3', 'n4', 'n5']).map(sizeOf))).toBeLessThan(300)
  })

  it('takes no more bytes than its weight', () => {
    for (const part of partsOf(['n1', 'n2', 'n3', 'a longer name'])) {
      expect(sizeOf(part)).toBeLessThanOrEqual(weightOf(part))
    }
    const settings: Part = {
      group: 'g',
      config: 1,
      body: { kind: 'Settings', agreed: { sigma: 3, mode: 'x' } },
    }
    expect(sizeOf(settings)).toBeLessThanOrEqual(weightOf(settings) + 4)
  })
})

describe('groups', () => {
  it('that this process has not joined are skipped, and counted', () => {
    const one = new Codec()
    one.learn('other', wire)
    const envelope = envelopes('local-leader', MORE).find(
      ({ body }) => (body as unknown as Datagram).body !== null,
    )
    const decoded = one.decode(codec.encode(envelope as Envelope)) as Envelope
    expect(decoded.foreign).toBe(1)
    const { parts } = (decoded.body as unknown as Datagram).body as unknown as { parts: readonly Part[] }
    expect(parts.map(({ group }) => group)).toEqual(['other'])
    one.forget('other')
    expect(one.decode(codec.encode(envelope as Envelope))).toMatchObject({ foreign: 2 })
  })

  it('of nodes with another configuration are noticed, though their messages are not read', () => {
    const other = new Codec()
    other.learn('g', { layouts: [], fault: () => 'another protocol' }, 7)
    const body = sent('local-leader', MORE).find((each) => each.body !== null)?.body as Message
    const settings: Message = { kind: 'Settings', agreed: { mode: 'x' } }
    const parts: readonly Part[] = [
      { group: 'g', config: 6, body },
      { group: 'g', config: 0, body: settings },
    ]
    const envelope = envelopes('local-leader', MORE).find(
      (each) => (each.body as unknown as Datagram).body !== null,
    ) as Envelope
    const decoded = other.decode(
      codec.encode({ ...envelope, body: { ...envelope.body, body: { kind: 'bundle', parts } } }),
    )
    expect(decoded).toMatchObject({
      body: {
        body: {
          parts: [
            { config: 6, body: { kind: 'unread' } },
            { config: 0, body: settings },
          ],
        },
      },
    })
  })

  it('have digests below 2^53', () => {
    expect(groupDigest('orders')).toBeLessThan(2 ** 53)
    expect(groupDigest('orders')).not.toBe(groupDigest('order'))
  })
})

describe('bytes that no node has written', () => {
  const all = envelopes('local-leader', MORE).slice(0, 400)

  it('are never decoded as a different message, and never throw', () => {
    const datagrams = all.map((envelope) => codec.encode(envelope))
    fc.assert(
      fc.property(
        fc.constantFrom(...datagrams),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 5 }),
        fc.nat(),
        (datagram, changes, cut) => {
          const bytes = datagram.slice(0, datagram.length - (cut % 3 === 0 ? cut % datagram.length : 0))
          for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value
          const decoded = codec.decode(bytes)
          if (decoded instanceof InvalidBytesError) return
          expect(codec.decode(codec.encode(decoded))).toEqual({ ...decoded, foreign: 0 })
        },
      ),
      { numRuns: 20_000, seed: 5 },
    )
  })

  it('are refused when they are random', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const decoded = codec.decode(bytes)
        if (decoded instanceof InvalidBytesError) return
        expect(codec.decode(codec.encode(decoded))).toEqual({ ...decoded, foreign: 0 })
      }),
      { numRuns: 30_000, seed: 6 },
    )
  })

  const NAMES = [1, 0, 0, 0, 1, 97, 1, 0, 0, 0, 1, 98]
  /** The first incarnation, number 1; all other fields are 0. */
  const SESSION_BYTES = Array.from({ length: 33 }, (_, at) => (at === 7 || at === 23 ? 1 : 0))
  const partOf = (kind: number, length: readonly number[], ...body: number[]): number[] => {
    const digest = new Uint8Array(8)
    new DataView(digest.buffer).setBigUint64(0, BigInt(groupDigest('g')))
    return [2, 1, ...NAMES, ...SESSION_BYTES, 0, 0, 0, 1, ...digest, 0, 0, 0, 0, kind, ...length, ...body]
  }

  it.each([
    ['nothing at all', [], 'truncated'],
    ['another version', [1, 0, 0, 0, 0], 'wire version 1; this process uses 2'],
    ['an unknown kind', [2, 9], 'kind 9 is unknown'],
    ['a name that is not a number', [2, 0, 0, 127, 248, 0, 0, 0, 0, 0, 0], 'not a finite number'],
    ['more items than bytes', [2, 0, 1, 255, 255, 255, 255], '4294967295 items are declared'],
    ['a part of an unknown kind', partOf(9, [0, 0]), 'kind 9 is unknown'],
    ['a part longer than the datagram', partOf(1, [9, 9]), 'truncated'],
    ['a part with bytes left over', partOf(0, [0, 8], 0, 0, 0, 2, 123, 125, 0, 0), 'without a kind'],
    ['more parts than bytes', [2, 1, ...NAMES, ...SESSION_BYTES, 255, 0, 0, 0], 'items are declared'],
  ])('%s', (_what, bytes, message) => {
    const decoded = codec.decode(Uint8Array.from(bytes))
    expect(decoded).toBeInstanceOf(InvalidBytesError)
    expect((decoded as InvalidBytesError).message).toContain(message)
  })

  it('with deeply nested JSON are refused', () => {
    const plain = codec.encode(wrapped({ kind: 'x' }))
    const head = plain.slice(0, plain.length - '{"kind":"x"}'.length - 4)
    const text = new TextEncoder().encode('['.repeat(60_000))
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, text.length)
    expect(codec.decode(Uint8Array.from([...head, ...length, ...text]))).toBeInstanceOf(InvalidBytesError)
  })

  it('that do not fit into a datagram are not encoded', () => {
    const large: Message = { kind: 'x', text: 'y'.repeat(65_520) }
    expect(() => codec.encode(wrapped(large))).toThrow(InvalidBytesError)
    const parts: readonly Part[] = [{ group: 'g', config: 0, body: large }]
    const body: Message = { kind: 'datagram', ...SESSION, body: { kind: 'bundle', parts } }
    expect(() => codec.encode(wrapped(body))).toThrow(InvalidBytesError)
  })
})
