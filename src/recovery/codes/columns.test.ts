/** Stored columns: streaming, headers, and what is detected when bytes change. */
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CHECKSUMS } from './checksum.ts'
import { type ErasureCode, TooManyLostColumnsError } from './code.ts'
import { StripeDecoder } from './decoder.ts'
import { StripeEncoder } from './encoder.ts'
import { createEvenOdd } from './evenodd.ts'
import {
  type ColumnHeader,
  decodeHeader,
  encodeHeader,
  InvalidColumnError,
  MOST_HEADER_BYTES,
} from './header.ts'
import { defaultStripeSize, stripeUnit } from './layout.ts'
import { decodePayload, encodePayload } from './payload.ts'
import { createReedSolomon } from './reed-solomon.ts'

const OWNER = { job: 'fractal/tile 7 é', epoch: 12, view: 2 ** 40 + 3 }
const CODES: readonly ErasureCode[] = [
  createEvenOdd(3),
  createEvenOdd(5),
  createEvenOdd(6),
  createEvenOdd(7),
  createReedSolomon(3, 1),
  createReedSolomon(5, 3),
  createReedSolomon(9, 5),
]
const bytesOf = (length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at++) bytes[at] = (at * 167 + (at >> 8) * 13 + 1) & 255
  return bytes
}

/** Stripes of two units: small payloads already have several. */
const smallStripes = (code: ErasureCode) => ({ stripeSize: 2 * stripeUnit(code) })

describe('a payload', () => {
  const sizes = fc.oneof(
    fc.constantFrom(0, 1, 2, 7, 8, 9),
    fc.integer({ min: 0, max: 3000 }),
    fc.constantFrom(48, 96, 191, 192, 193, 320, 640, 1280),
  )

  it('survives every tolerated number of lost columns, at any size', () => {
    fc.assert(
      fc.property(sizes, fc.constantFrom(...CODES), fc.nat(), (size, code, first) => {
        const payload = bytesOf(size)
        const columns = encodePayload(code, OWNER, payload, smallStripes(code))
        const lost = Array.from({ length: code.tolerates }, (_, index) => (first + 2 * index) % code.columns)
        const holes = columns.map((column, number) => (lost.includes(number) ? null : column))
        const { payload: decoded, ...rest } = decodePayload(holes)
        expect(rest).toEqual({ owner: OWNER, broken: [] })
        expect(Buffer.compare(decoded, payload)).toBe(0)
      }),
      { numRuns: 300 },
    )
  })

  it('becomes the same columns in pieces of any length as at once', () => {
    fc.assert(
      fc.property(
        sizes,
        fc.constantFrom(...CODES),
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 }),
        (size, code, pieces) => {
          const payload = bytesOf(size)
          const encoder = new StripeEncoder(code, OWNER, size, smallStripes(code))
          const columns = encoder.headers.map((header) => [...header])
          for (let at = 0, turn = 0; at < size; turn++) {
            const length = pieces[turn % pieces.length] as number
            for (const frames of encoder.push(payload.subarray(at, at + length)))
              for (const [number, { prefix, content }] of frames.entries())
                columns[number]?.push(...prefix, ...content)
            at += length
          }
          encoder.finish()
          const atOnce = encodePayload(code, OWNER, payload, smallStripes(code))
          expect(
            columns.map((column, number) =>
              Buffer.compare(Uint8Array.from(column), atOnce[number] as Uint8Array),
            ),
          ).toEqual(atOnce.map(() => 0))
        },
      ),
      { numRuns: 150 },
    )
  })

  it('has a default stripe size that fits every code', () => {
    for (let nodes = 3; nodes <= 256; nodes++) {
      const code = createEvenOdd(nodes)
      expect(defaultStripeSize(code) % stripeUnit(code), `${nodes} nodes`).toBe(0)
    }
    const payload = bytesOf(3 * 1024 * 1024 + 5)
    const [, ...columns] = encodePayload(createEvenOdd(9), OWNER, payload)
    expect(Buffer.compare(decodePayload([null, ...columns]).payload, payload)).toBe(0)
  })

  it('is not padded to a whole stripe', () => {
    const [column] = encodePayload(createEvenOdd(7), OWNER, bytesOf(1))
    expect(column?.length).toBeLessThan(MOST_HEADER_BYTES)
  })

  it('must have the announced length', () => {
    const encoder = new StripeEncoder(createEvenOdd(5), OWNER, 10)
    expect([...encoder.push(bytesOf(4))]).toEqual([])
    expect(() => encoder.finish()).toThrow('4 bytes given, 10 announced')
    expect([...encoder.push(bytesOf(6))]).toHaveLength(1)
    encoder.finish()
    expect(() => [...encoder.push(bytesOf(1))]).toThrow('more bytes given than the 10 announced')
    expect(() => encoder.encodeStripe(0, bytesOf(9))).toThrow('stripe 0: 9 bytes given, 10 expected')
    expect(() => encoder.encodeStripe(1, bytesOf(0))).toThrow('stripe 1: the number of stripes is 1')
  })

  it('may be checked with an injected CRC-32', () => {
    let calls = 0
    const checksums = {
      ...CHECKSUMS,
      crc32: (bytes: Uint8Array, previous?: number) => {
        calls += 1
        return crc32(bytes, previous)
      },
    }
    const columns = encodePayload(createEvenOdd(5), OWNER, bytesOf(100), { checksum: 'crc32', checksums })
    expect(calls).toBeGreaterThan(0)
    expect(decodePayload(columns)).toEqual({ owner: OWNER, payload: bytesOf(100), broken: [] })
  })
})

