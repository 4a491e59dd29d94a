/**
 * Encodes stripes into buffers that are used again, also by the next checkpoint: new ones for every stripe would keep the
 * garbage collector busy for as long as the encoding itself.
 */
import {
  type ColumnOwner,
  createCode,
  decodeHeader,
  type ErasureCode,
  StripeEncoder,
  stripeUnit,
} from '../../../recovery/codes/index.ts'
import { roundUp, type StripeLayout } from '../../../recovery/codes/layout.ts'
import { StripeSealer } from '../../../recovery/codes/seal.ts'
import type { Code } from '../../../recovery/manager/types.ts'
import { FAST_CHECKSUMS } from '../store/index.ts'

/** Larger stripes need fewer calls per byte; the buffers of a few stripes still fit in the cache of a core. */
const STRIPE_BYTES = 512 * 1024
const CHECKSUM = 'crc32'
/** The stripes of every code are rounded up to its unit, which has at most 8 bytes for each of 256 rows. */
const BUFFER_BYTES = STRIPE_BYTES + 2048
/** Buffers that are kept while nothing is encoded: those of the stripes that one upload has in its lanes. */
const MAX_FREE = 16

const freeBuffers: Uint8Array[] = []

function takeBuffer(): Uint8Array {
  return freeBuffers.pop() ?? new Uint8Array(BUFFER_BYTES)
}

function giveBuffers(buffers: readonly Uint8Array[]): void {
  freeBuffers.push(...buffers.slice(0, MAX_FREE - freeBuffers.length))
}

export type EncodedStripe = {
  /** The chunks of every column. */
  readonly frames: readonly (readonly Uint8Array[])[]
  /** Call it when the frames are no longer needed. */
  release(): void
}

export class PooledEncoder {
  readonly layout: StripeLayout
  readonly headers: readonly Uint8Array[]
  readonly #code: ErasureCode
  readonly #sealer: StripeSealer

  constructor(code: Code, owner: ColumnOwner, payloadLength: number) {
    this.#code = createCode({ code: code.name, columns: code.columns, dataColumns: code.data })
    const { layout, headers } = new StripeEncoder(this.#code, owner, payloadLength, {
      stripeSize: roundUp(STRIPE_BYTES, stripeUnit(this.#code)),
      checksum: CHECKSUM,
      checksums: FAST_CHECKSUMS,
    })
    this.layout = layout
    this.headers = headers
    const headerChecksums = headers.map((header) => decodeHeader(header, FAST_CHECKSUMS).headerChecksum)
    this.#sealer = new StripeSealer(this.#code, headerChecksums, FAST_CHECKSUMS[CHECKSUM])
  }

  /** `part` has exactly the payload bytes of the stripe. Frames contain views of it. */
  encodeStripe(stripe: number, part: Uint8Array): EncodedStripe {
    const { dataColumns, tolerates } = this.#code
    const length = this.layout.columnBytes(stripe)
    const data = Array.from({ length: dataColumns }, (_, column) => {
      const view = part.subarray(column * length, (column + 1) * length)
      if (view.length === length) return view
      const padded = new Uint8Array(length)
      padded.set(view)
      return padded
    })
    const buffers = Array.from({ length: tolerates }, takeBuffer)
    const parity = buffers.map((buffer) => buffer.subarray(0, length))
    this.#code.encodeInto(data, parity)
    const contents = [...data, ...parity]
    const frames = this.#sealer
      .seal(stripe, contents)
      .map((prefix, column) => [prefix, contents[column] as Uint8Array])
    return { frames, release: () => giveBuffers(buffers) }
  }
}
