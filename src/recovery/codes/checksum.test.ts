import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CHECKSUMS } from './checksum.ts'

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

it('matches the published check values', () => {
  expect(CHECKSUMS.crc32c(ascii('123456789'))).toBe(0xe3069283)
  expect(CHECKSUMS.crc32(ascii('123456789'))).toBe(0xcbf43926)
  // RFC 3720, appendix B.4: 32 bytes of zeros, of ones, and ascending.
  expect(CHECKSUMS.crc32c(new Uint8Array(32))).toBe(0x8a9136aa)
  expect(CHECKSUMS.crc32c(new Uint8Array(32).fill(255))).toBe(0x62a8ab43)
  expect(CHECKSUMS.crc32c(Uint8Array.from({ length: 32 }, (_, index) => index))).toBe(0x46dd794e)
})

it('has the values of zlib for CRC-32, at any length above 0 and any alignment', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 10, maxLength: 200 }), fc.nat({ max: 9 }), (bytes, skipped) => {
      const part = bytes.subarray(skipped)
      expect(CHECKSUMS.crc32(part, 77)).toBe(crc32(part, 77))
    }),
  )
})

it.each(['crc32c', 'crc32'] as const)('continues from the checksum of earlier bytes: %s', (name) => {
  const compute = CHECKSUMS[name]
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat({ max: 100 }), (bytes, at) => {
      expect(compute(bytes.subarray(at), compute(bytes.subarray(0, at)))).toBe(compute(bytes))
    }),
  )
})
