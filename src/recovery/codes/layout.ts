/**
 * How a payload is laid out in columns.
 *
 * A payload is cut into stripes. A stripe has `stripeSize` bytes in every column, the last one as few as it needs. In
 * each stripe, the payload fills data column 0, then 1, and so on; zeros fill the rest. A column is a header and one
 * frame per stripe: a prefix with the stripe's number and checksum, and the bytes of the stripe.
 */
import { type ErasureCode, InvalidCodeInputError } from './code.ts'

/** Frames start at multiples of this, so that the bytes in them can be combined as 64-bit words. */
export const ALIGNMENT = 8
/** A frame starts with the number of the stripe and a checksum. */
export const PREFIX_BYTES = 8
export const MOST_STRIPE_SIZE = 16 * 1024 * 1024
/** The number of a stripe has 32 bits. */
export const MOST_STRIPES = 2 ** 32
const PREFERRED_STRIPE_SIZE = 256 * 1024

export type StripeLayout = {
  readonly payloadLength: number
  /** Bytes per column in every stripe except the last. */
  readonly stripeSize: number
  readonly stripes: number
  /** The payload bytes in a stripe. */
  payloadBytes(stripe: number): number
  /** The bytes per column in a stripe, without the prefix. */
  columnBytes(stripe: number): number
  /** Where the frame of a stripe starts, counted from the end of the header. With `stripes`: the length of all frames. */
  frameStart(stripe: number): number
}

/** The bytes per column in a stripe must be a multiple of this. */
export function stripeUnit({ rows }: Pick<ErasureCode, 'rows'>): number {
  return rows * ALIGNMENT
}

export function defaultStripeSize(code: ErasureCode): number {
  return roundUp(PREFERRED_STRIPE_SIZE, stripeUnit(code))
}

/** The stripe size must be a multiple of the unit. */
export function planLayout(
  code: Pick<ErasureCode, 'rows' | 'dataColumns'>,
  payloadLength: number,
  stripeSize: number,
): StripeLayout {
  const perStripe = code.dataColumns * stripeSize
  const stripes = Math.ceil(payloadLength / perStripe)
  const payloadBytes = (stripe: number): number =>
    Math.max(0, Math.min(perStripe, payloadLength - stripe * perStripe))
  const columnBytes = (stripe: number): number =>
    roundUp(Math.ceil(payloadBytes(stripe) / code.dataColumns), stripeUnit(code))
  const frameStart = (stripe: number): number =>
    stripe < stripes || stripes === 0
      ? stripe * (PREFIX_BYTES + stripeSize)
      : frameStart(stripes - 1) + PREFIX_BYTES + columnBytes(stripes - 1)
  return { payloadLength, stripeSize, stripes, payloadBytes, columnBytes, frameStart }
}

/** Throws unless the layout has this stripe. */
export function checkStripe({ stripes }: StripeLayout, stripe: number): void {
  if (!(Number.isInteger(stripe) && stripe >= 0 && stripe < stripes))
    throw new InvalidCodeInputError(`stripe ${stripe}: the number of stripes is ${stripes}`)
}

export function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit
}
