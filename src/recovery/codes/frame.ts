/** One stripe of one column: the number of the stripe, a checksum, and the bytes. */
import type { ComputeChecksum } from './checksum.ts'
import { PREFIX_BYTES } from './layout.ts'

export type FrameParts = {
  readonly stripe: number
  /** The checksum of the column's header: ties the frame to its column and checkpoint. */
  readonly headerChecksum: number
  readonly content: Uint8Array
}

/** The prefix of a frame. */
export function sealFrame(parts: FrameParts, compute: ComputeChecksum): Uint8Array {
  return encodePrefix(parts.stripe, checksumOf(parts, compute))
}

export function encodePrefix(stripe: number, checksum: number): Uint8Array {
  const prefix = new Uint8Array(PREFIX_BYTES)
  const view = new DataView(prefix.buffer)
  view.setUint32(0, stripe)
  view.setUint32(4, checksum)
  return prefix
}

/** The checksum of what goes before the bytes. */
export function startChecksum(
  { stripe, headerChecksum }: Omit<FrameParts, 'content'>,
  compute: ComputeChecksum,
): number {
  const start = new Uint8Array(8)
  const view = new DataView(start.buffer)
  view.setUint32(0, headerChecksum)
  view.setUint32(4, stripe)
  return compute(start)
}

/** What is wrong with a stored frame, or null. `content` is the part of it after the prefix. */
export function frameFault(
  frame: Uint8Array,
  expected: FrameParts,
  compute: ComputeChecksum,
): { readonly field: string; readonly problem: string } | null {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  const stripe = view.getUint32(0)
  if (stripe !== expected.stripe)
    return { field: 'stripe number', problem: `is ${stripe}, must be ${expected.stripe}` }
  if (view.getUint32(4) !== checksumOf(expected, compute))
    return { field: 'stripe checksum', problem: `of stripe ${stripe} does not match its bytes` }
  return null
}

/** Covers the header's checksum, the number of the stripe and the bytes, in this order. */
function checksumOf(parts: FrameParts, compute: ComputeChecksum): number {
  return compute(parts.content, startChecksum(parts, compute))
}
