/**
 * Encodes stripes into buffers that are used again: new ones for every stripe would keep the garbage collector busy for
 * as long as the encoding itself.
 */
import { sealFrame } from '../../../recovery/codes/frame.ts'
import {
  type ColumnOwner,
  createCode,
  decodeHeader,
  type ErasureCode,
  StripeEncoder,
  stripeUnit,
} from '../../../recovery/codes/index.ts'
import { roundUp, type StripeLayout } from '../../../recovery/codes/layout.ts'
import type { Code } from '../../../recovery/manager/types.ts'
import { FAST_CHECKSUMS } from '../store/index.ts'

/** Larger stripes need fewer calls per byte; the buffers of a few stripes still fit in the cache of a core. */
const STRIPE_BYTES = 512 * 1024
const CHECKSUM = 'crc32'

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
  readonly #headerChecksums: readonly number[]
  readonly #free: Uint8Array[][] = []

  constructor(code: Code, owner: ColumnOwner, payloadLength: number) {
    this.#code = createCode({ code: code.name, columns: code.columns, dataColumns: code.data })
    const { layout, headers } = new StripeEncoder(this.#code, owner, payloadLength, {
      stripeSize: roundUp(STRIPE_BYTES, stripeUnit(this.#code)),
      checksum: CHECKSUM,
      checksums: FAST_CHECKSUMS,
    })
    this.layout = layout
    this.headers = headers
    this.#headerChecksums = headers.map((header) => decodeHeader(header, FAST_CHECKSUMS).headerChecksum)
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
    const buffers =
      this.#free.pop() ?? Array.from({ length: tolerates }, () => new Uint8Array(this.layout.columnBytes(0)))
    const parity = buffers.map((buffer) => buffer.subarray(0, length))
    this.#code.encodeInto(data, parity)
    const frames = [...data, ...parity].map((content, column) => {
      const headerChecksum = this.#headerChecksums[column] as number
      return [sealFrame({ stripe, headerChecksum, content }, FAST_CHECKSUMS[CHECKSUM]), content]
    })
    return { frames, release: () => this.#free.push(buffers) }
  }
}
