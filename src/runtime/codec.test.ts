import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EVENTS, sent } from '../../test/support/messages.ts'
import type { Message } from '../core/index.ts'
import { BadBytes } from './bytes.ts'
import { decode, type Envelope, encode } from './codec.ts'

describe('every message', () => {
  it.each([
    [
      'local-leader',
      { options: { mode: 'majority' }, events: EVENTS },
      ['Election', 'Reply', 'Release', 'Heartbeat'],
    ],
    ['local-leader', { options: { mode: 'local' }, events: EVENTS.slice(0, 3) }, ['Election']],
    ['local-leader', { options: { mode: 'majority', treeFrom: 3 }, events: EVENTS }, ['Election']],
    ['bully', {}, []],
  ] as const)('of %s comes back as it was: %j', (protocol, more, kinds) => {
    const bodies = sent(protocol, more)
    expect(bodies.length).toBeGreaterThan(20)
    const seen = new Set(bodies.map((body) => (body['body'] as Message | null)?.kind ?? 'Echo'))
    for (const kind of kinds) expect(seen).toContain(kind)
    for (const body of bodies) {
      const envelope: Envelope = { group: 4_000_000_000, from: 'a', body }
      expect(decode(encode(envelope))).toEqual(envelope)
    }
  })

  it('of a group of five fits into a datagram of an Ethernet frame', () => {
    const sizes = sent('local-leader', { nodes: ['n1', 'n2', 'n3', 'n4', 'n5'] }).map(
      (body) => encode({ group: 1, from: 'n1', body }).length,
    )
    expect(Math.max(...sizes)).toBeLessThan(400)
  })
})

describe('bytes that nobody has written', () => {
  const bodies = sent('local-leader', { options: { mode: 'majority' }, events: EVENTS })

  it('are never taken for a message with something else in it, and never throw', () => {
    const datagrams = bodies.slice(0, 400).map((body) => encode({ group: 7, from: 3, body }))
    fc.assert(
      fc.property(
        fc.constantFrom(...datagrams),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 5 }),
        fc.nat(),
        (datagram, changes, cut) => {
          const bytes = datagram.slice(0, datagram.length - (cut % 3 === 0 ? cut % datagram.length : 0))
          for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value
          const decoded = decode(bytes)
          if (decoded instanceof BadBytes) return
          expect(decode(encode(decoded))).toEqual(decoded)
        },
      ),
      { numRuns: 20_000, seed: 5 },
    )
  })

  it('are refused: random ones', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const decoded = decode(bytes)
        if (decoded instanceof BadBytes) return
        expect(decode(encode(decoded))).toEqual(decoded)
      }),
      { numRuns: 30_000, seed: 6 },
    )
  })

  it.each([
    ['nothing at all', [], 'cut short'],
    ['another version', [2, 0, 0, 0, 0], 'version 2, this is 1'],
    ['an unknown kind', [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9], 'kind 9 is unknown'],
    ['a name that is not a number', [1, 0, 0, 0, 0, 0, 127, 248, 0, 0, 0, 0, 0, 0], 'not a plain number'],
    ['more things than bytes', [1, 0, 0, 0, 0, 1, 255, 255, 255, 255], '4294967295 things announced'],
  ])('%s', (_what, bytes, message) => {
    const decoded = decode(Uint8Array.from(bytes))
    expect(decoded).toBeInstanceOf(BadBytes)
    expect((decoded as BadBytes).message).toContain(message)
  })

  it('with JSON nested beyond reason are refused', () => {
    const plain = encode({ group: 1, from: 1, body: { kind: 'x' } })
    const head = plain.slice(0, plain.length - '{"kind":"x"}'.length - 4)
    const text = new TextEncoder().encode('['.repeat(60_000))
    const length = new Uint8Array(4)
    new DataView(length.buffer).setUint32(0, text.length)
    expect(decode(Uint8Array.from([...head, ...length, ...text]))).toBeInstanceOf(BadBytes)
  })

  it('too many for a datagram are not made', () => {
    expect(() => encode({ group: 1, from: 1, body: { kind: 'x', text: 'y'.repeat(70_000) } })).toThrow(
      BadBytes,
    )
  })
})
