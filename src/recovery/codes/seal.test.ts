/** Checksums of parity that follow from those of the data. */
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CHECKSUMS, type ComputeChecksum } from './checksum.ts'
import type { ErasureCode } from './code.ts'
import { createEvenOdd } from './evenodd.ts'
import { frameFault, sealFrame } from './frame.ts'
import { createReedSolomon } from './reed-solomon.ts'
import { StripeSealer } from './seal.ts'

const CELL_BYTES = 32 * 1024
const STRIPE = 3
const headerChecksumsOf = ({ columns }: ErasureCode): number[] =>
  Array.from({ length: columns }, (_, column) => (0x9e37_79b9 * (column + 1)) >>> 0)

function createColumns(code: ErasureCode, cellBytes: number): Uint8Array[] {
  let state = 12345
  const data = Array.from({ length: code.dataColumns }, () =>
    Uint8Array.from({ length: code.rows * cellBytes }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) | 0
      return state >>> 24
    }),
  )
  return [...data, ...code.encode(data)]
}

/** Counts the bytes that are read. */
function counted(compute: ComputeChecksum): { compute: ComputeChecksum; bytes(): number } {
  let bytes = 0
  return {
    compute: (content, previous) => {
      bytes += content.length
      return compute(content, previous)
    },
    bytes: () => bytes,
  }
}

describe('the prefixes of a stripe', () => {
  const computes: readonly (readonly [string, ComputeChecksum])[] = [
    ['CRC-32C', CHECKSUMS.crc32c],
    ['CRC-32', CHECKSUMS.crc32],
    ['CRC-32 of zlib', crc32],
  ]
  // Even and odd numbers of data columns, and codes with data columns that are not stored.
  const codes = [3, 4, 5, 6, 7, 8, 9].map((columns) => createEvenOdd(columns))

  it.each(computes)('are those of the bytes of each column: %s', (_, compute) => {
    for (const code of [...codes, createReedSolomon(5, 3)]) {
      const headerChecksums = headerChecksumsOf(code)
      const sealer = new StripeSealer(code, headerChecksums, compute)
      // The last stripe of a payload is shorter, and its cells may be too small to be worth it.
      for (const cellBytes of [CELL_BYTES, CELL_BYTES + 8, CELL_BYTES - 8, 8, CELL_BYTES]) {
        const columns = createColumns(code, cellBytes)
        const expected = columns.map((content, column) =>
          sealFrame({ stripe: STRIPE, headerChecksum: headerChecksums[column] as number, content }, compute),
        )
        expect(sealer.seal(STRIPE, columns)).toEqual(expected)
      }
    }
  })

  it('are computed without reading the parity columns of EVENODD', () => {
    const code = createEvenOdd(5)
    const columns = createColumns(code, CELL_BYTES)
    const { compute, bytes } = counted(crc32)
    new StripeSealer(code, headerChecksumsOf(code), compute).seal(STRIPE, columns)
    const dataBytes = code.dataColumns * code.rows * CELL_BYTES
    expect(bytes()).toBeGreaterThanOrEqual(dataBytes)
    expect(bytes()).toBeLessThan(dataBytes + 1024)
  })

  it('do not match parity that was computed wrongly', () => {
    const code = createEvenOdd(5)
    const headerChecksums = headerChecksumsOf(code)
    const columns = createColumns(code, CELL_BYTES)
    const wrong = columns.map((column, number) =>
      number < code.dataColumns
        ? column
        : column.map((byte, at) => (at === CELL_BYTES + 5 ? byte ^ 16 : byte)),
    )
    const prefixes = new StripeSealer(code, headerChecksums, crc32).seal(STRIPE, wrong)
    const faults = wrong.map((content, column) =>
      frameFault(
        prefixes[column] as Uint8Array,
        { stripe: STRIPE, headerChecksum: headerChecksums[column] as number, content },
        crc32,
      ),
    )
    expect(faults.map((fault) => fault?.field)).toEqual([
      undefined,
      undefined,
      undefined,
      'stripe checksum',
      'stripe checksum',
    ])
  })
})
