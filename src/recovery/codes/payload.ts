/** Whole payloads at once, for payloads that fit in memory: the same columns as stripe by stripe. */
import { CHECKSUMS, type Checksums } from './checksum.ts'
import type { ErasureCode } from './code.ts'
import { type BrokenColumn, StripeDecoder } from './decoder.ts'
import { type EncodeOptions, StripeEncoder } from './encoder.ts'
import { type ColumnOwner, type DecodedHeader, decodeHeader, InvalidColumnError } from './header.ts'

/** The stored form of every column. */
export function encodePayload(
  code: ErasureCode,
  owner: ColumnOwner,
  payload: Uint8Array,
  options: EncodeOptions = {},
): Uint8Array[] {
  const encoder = new StripeEncoder(code, owner, payload.length, options)
  const { layout, headers } = encoder
  const columns = headers.map((header) => {
    const column = new Uint8Array(header.length + layout.frameStart(layout.stripes))
    column.set(header)
    return column
  })
  const at = headers.map((header) => header.length)
  for (const frames of encoder.push(payload)) {
    for (const [number, { prefix, content }] of frames.entries()) {
      const column = columns[number] as Uint8Array
      column.set(prefix, at[number])
      column.set(content, (at[number] as number) + prefix.length)
      at[number] = (at[number] as number) + prefix.length + content.length
    }
  }
  encoder.finish()
  return columns
}

export type DecodedPayload = {
  readonly owner: ColumnOwner
  readonly payload: Uint8Array
  /** Everything that was found broken. It counted as lost. */
  readonly broken: readonly BrokenColumn[]
}

/**
 * The payload of stored columns, ordered by number; `null` marks a lost one. Throws a TooManyLostColumnsError if too few
 * columns are good, and an InvalidColumnError if they belong to different checkpoints.
 */
export function decodePayload(
  columns: readonly (Uint8Array | null)[],
  checksums: Checksums = CHECKSUMS,
): DecodedPayload {
  const broken: BrokenColumn[] = []
  const headers = columns.map((bytes, column) => {
    if (bytes === null) return null
    try {
      return checkColumn(bytes, column, checksums, broken)
    } catch (error) {
      if (!(error instanceof InvalidColumnError)) throw error
      broken.push({ column, field: error.field, problem: error.message })
      return null
    }
  })
  const good = headers.filter((header) => header !== null)
  const decoder = new StripeDecoder(good, checksums)
  const { job, epoch, view, payloadLength } = good[0] as DecodedHeader
  checkPlausible(payloadLength, decoder.code, columns)
  const payload = new Uint8Array(payloadLength)
  let at = 0
  for (let stripe = 0; stripe < decoder.layout.stripes; stripe++) {
    const { start, length } = decoder.frameRange(stripe)
    const frames = Array.from({ length: decoder.code.columns }, (_, column) =>
      headers[column] ? (columns[column]?.subarray(start, start + length) ?? null) : null,
    )
    const decoded = decoder.decodeStripe(stripe, frames)
    broken.push(...decoded.broken)
    for (const piece of decoded.payload) {
      payload.set(piece, at)
      at += piece.length
    }
  }
  return { owner: { job, epoch, view }, payload, broken }
}

/** A wrong header must not make the program allocate more than the columns can hold. */
function checkPlausible(
  payloadLength: number,
  { dataColumns }: ErasureCode,
  columns: readonly (Uint8Array | null)[],
): void {
  const longest = columns.reduce((most, column) => Math.max(most, column?.length ?? 0), 0)
  if (payloadLength > dataColumns * longest)
    throw new InvalidColumnError(
      'payload length',
      `${payloadLength} bytes do not fit in ${dataColumns} data columns of at most ${longest} bytes`,
    )
}

/** A column of the wrong length is reported, but its whole stripes are used: each has a checksum of its own. */
function checkColumn(
  bytes: Uint8Array,
  column: number,
  checksums: Checksums,
  broken: BrokenColumn[],
): DecodedHeader {
  const header = decodeHeader(bytes, checksums)
  if (header.column !== column)
    throw new InvalidColumnError('column', `is ${header.column}, must be ${column} at this place`)
  if (header.totalLength !== bytes.length)
    broken.push({
      column,
      field: 'total length',
      problem: `is ${bytes.length}, must be ${header.totalLength}`,
    })
  return header
}