describe.each(CODES.filter(({ columns }) => columns === 5).map((code) => [code.name, code] as const))(
  'damage to a column of %s',
  (_, code) => {
    const payload = bytesOf(300)
    const columns = encodePayload(code, OWNER, payload, smallStripes(code))
    const column = 1
    const damaged = columns[column] as Uint8Array
    const decodeWith = (bytes: Uint8Array) =>
      decodePayload(columns.map((good, number) => (number === column ? bytes : good)))

    it('is detected and corrected when any bit is flipped', () => {
      for (let at = 0; at < damaged.length; at++) {
        for (let bit = 0; bit < 8; bit++) {
          const flipped = damaged.slice()
          flipped[at] = (flipped[at] as number) ^ (1 << bit)
          const { payload: decoded, broken } = decodeWith(flipped)
          expect(
            broken.map((found) => found.column),
            `byte ${at}, bit ${bit}`,
          ).toEqual([column])
          expect(Buffer.compare(decoded, payload)).toBe(0)
        }
      }
    })

    it('is detected and corrected when it is truncated anywhere', () => {
      for (let length = 0; length < damaged.length; length++) {
        const { payload: decoded, broken } = decodeWith(damaged.subarray(0, length))
        expect(new Set(broken.map((found) => found.column)), `length ${length}`).toEqual(new Set([column]))
        expect(Buffer.compare(decoded, payload)).toBe(0)
      }
    })

    it('is detected when bytes are overwritten at random', () => {
      fc.assert(
        fc.property(
          fc.nat({ max: damaged.length - 1 }),
          fc.uint8Array({ minLength: 1, maxLength: 64 }),
          (at, bytes) => {
            const changed = damaged.slice()
            changed.set(bytes.subarray(0, damaged.length - at), at)
            const isChanged = changed.some((byte, index) => byte !== damaged[index])
            const { payload: decoded, broken } = decodeWith(changed)
            expect(broken.length > 0).toBe(isChanged)
            expect(Buffer.compare(decoded, payload)).toBe(0)
          },
        ),
        { numRuns: 500 },
      )
    })

    it('is detected when bytes follow its end', () => {
      expect(decodeWith(Uint8Array.of(...damaged, 0)).broken).toMatchObject([
        { column, field: 'total length' },
      ])
    })

    it('is detected when another column, or a frame of another stripe or checkpoint, is in its place', () => {
      expect(decodeWith(columns[2] as Uint8Array).broken).toMatchObject([{ column, field: 'column' }])
      const { headerLength } = decodeHeader(damaged)
      const frame = 8 + 2 * stripeUnit(code)
      const swapped = damaged.slice()
      swapped.copyWithin(headerLength, headerLength + frame, headerLength + 2 * frame)
      expect(decodeWith(swapped).broken).toMatchObject([{ column, field: 'stripe number' }])
      const later = encodePayload(code, { ...OWNER, epoch: 13 }, payload, smallStripes(code))
      const mixed = damaged.slice()
      mixed.set((later[column] as Uint8Array).subarray(headerLength), headerLength)
      const { broken } = decodeWith(mixed)
      expect(broken.length).toBeGreaterThan(1)
      expect(new Set(broken.map(({ field }) => field))).toEqual(new Set(['stripe checksum']))
    })

    it('is repaired stripe by stripe', () => {
      const stored = columns.map((good) => good.slice())
      const broken = stored[column] as Uint8Array
      broken[broken.length - 1] = (broken.at(-1) as number) ^ 1
      const decoder = new StripeDecoder([decodeHeader(stored[0] as Uint8Array)])
      expect(decoder.header(column)).toEqual(damaged.subarray(0, decoder.frameRange(0).start))
      for (let stripe = 0; stripe < decoder.layout.stripes; stripe++) {
        const { start, length } = decoder.frameRange(stripe)
        const frames = stored.map((bytes, number) =>
          number === 4 ? null : bytes.subarray(start, start + length),
        )
        const isLast = stripe === decoder.layout.stripes - 1
        const { repaired, broken: found } = decoder.repairStripe(stripe, frames)
        expect(found.map((item) => item.column)).toEqual(isLast ? [column] : [])
        expect([...repaired.keys()]).toEqual(isLast ? [column, 4] : [4])
        for (const [number, { prefix, content }] of repaired)
          expect(Uint8Array.of(...prefix, ...content)).toEqual(columns[number]?.slice(start, start + length))
      }
    })

    it('is refused when too few columns are good', () => {
      expect(() => decodePayload([null, null, null, ...columns.slice(3)])).toThrow(TooManyLostColumnsError)
      expect(() => decodePayload(columns.map(() => null))).toThrow('no column has a valid header')
    })

    it('is refused when frames are not those of one stripe', () => {
      const decoder = new StripeDecoder([decodeHeader(damaged)])
      expect(() => decoder.decodeStripe(0, [null])).toThrow('1 frames given; a stripe has 5')
      for (const stripe of [-1, 0.5, decoder.layout.stripes])
        expect(() => decoder.repairStripe(stripe, [])).toThrow(`stripe ${stripe}: the number of stripes is`)
    })

    it('is refused when headers promise more than the columns can hold', () => {
      const large = columns.map((bytes) => encodeHeader({ ...decodeHeader(bytes), payloadLength: 2 ** 35 }))
      expect(() => decodePayload(large)).toThrow(
        'payload length: 34359738368 bytes do not fit in 3 data columns',
      )
    })

    it('is refused when columns belong to different checkpoints', () => {
      const later = encodePayload(code, { ...OWNER, epoch: 13 }, payload, smallStripes(code))
      expect(() => decodePayload([columns[0] ?? null, ...later.slice(1)])).toThrow(
        'epoch: column 1 has 13, column 0 has 12',
      )
    })
  },
)

