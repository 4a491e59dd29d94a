/**
 * The prefixes of all frames of one stripe. Parity that is computed with XOR needs no pass over its bytes: a CRC is linear
 * over GF(2), so the checksums of parity cells follow from those of data cells by the same XOR operations.
 *
 * `linear(x)` is the register after the bytes x, started at zero and not inverted at the end. It holds that
 * linear(x + y) = linear(x) + linear(y) for cells of one length, where + is XOR. The register before a cell is advanced by
 * as many zero bytes as the cell has, which is a linear map of 32 bits (crc32_combine of M. Adler in zlib).
 *
 * A checksum made in this way also covers the XOR itself: parity that was computed wrongly does not match it.
 */
import type { ComputeChecksum } from './checksum.ts'
import type { ErasureCode } from './code.ts'
import { encodePrefix, sealFrame, startChecksum } from './frame.ts'
import type { Operation } from './xor.ts'

/** With smaller cells, the calls cost more than they save. */
const LEAST_CELL_BYTES = 32 * 1024
const BITS = 32
/** Makes a checksum start with a register of zeros. */
const INVERTED_ZERO = 0xffff_ffff

export class StripeSealer {
  readonly #code: ErasureCode
  readonly #headerChecksums: readonly number[]
  readonly #compute: ComputeChecksum
  readonly #zeroBytes: ZeroBytes

  constructor(code: ErasureCode, headerChecksums: readonly number[], compute: ComputeChecksum) {
    this.#code = code
    this.#headerChecksums = headerChecksums
    this.#compute = compute
    this.#zeroBytes = zeroBytesOf(compute)
  }

  /** The prefix of every column. The parity columns must have been computed from the data columns. */
  seal(stripe: number, columns: readonly Uint8Array[]): Uint8Array[] {
    const { rows, parityPlan } = this.#code
    const cellBytes = (columns[0]?.length ?? 0) / rows
    if (parityPlan !== null && cellBytes >= LEAST_CELL_BYTES)
      return this.#sealCells(stripe, columns, parityPlan, cellBytes)
    return columns.map((content, column) => {
      const headerChecksum = this.#headerChecksums[column] as number
      return sealFrame({ stripe, headerChecksum, content }, this.#compute)
    })
  }

  #sealCells(
    stripe: number,
    columns: readonly Uint8Array[],
    plan: readonly Operation[],
    cellBytes: number,
  ): Uint8Array[] {
    const compute = this.#compute
    const { rows, dataColumns } = this.#code
    const advance = this.#zeroBytes.count(cellBytes)
    const registers = columns.map((content, column) =>
      Array.from({ length: rows }, (_, row) =>
        column < dataColumns
          ? ~compute(content.subarray(row * cellBytes, (row + 1) * cellBytes), INVERTED_ZERO)
          : 0,
      ),
    )
    applyPlan(plan, registers)
    return registers.map((cells, column) => {
      const headerChecksum = this.#headerChecksums[column] as number
      const register = cells.reduce(
        (before, cell) => advance.apply(before) ^ cell,
        ~startChecksum({ stripe, headerChecksum }, compute),
      )
      return encodePrefix(stripe, ~register >>> 0)
    })
  }
}

/** Executes the plan on one number per cell instead of the cell's bytes. */
function applyPlan(plan: readonly Operation[], registers: readonly number[][]): void {
  const scratch = [0]
  for (const { target, sources } of plan) {
    const sum = sources.reduce(
      (xor, { column, row }) => xor ^ ((registers[column] ?? scratch)[row] as number),
      0,
    )
    ;(registers[target.column] ?? scratch)[target.row] = sum
  }
}

/** A linear map of 32 bits: the images of the single bits. */
class BitMatrix {
  readonly #images: Int32Array

  constructor(imageOf: (bit: number) => number) {
    this.#images = Int32Array.from({ length: BITS }, (_, bit) => imageOf(bit))
  }

  apply(value: number): number {
    let result = 0
    for (let bit = 0, rest = value; rest !== 0; bit++, rest >>>= 1)
      if ((rest & 1) === 1) result ^= this.#images[bit] as number
    return result
  }

  after(first: BitMatrix): BitMatrix {
    return new BitMatrix((bit) => this.apply(first.#images[bit] as number))
  }
}

/** What zero bytes do to the register of a checksum. */
class ZeroBytes {
  /** Map k is that of 2^k zero bytes. */
  readonly #powers: BitMatrix[]

  constructor(compute: ComputeChecksum) {
    const zero = new Uint8Array(1)
    this.#powers = [new BitMatrix((bit) => ~compute(zero, ~(1 << bit) >>> 0))]
  }

  count(bytes: number): BitMatrix {
    let result = new BitMatrix((bit) => 1 << bit)
    for (let exponent = 0, rest = bytes; rest > 0; exponent++, rest = Math.floor(rest / 2))
      if (rest % 2 === 1) result = result.after(this.#power(exponent))
    return result
  }

  #power(exponent: number): BitMatrix {
    const known = this.#powers[exponent]
    if (known !== undefined) return known
    const half = this.#power(exponent - 1)
    const power = half.after(half)
    this.#powers[exponent] = power
    return power
  }
}

/** Kept for the next checkpoint: the squares take as long as encoding half a stripe. */
const zeroBytesByChecksum = new WeakMap<ComputeChecksum, ZeroBytes>()

function zeroBytesOf(compute: ComputeChecksum): ZeroBytes {
  const found = zeroBytesByChecksum.get(compute) ?? new ZeroBytes(compute)
  zeroBytesByChecksum.set(compute, found)
  return found
}
