export { CHECKSUMS, type ChecksumName, type Checksums, type ComputeChecksum } from './checksum.ts'
export {
  type CodeName,
  type ErasureCode,
  InvalidCodeInputError,
  MOST_COLUMNS,
  TooManyLostColumnsError,
} from './code.ts'
export { type BrokenColumn, StripeDecoder } from './decoder.ts'
export { type EncodeOptions, type Frame, StripeEncoder } from './encoder.ts'
export { createEvenOdd } from './evenodd.ts'
export { type FrameParts, frameFault, sealFrame } from './frame.ts'
export {
  type ColumnHeader,
  type ColumnOwner,
  createCode,
  type DecodedHeader,
  decodeHeader,
  encodeHeader,
  InvalidColumnError,
  MOST_HEADER_BYTES,
  MOST_JOB_BYTES,
} from './header.ts'
export {
  defaultStripeSize,
  MOST_STRIPE_SIZE,
  PREFIX_BYTES,
  planLayout,
  type StripeLayout,
  stripeUnit,
} from './layout.ts'
export { type DecodedPayload, decodePayload, encodePayload } from './payload.ts'
export { createReedSolomon } from './reed-solomon.ts'
