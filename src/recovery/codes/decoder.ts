/** Decodes a payload stripe by stripe from stored columns, and computes columns that are lost or broken. */
import { CHECKSUMS, type Checksums } from './checksum.ts'
import { type ErasureCode, InvalidCodeInputError, lostAmong } from './code.ts'
import type { Frame } from './encoder.ts'
import { frameFault, sealFrame } from './frame.ts'
import {
  type ColumnHeader,
  createCode,
  type DecodedHeader,
  decodeHeader,
  encodeHeader,
  InvalidColumnError,
} from './header.ts'
import { checkStripe, PREFIX_BYTES, planLayout, type StripeLayout } from './layout.ts'

/** Something stored that counts as lost, and what is wrong with it. */
export type BrokenColumn = { readonly column: number; readonly field: string; readonly problem: string }

/** What the columns of one checkpoint have in common. */
const SHARED_FIELDS = [
  'job',
  'epoch',
  'view',
  'code',
  'checksum',
  'columns',
  'dataColumns',
  'payloadLength',
  'stripeSize',
] as const satisfies readonly (keyof ColumnHeader)[]

export class StripeDecoder {
  readonly code: ErasureCode
  readonly layout: StripeLayout
  /** Any header of the checkpoint: all are equal but for the column's number. */
  readonly #shared: DecodedHeader
  readonly #headers: readonly Uint8Array[]
  readonly #headerChecksums: readonly number[]
  readonly #checksums: Checksums

  /** Throws an InvalidColumnError if the headers belong to different checkpoints. */
  constructor(headers: readonly DecodedHeader[], checksums: Checksums = CHECKSUMS) {
    const [first, ...others] = headers
    if (first === undefined) throw new InvalidColumnError('header', 'no column has a valid header')
    for (const other of others) checkShared(first, other)
    this.#shared = first
    this.#checksums = checksums
    this.code = createCode(first)
    this.layout = planLayout(this.code, first.payloadLength, first.stripeSize)
    this.#headers = Array.from({ length: first.columns }, (_, column) =>
      encodeHeader({ ...first, column }, checksums),
    )
    this.#headerChecksums = this.#headers.map((bytes) => decodeHeader(bytes, checksums).headerChecksum)
  }

  /** The header of a column, also of a lost column. */
  header(column: number): Uint8Array {
    return this.#headers[column] as Uint8Array
  }

  /** Where the frame of a stripe starts in a column, and how long it is. */
  frameRange(stripe: number): { readonly start: number; readonly length: number } {
    return {
      start: this.#shared.headerLength + this.layout.frameStart(stripe),
      length: PREFIX_BYTES + this.layout.columnBytes(stripe),
    }
  }

  /**
   * The payload of one stripe, in pieces to be joined in order, from the frames of all columns; `null` marks a lost one.
   * Broken frames count as lost and are reported. Throws a TooManyLostColumnsError if too few are left.
   */
  decodeStripe(
    stripe: number,
    frames: readonly (Uint8Array | null)[],
  ): { readonly payload: readonly Uint8Array[]; readonly broken: readonly BrokenColumn[] } {
    const { contents, broken } = this.#checkFrames(stripe, frames)
    const { dataColumns } = this.code
    const isDataLost = contents.slice(0, dataColumns).includes(null)
    const columns = isDataLost ? this.code.reconstruct(contents) : (contents as Uint8Array[])
    const length = this.layout.columnBytes(stripe)
    const total = this.layout.payloadBytes(stripe)
    const payload = columns
      .slice(0, dataColumns)
      .map((content, column) => content.subarray(0, Math.max(0, total - column * length)))
    return { payload, broken }
  }

  /** The frames of one stripe that are missing or broken, computed from the others: for repairing columns. */
  repairStripe(
    stripe: number,
    frames: readonly (Uint8Array | null)[],
  ): { readonly repaired: ReadonlyMap<number, Frame>; readonly broken: readonly BrokenColumn[] } {
    const { contents, broken } = this.#checkFrames(stripe, frames)
    const columns = this.code.reconstruct(contents)
    const compute = this.#checksums[this.#shared.checksum]
    const repaired = new Map(
      lostAmong(contents).map((column) => {
        const content = columns[column] as Uint8Array
        const headerChecksum = this.#headerChecksums[column] as number
        return [column, { prefix: sealFrame({ stripe, headerChecksum, content }, compute), content }]
      }),
    )
    return { repaired, broken }
  }

  #checkFrames(
    stripe: number,
    frames: readonly (Uint8Array | null)[],
  ): { readonly contents: (Uint8Array | null)[]; readonly broken: readonly BrokenColumn[] } {
    checkStripe(this.layout, stripe)
    if (frames.length !== this.code.columns)
      throw new InvalidCodeInputError(`${frames.length} frames given; a stripe has ${this.code.columns}`)
    const broken: BrokenColumn[] = []
    const length = PREFIX_BYTES + this.layout.columnBytes(stripe)
    const compute = this.#checksums[this.#shared.checksum]
    const contents = frames.map((frame, column) => {
      if (frame === null) return null
      if (frame.length !== length) {
        const problem = `of stripe ${stripe} is ${frame.length}, must be ${length}`
        broken.push({ column, field: 'stripe length', problem })
        return null
      }
      const content = frame.subarray(PREFIX_BYTES)
      const headerChecksum = this.#headerChecksums[column] as number
      const fault = frameFault(frame, { stripe, headerChecksum, content }, compute)
      if (fault === null) return content
      broken.push({ column, ...fault })
      return null
    })
    return { contents, broken }
  }
}

function checkShared(first: ColumnHeader, other: ColumnHeader): void {
  for (const field of SHARED_FIELDS) {
    if (first[field] !== other[field])
      throw new InvalidColumnError(
        field,
        `column ${other.column} has ${String(other[field])}, column ${first.column} has ${String(first[field])}`,
      )
  }
}
