/**
 * Reads a stored column frame by frame, and checks it: the header must name the expected checkpoint and column, every
 * frame has a checksum, and the length must be exact. What fails is reported by the name of the column.
 */
import { crc32 } from 'node:zlib'
import { frameFault } from '../../../recovery/codes/frame.ts'
import {
  CHECKSUMS,
  type Checksums,
  type ColumnOwner,
  createCode,
  type DecodedHeader,
  decodeHeader,
  InvalidColumnError,
  MOST_HEADER_BYTES,
  PREFIX_BYTES,
} from '../../../recovery/codes/index.ts'
import { planLayout, type StripeLayout } from '../../../recovery/codes/layout.ts'
import { type ColumnKey, checkpointName, describeColumn } from './column-key.ts'
import type { ColumnStore, RawColumn } from './column-store.ts'
import { CorruptColumnError } from './errors.ts'

/** zlib computes CRC-32 with vector instructions, several times faster than JavaScript computes CRC-32C. */
export const FAST_CHECKSUMS: Checksums = { ...CHECKSUMS, crc32 }

/**
 * What the header says about the checkpoint. The name in the field `job` has assignment and digest too, so that a column
 * of another attempt at the same epoch is not accepted.
 */
export function columnOwner({ id, digest }: Pick<ColumnKey, 'id' | 'digest'>): ColumnOwner {
  return { job: checkpointName({ id, digest }), epoch: id.epoch, view: id.token }
}

export type ColumnReader = {
  readonly header: DecodedHeader
  readonly layout: StripeLayout
  /** The checked content of the next stripe; null after the last. Rejects with CorruptColumnError. */
  next(): Promise<Uint8Array | null>
  /** Releases the column. Never rejects. */
  close(): Promise<void>
}

/** Takes over the raw column, and closes it if its header is wrong. `place` is for errors. */
export async function openColumnReader(key: ColumnKey, raw: RawColumn, place: string): Promise<ColumnReader> {
  const source = new ByteSource(raw.chunks)
  const corrupt = (problem: string): CorruptColumnError =>
    new CorruptColumnError(describeColumn(key), place, problem)
  try {
    const header = await readHeader(key, raw, source)
    const layout = planLayout(createCode(header), header.payloadLength, header.stripeSize)
    const compute = FAST_CHECKSUMS[header.checksum]
    let stripe = 0
    return {
      header,
      layout,
      async next() {
        if (stripe === layout.stripes) return null
        const length = PREFIX_BYTES + layout.columnBytes(stripe)
        const frame = await source.read(length)
        if (frame.length < length) throw corrupt(`truncated in stripe ${stripe}`)
        const content = frame.subarray(PREFIX_BYTES)
        const { headerChecksum } = header
        const fault = frameFault(frame, { stripe, headerChecksum, content }, compute)
        if (fault !== null) throw corrupt(`${fault.field}: ${fault.problem}`)
        stripe += 1
        return content
      },
      close: () => raw.close(),
    }
  } catch (error) {
    await raw.close()
    throw error instanceof InvalidColumnError ? corrupt(error.message) : error
  }
}

async function readHeader(key: ColumnKey, raw: RawColumn, source: ByteSource): Promise<DecodedHeader> {
  const start = await source.read(Math.min(raw.bytes, MOST_HEADER_BYTES))
  const header = decodeHeader(start, FAST_CHECKSUMS)
  source.unread(start.subarray(header.headerLength))
  const expected = { ...columnOwner(key), column: key.column }
  for (const field of ['job', 'epoch', 'view', 'column'] as const) {
    if (header[field] !== expected[field])
      throw new InvalidColumnError(field, `is ${header[field]}, must be ${expected[field]}`)
  }
  if (raw.bytes !== header.totalLength)
    throw new InvalidColumnError(
      'total length',
      `is ${raw.bytes}, must be ${header.totalLength}: ${raw.bytes < header.totalLength ? 'the column is truncated' : 'bytes were added'}`,
    )
  return header
}

/** Cuts chunks of any length into pieces of the wanted length. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Uint8Array = new Uint8Array()

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  unread(bytes: Uint8Array): void {
    this.#rest = Buffer.concat([bytes, this.#rest])
  }

  /** Shorter only at the end. A new array: its start is aligned, as the codes need for speed. */
  async read(length: number): Promise<Uint8Array> {
    const piece = Buffer.allocUnsafeSlow(length)
    let filled = 0
    while (filled < length) {
      if (this.#rest.length === 0) {
        // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
        const { done, value } = await this.#chunks.next()
        if (done === true) break
        this.#rest = value
      }
      const taken = this.#rest.subarray(0, length - filled)
      piece.set(taken, filled)
      filled += taken.length
      this.#rest = this.#rest.subarray(taken.length)
    }
    return piece.subarray(0, filled)
  }
}

/** Opens a column of a store for checked reading. */
export async function readColumn(
  store: ColumnStore,
  key: ColumnKey,
  signal?: AbortSignal,
): Promise<ColumnReader> {
  return openColumnReader(key, await store.openRaw(key, signal), store.place)
}

/** Reads the whole column. Resolves to what is wrong with it, or null. Rejects if the store fails. */
export async function findColumnProblem(
  store: ColumnStore,
  key: ColumnKey,
  signal?: AbortSignal,
): Promise<string | null> {
  let reader: ColumnReader | null = null
  try {
    reader = await readColumn(store, key, signal)
    // oxlint-disable-next-line no-await-in-loop -- one stripe after the other
    while ((await reader.next()) !== null) signal?.throwIfAborted()
    return null
  } catch (error) {
    if (error instanceof CorruptColumnError) return error.problem
    throw error
  } finally {
    await reader?.close()
  }
}
