/** Encodes a payload stripe by stripe. Memory is bounded by one stripe, for payloads of any length. */
import { CHECKSUMS, type ChecksumName, type Checksums } from './checksum.ts'
import { type ErasureCode, InvalidCodeInputError } from './code.ts'
import { type ColumnHeader, type ColumnOwner, decodeHeader, encodeHeader } from './header.ts'
import { checkStripe, defaultStripeSize, planLayout, type StripeLayout } from './layout.ts'
import { StripeSealer } from './seal.ts'

export type EncodeOptions = {
  /** Bytes per column and stripe; a multiple of 8 times the rows of the code. */
  readonly stripeSize?: number
  readonly checksum?: ChecksumName
  /** Other implementations of the same checksums. */
  readonly checksums?: Checksums
}

/** The part of a column that belongs to one stripe: write the prefix, then the content. */
export type Frame = { readonly prefix: Uint8Array; readonly content: Uint8Array }

export class StripeEncoder {
  readonly code: ErasureCode
  readonly layout: StripeLayout
  /** One header per column. A column is its header, followed by its frames in the order of the stripes. */
  readonly headers: readonly Uint8Array[]
  readonly #sealer: StripeSealer
  /** For `push`: payload bytes that do not fill a stripe yet. */
  #pending: Uint8Array | null = null
  #pendingBytes = 0
  #nextStripe = 0

  constructor(code: ErasureCode, owner: ColumnOwner, payloadLength: number, options: EncodeOptions = {}) {
    const { stripeSize = defaultStripeSize(code), checksum = 'crc32c', checksums = CHECKSUMS } = options
    this.code = code
    const headers = Array.from(
      { length: code.columns },
      (_, column): ColumnHeader => ({
        job: owner.job,
        epoch: owner.epoch,
        view: owner.view,
        code: code.name,
        checksum,
        columns: code.columns,
        dataColumns: code.dataColumns,
        column,
        payloadLength,
        stripeSize,
      }),
    )
    this.headers = headers.map((header) => encodeHeader(header, checksums))
    this.layout = planLayout(code, payloadLength, stripeSize)
    const headerChecksums = this.headers.map((bytes) => decodeHeader(bytes, checksums).headerChecksum)
    this.#sealer = new StripeSealer(code, headerChecksums, checksums[checksum])
  }

  /**
   * Encodes one stripe. `part` must have exactly `layout.payloadBytes(stripe)` bytes. Contents of full data columns are
   * views of `part`: do not change it before they are written.
   */
  encodeStripe(stripe: number, part: Uint8Array): Frame[] {
    checkStripe(this.layout, stripe)
    const expected = this.layout.payloadBytes(stripe)
    if (part.length !== expected)
      throw new InvalidCodeInputError(`stripe ${stripe}: ${part.length} bytes given, ${expected} expected`)
    const length = this.layout.columnBytes(stripe)
    const data = Array.from({ length: this.code.dataColumns }, (_, column) => {
      const view = part.subarray(column * length, (column + 1) * length)
      if (view.length === length) return view
      const padded = new Uint8Array(length)
      padded.set(view)
      return padded
    })
    const contents = [...data, ...this.code.encode(data)]
    return this.#sealer
      .seal(stripe, contents)
      .map((prefix, column) => ({ prefix, content: contents[column] as Uint8Array }))
  }

  /**
   * Takes the next bytes of the payload, in pieces of any length, and yields the frames of every stripe that they
   * complete. Iterate over the result: the bytes are taken as the caller asks for frames. Do not change a piece before
   * its frames are written. `finish` checks that the payload was complete.
   */
  *push(chunk: Uint8Array): Generator<Frame[], void, undefined> {
    let rest = chunk
    while (rest.length > 0) {
      const wanted = this.layout.payloadBytes(this.#nextStripe)
      if (wanted === 0)
        throw new InvalidCodeInputError(`more bytes given than the ${this.layout.payloadLength} announced`)
      const taken = rest.subarray(0, wanted - this.#pendingBytes)
      rest = rest.subarray(taken.length)
      const isWhole = taken.length === wanted
      if (!isWhole) {
        // A new array for every stripe: frames of the stripe before may still be waiting to be written.
        this.#pending ??= new Uint8Array(wanted)
        this.#pending.set(taken, this.#pendingBytes)
        this.#pendingBytes += taken.length
        if (this.#pendingBytes < wanted) return
      }
      const part = this.#pending ?? taken
      this.#pending = null
      this.#pendingBytes = 0
      this.#nextStripe += 1
      yield this.encodeStripe(this.#nextStripe - 1, part)
    }
  }

  /** Throws if `push` has not received the whole payload. */
  finish(): void {
    const full = this.#nextStripe * this.code.dataColumns * this.layout.stripeSize
    const received = Math.min(full, this.layout.payloadLength) + this.#pendingBytes
    if (received !== this.layout.payloadLength)
      throw new InvalidCodeInputError(`${received} bytes given, ${this.layout.payloadLength} announced`)
  }
}
