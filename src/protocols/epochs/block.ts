/** The content of a node's register: the paper's four numbers, and the fields that leases and restarts need. */
import { compareIds, isList, type NodeId, type Plain } from '../../core/index.ts'

/** `val` is null where the paper writes 0. */
export type Block = {
  readonly ctr: number
  readonly pbal: number
  readonly bal: number
  readonly val: NodeId | null
  /** The election itself does not use these fields. Null in untimed worlds. */
  readonly more: More | null
}

export type More = {
  /** Incarnation: how often a process has taken over this register. */
  readonly inc: number
  /** The stamp of its last vote for itself: epoch and ballot. */
  readonly lctr: number
  readonly lbal: number
  /** The last epoch that the node knows it led. */
  readonly led: number
  /** The first epoch of that term: its token. */
  readonly term: number
  /** Whether the node was removed permanently: the block is a tombstone. */
  readonly gone: boolean
  /** Its cell of the oracle: the last generation in which it contended (oracle.ts). */
  readonly gen: number
}

export const NO_MORE: More = { inc: 0, lctr: 0, lbal: 0, led: 0, term: 0, gone: false, gen: 0 }

/** A register that was never written: its node has never ticked. */
export const ZERO: Block = { ctr: 0, pbal: 0, bal: 0, val: null, more: null }

/** No correct counter comes near this limit: a greater one means that a register is damaged. */
export const LARGEST = 2 ** 32

/** The block in a register; null if the value is not a valid block. */
export function blockOf(value: Plain): Block | null {
  if (value === null) return ZERO
  if (typeof value !== 'object' || isList(value)) return null
  const { ctr, pbal, bal, val, more } = value as Partial<Block>
  if (!isCount(ctr) || !isCount(pbal) || !isCount(bal)) return null
  if (val !== null && typeof val !== 'number' && typeof val !== 'string') return null
  if (more === null) return { ctr, pbal, bal, val, more }
  if (typeof more !== 'object') return null
  // Versions before the oracle wrote blocks without a generation.
  const { inc, lctr, lbal, led, term, gone, gen = 0 } = more as Partial<More>
  if (!isCount(inc) || !isCount(lctr) || !isCount(lbal) || !isCount(led) || !isCount(term)) return null
  if (typeof gone !== 'boolean' || !isCount(gen)) return null
  return { ctr, pbal, bal, val, more: { inc, lctr, lbal, led, term, gone, gen } }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= LARGEST
}

/** As the paper writes it. */
export function shownBlock(value: Plain): Plain {
  const block = blockOf(value)
  return block === null ? null : [block.ctr, block.pbal, block.bal, block.val ?? 0]
}

/** In words, for transcripts. */
export function describeBlock(value: Plain): string {
  const block = blockOf(value)
  if (block === null) return 'a damaged value'
  if (moreOf(block).gone) return 'a tombstone'
  if (block.val === null) return `epoch ${block.ctr}, no vote`
  return `epoch ${block.ctr}, ballot ${block.bal} for ${block.val}`
}

export function moreOf({ more }: Block): More {
  return more ?? NO_MORE
}

/** Whether (a, i) is greater than (b, j): compares the numbers, then the ids. */
export function isAfter(a: number, i: NodeId, b: number, j: NodeId): boolean {
  return a > b || (a === b && compareIds(i, j) > 0)
}

/** Whether the owner of the block has led and has released every lease that it may have had: see leaving.ts. */
export function isReleased(of: NodeId, block: Block): boolean {
  const { led, lctr } = moreOf(block)
  return led > 0 && lctr === 0 && block.val === of
}
