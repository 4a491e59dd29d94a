import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { InvalidKeyError, sealer } from './seal.ts'

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const DATAGRAM = Buffer.from('who leads?')

describe.each([
  ['authentic', false],
  ['secret', true],
])('%s datagrams', (_how, secrecy) => {
  const ours = sealer([key(1)], secrecy)

  it('are opened unchanged', () => {
    expect(ours.open(ours.seal(DATAGRAM))).toEqual(DATAGRAM)
    expect(ours.seal(DATAGRAM).includes(DATAGRAM)).toBe(!secrecy)
  })

  it('are refused when any bit is changed', () => {
    const sealed = ours.seal(DATAGRAM)
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(typeof ours.open(changed)).toBe('string')
    }
  })

  it('are refused when truncated, or sealed with another key', () => {
    const sealed = ours.seal(DATAGRAM)
    for (let length = 0; length < sealed.length; length++) {
      expect(typeof ours.open(sealed.subarray(0, length))).toBe('string')
    }
    expect(sealer([key(2)], secrecy).open(sealed)).toBe('unknown key')
  })

  it('are never refused during a key rotation', () => {
    const before = sealer([key(1)], secrecy)
    const adding = sealer([key(1), key(2)], secrecy)
    const turning = sealer([key(2), key(1)], secrecy)
    const after = sealer([key(2)], secrecy)
    for (const [old, next] of [
      [before, adding],
      [adding, turning],
      [turning, after],
    ] as const) {
      expect(next.open(old.seal(DATAGRAM))).toEqual(DATAGRAM)
      expect(old.open(next.seal(DATAGRAM))).toEqual(DATAGRAM)
    }
    expect(after.open(before.seal(DATAGRAM))).toBe('unknown key')
  })
})

it('a node with encryption refuses datagrams that are only authenticated', () => {
  expect(sealer([key(1)], true).open(sealer([key(1)], false).seal(DATAGRAM))).toBe('unknown format')
})

it('keys that are too short or missing are refused, and the error says what to do', () => {
  expect(() => sealer([new Uint8Array(15)], false)).toThrow(InvalidKeyError)
  expect(() => sealer([new Uint8Array(15)], false)).toThrow('has 15 bytes, at least 16 are needed')
  expect(() => sealer([], false)).toThrow('at least one key')
})

it('authenticated datagrams of any length end with 16 bytes of HMAC-SHA256 over everything before', () => {
  const part = createHmac('sha256', key(1)).update('conclave authentic').digest()
  const ours = sealer([key(1)], false)
  for (const length of [0, 1, 50, 63, 64, 65, 200, 1452, 60_000, 65_486]) {
    const sealed = ours.seal(Buffer.alloc(length, length))
    const content = sealed.subarray(0, -16)
    expect(sealed.subarray(-16)).toEqual(createHmac('sha256', part).update(content).digest().subarray(0, 16))
  }
})