describe('a header', () => {
  const HEADER: ColumnHeader = {
    ...OWNER,
    code: 'evenodd',
    checksum: 'crc32c',
    columns: 7,
    dataColumns: 5,
    column: 3,
    payloadLength: 1_000_000,
    stripeSize: 4096,
  }

  it('is read as it was written', () => {
    const bytes = encodeHeader(HEADER)
    expect(decodeHeader(bytes)).toMatchObject(HEADER)
    expect(decodeHeader(Uint8Array.of(...bytes, 1, 2, 3))).toMatchObject(HEADER)
    expect(bytes.length % 8).toBe(0)
    const longest = { ...HEADER, job: 'x'.repeat(255) }
    expect(encodeHeader(longest)).toHaveLength(MOST_HEADER_BYTES)
    expect(decodeHeader(encodeHeader(longest))).toMatchObject(longest)
  })

  it.each<[string, Partial<ColumnHeader>]>([
    ['job length', { job: '' }],
    ['job length', { job: 'é'.repeat(128) }],
    ['job', { job: '\ud800' }],
    ['columns', { columns: 2 }],
    ['columns', { columns: 257 }],
    ['columns', { code: 'reed-solomon', columns: 0 }],
    ['data columns', { dataColumns: 4 }],
    ['data columns', { code: 'reed-solomon', dataColumns: 8 }],
    ['column', { column: 7 }],
    ['column', { column: -1 }],
    ['epoch', { epoch: -1 }],
    ['epoch', { epoch: 2 ** 53 }],
    ['view', { view: 0.5 }],
    ['stripe size', { stripeSize: 0 }],
    ['stripe size', { stripeSize: 4104 }],
    ['stripe size', { stripeSize: 2 ** 25 }],
    ['payload length', { payloadLength: Number.NaN }],
    ['payload length', { stripeSize: 32, payloadLength: 2 ** 32 * 5 * 32 + 1 }],
  ])('is not written with a wrong %s', (field, change) => {
    const write = () => encodeHeader({ ...HEADER, ...change })
    expect(write).toThrow(InvalidColumnError)
    expect(write).toThrow(expect.objectContaining({ field }))
  })

  /** A change by a writer that is wrong, not by a disk: the checksum fits. */
  it.each<[string, (view: DataView) => void]>([
    ['magic', (view) => view.setUint8(7, 0)],
    ['version', (view) => view.setUint16(8, 2)],
    ['header length', (view) => view.setUint16(10, 8)],
    ['header length', (view) => view.setUint16(10, 0xfff8)],
    ['header', (view) => view.setUint16(10, 320)],
    ['code', (view) => view.setUint8(12, 3)],
    ['checksum', (view) => view.setUint8(13, 0)],
    ['columns', (view) => view.setUint16(14, 2)],
    ['columns', (view) => view.setUint16(14, 60_000)],
    ['data columns', (view) => view.setUint16(16, 6)],
    ['prime', (view) => view.setUint16(18, 7)],
    ['column', (view) => view.setUint16(20, 7)],
    ['header length', (view) => view.setUint16(22, 1)],
    ['epoch', (view) => view.setBigUint64(24, 2n ** 53n)],
    ['view', (view) => view.setBigUint64(32, 2n ** 64n - 1n)],
    ['payload length', (view) => view.setBigUint64(40, 2n ** 63n)],
    ['total length', (view) => view.setBigUint64(48, 0n)],
    ['stripe size', (view) => view.setUint32(56, 4100)],
    ['stripe size', (view) => view.setUint32(56, 2 ** 31)],
    ['reserved', (view) => view.setUint32(60, 1)],
    ['job', (view) => view.setUint8(64, 0xff)],
    ['padding', (view) => view.setUint8(64 + 17, 1)],
  ])('is refused with a wrong %s', (field, change) => {
    const bytes = encodeHeader(HEADER)
    const view = new DataView(bytes.buffer)
    change(view)
    view.setUint32(bytes.length - 4, CHECKSUMS.crc32c(bytes.subarray(0, -4)))
    expect(() => decodeHeader(bytes)).toThrow(InvalidColumnError)
    expect(() => decodeHeader(bytes)).toThrow(expect.objectContaining({ field }))
  })

  it('is refused when any byte changes, with no other error than an InvalidColumnError', () => {
    const bytes = encodeHeader(HEADER)
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = bytes.slice()
        flipped[at] = (flipped[at] as number) ^ (1 << bit)
        expect(() => decodeHeader(flipped), `byte ${at}, bit ${bit}`).toThrow(InvalidColumnError)
      }
      expect(() => decodeHeader(bytes.subarray(0, at)), `length ${at}`).toThrow(InvalidColumnError)
    }
  })

  it('is refused when it is random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(() => decodeHeader(bytes)).toThrow(InvalidColumnError)
        const start = encodeHeader(HEADER).subarray(0, 10)
        expect(() => decodeHeader(Uint8Array.of(...start, ...bytes))).toThrow(InvalidColumnError)
      }),
    )
  })
})
