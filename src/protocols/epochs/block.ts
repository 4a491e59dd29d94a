/** What stands in a node's register: the paper's four numbers, and what a lease and a restart need beside them. */
import { compareIds, isList, type NodeId, type Plain } from '../../core/index.ts'

/** `val` is null where the paper writes 0. */
export type Block = {
  readonly ctr: number
  readonly pbal: number
  readonly bal: number
  readonly val: NodeId | null
  /** None of it enters a test of the protocol; null in worlds without time. */
  readonly more: More | null
}

export type More = {
  /** Incarnation: how often a process has taken this register over. */
  readonly inc: number
  /** The stamp of the last vote for itself: epoch and ballot. */
  readonly lctr: number
  readonly lbal: number
  /** The last epoch that it knows it led. */
  readonly led: number
  /** The first epoch of that leadership: its token. */
  readonly term: number
  /** Whether its process is gone for good: a tombstone. */
  readonly gone: boolean
  /** Its cell of the oracle: the generation in which it contended last (oracle.ts). */
  readonly gen: number
}

export const NO_MORE: More = { inc: 0, lctr: 0, lbal: 0, led: 0, term: 0, gone: false, gen: 0 }

/** A register that was never written: as of a node that never ticked. */
export const ZERO: Block = { ctr: 0, pbal: 0, bal: 0, val: null, more: null }

/** No counter comes near this by itself: a greater one is taken for damage. */
export const LARGEST = 2 ** 32

/** The block in a register; null when what is there is none. */
export function blockOf(value: Plain): Block | null {
  if (value === null) return ZERO
  if (typeof value !== 'object' || isList(value)) return null
  const { ctr, pbal, bal, val, more } = value as Partial<Block>
  if (!isCount(ctr) || !isCount(pbal) || !isCount(bal)) return null
  if (val !== null && typeof val !== 'number' && typeof val !== 'string') return null
  if (more === null) return { ctr, pbal, bal, val, more }
  if (typeof more !== 'object') return null
  // Blocks that were written before there was an oracle have no generation.
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

export function moreOf({ more }: Block): More {
  return more ?? NO_MORE
}

/** Whether (a, i) comes after (b, j): numbers first, ids where they are equal. */
export function isAfter(a: number, i: NodeId, b: number, j: NodeId): boolean {
  return a > b || (a === b && compareIds(i, j) > 0)
}

/** Whether its owner has led, and given up every lease that it may have had: see leaving.ts. */
export function isReleased(of: NodeId, block: Block): boolean {
  const { led, lctr } = moreOf(block)
  return led > 0 && lctr === 0 && block.val === of
}
