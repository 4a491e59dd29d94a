/**
 * The encoding of a node's block: one line of text with a format number, a checksum and JSON.
 *
 * A block always fits into a sector of 512 bytes, so that a protocol that runs on one store runs on all.
 */
import { createHash } from 'node:crypto'
import { canonical, type NodeId, type Plain, whyNotPlain } from '../../core/index.ts'
import { safeName } from './store.ts'

export type Block = {
  readonly id: NodeId
  /** How often this id has been claimed. */
  readonly incarnation: number
  /** Number of writes of this id, over all incarnations. */
  readonly sequence: number
  /** The process that holds the id; null after it was released. */
  readonly holder: string | null
  /** Whether the node has left the group for good. */
  readonly removed: boolean
  /** What the protocol wrote; null before its first write. */
  readonly value: Plain
  /** How long the leases of the process last that holds the id. Missing in blocks of versions that did not write it. */
  readonly leaseMs?: number
}

const MARK = 'conclave-register'
export const FORMAT = '1'
export const MAX_BLOCK_BYTES = 480

/** The block is larger than a sector. */
export class BlockTooLargeError extends Error {
  override readonly name = 'BlockTooLargeError'
  readonly code = 'ERR_CONCLAVE_BLOCK_TOO_LARGE'

  constructor(size: number) {
    super(`the block has ${size} bytes, but the limit is ${MAX_BLOCK_BYTES}: use shorter ids`)
  }
}

export function encodeBlock({ id, incarnation, sequence, holder, removed, value, leaseMs }: Block): string {
  const lease = leaseMs === undefined ? {} : { leaseMs }
  const json = canonical({ id, incarnation, sequence, holder, removed, value, ...lease })
  const text = `${MARK} ${FORMAT} ${digest(json)} ${json}`
  const size = Buffer.byteLength(text)
  if (size > MAX_BLOCK_BYTES) throw new BlockTooLargeError(size)
  return text
}

export type DecodeResult =
  | { readonly is: 'block'; readonly block: Block }
  | { readonly is: 'corrupt'; readonly problem: string }
  | { readonly is: 'foreign'; readonly format: string }

export function decodeBlock(text: string): DecodeResult {
  const [mark, format, sum, ...rest] = text.split(' ')
  const json = rest.join(' ')
  if (mark !== MARK || format === undefined)
    return { is: 'corrupt', problem: 'it does not start with the mark of a block' }
  if (!/^\d+$/.test(format)) return { is: 'corrupt', problem: 'its format is not a number' }
  if (format !== FORMAT) return { is: 'foreign', format }
  if (digest(json) !== sum) return { is: 'corrupt', problem: 'its checksum does not match' }
  const parsed: unknown = JSON.parse(json)
  const fault = whyNotPlain(parsed)
  if (fault !== null) return { is: 'corrupt', problem: fault }
  return { is: 'block', block: parsed as Block }
}

function digest(json: string): string {
  return createHash('sha256').update(json).digest('hex').slice(0, 16)
}

/** Numbers and strings are different ids: 1 is not "1". */
export function blockName(id: NodeId): string {
  return typeof id === 'number' ? `b_${id}` : `b-${safeName(id)}`
}

/** The cell in which a starting process asks whether its id is in use (see registers.ts). */
export function probeName(id: NodeId): string {
  return typeof id === 'number' ? `k_${id}` : `k-${safeName(id)}`
}

export function isBlockName(name: string): boolean {
  return name.startsWith('b')
}
