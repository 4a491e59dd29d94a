/**
 * A histogram of the last minutes in constant memory, for durations in microseconds.
 *
 * Buckets are log-linear, as in HdrHistogram: 16 per power of two, so a percentile is at most 1/16 too large. The window
 * consists of slots. The oldest slot is cleared and reused, so the window covers between its length less one slot and its
 * whole length. Adding a value costs a few integer operations and allocates nothing.
 */
import type { Micros } from '../../core/index.ts'
import type { Spread } from './measured.ts'

const SUB_BITS = 4
const SUB = 2 ** SUB_BITS
/** Values from 2^27 µs (134 s) on share the last bucket. */
const MOST = 2 ** 27 - 1
const BUCKETS = bucketOf(MOST) + 1

export const WINDOW_MS = 180_000
const SLOTS = 6

type Slot = { readonly counts: Uint32Array; total: number; min: Micros; max: Micros }

function bucketOf(value: Micros): number {
  if (value < SUB) return value
  const shift = 31 - Math.clz32(value) - SUB_BITS
  return (shift + 1) * SUB + ((value >>> shift) - SUB)
}

/** The largest value of a bucket. */
function ceilingOf(bucket: number): Micros {
  if (bucket < SUB) return bucket
  const shift = Math.floor(bucket / SUB) - 1
  return ((bucket % SUB) + SUB + 1) * 2 ** shift - 1
}

export class RollingHistogram {
  readonly #slotLength: Micros
  readonly #slots: readonly Slot[]
  /** The number of the current slot since the clock's zero. */
  #current = -1

  constructor(windowMs = WINDOW_MS, slots = SLOTS) {
    this.#slotLength = (windowMs * 1000) / slots
    this.#slots = Array.from({ length: slots }, () => emptySlot())
  }

  add(value: Micros, now: Micros): void {
    const slot = this.#slotAt(now)
    const known = Math.min(MOST, Math.max(0, Math.round(value)))
    const bucket = bucketOf(known)
    slot.counts[bucket] = (slot.counts[bucket] ?? 0) + 1
    slot.total += 1
    if (value < slot.min) slot.min = value
    if (value > slot.max) slot.max = value
  }

  /** Null if nothing was added in the window. */
  spread(now: Micros): Spread | null {
    this.#slotAt(now)
    const { total, max } = this.#totals()
    if (total === 0) return null
    const [p50 = 0, p99 = 0] = this.#percentiles([0.5, 0.99], total, max)
    return { p50: toMs(p50), p99: toMs(p99), max: toMs(max) }
  }

  /** The smallest value and the median; null if nothing was added in the window. */
  low(now: Micros): { readonly min: number; readonly p50: number } | null {
    this.#slotAt(now)
    const { total, min, max } = this.#totals()
    if (total === 0) return null
    const [p50 = 0] = this.#percentiles([0.5], total, max)
    return { min: toMs(min), p50: toMs(Math.max(min, p50)) }
  }

  #totals(): { readonly total: number; readonly min: Micros; readonly max: Micros } {
    let [total, min, max] = [0, Number.POSITIVE_INFINITY, 0]
    for (const slot of this.#slots) {
      total += slot.total
      min = Math.min(min, slot.min)
      max = Math.max(max, slot.max)
    }
    return { total, min, max }
  }

  /** `ranks` ascend. */
  #percentiles(ranks: readonly number[], total: number, max: Micros): readonly Micros[] {
    const found: Micros[] = []
    let seen = 0
    for (let bucket = 0; bucket < BUCKETS && found.length < ranks.length; bucket++) {
      for (const { counts } of this.#slots) seen += counts[bucket] ?? 0
      while (found.length < ranks.length && seen >= Math.ceil((ranks[found.length] ?? 1) * total))
        found.push(Math.min(max, ceilingOf(bucket)))
    }
    return found
  }

  /** The slot of this moment. Slots that are older than the window are cleared. */
  #slotAt(now: Micros): Slot {
    const number = Math.floor(now / this.#slotLength)
    const count = this.#slots.length
    if (number > this.#current) {
      const stale = Math.min(count, number - this.#current)
      for (let each = 0; each < stale; each++) clear(this.#slots[(number - each) % count] as Slot)
      this.#current = number
    }
    return this.#slots[this.#current % count] as Slot
  }
}

function emptySlot(): Slot {
  return { counts: new Uint32Array(BUCKETS), total: 0, min: Number.POSITIVE_INFINITY, max: 0 }
}

function clear(slot: Slot): void {
  if (slot.total === 0) return
  slot.counts.fill(0)
  slot.total = 0
  slot.min = Number.POSITIVE_INFINITY
  slot.max = 0
}

/** To two decimals. */
function toMs(micros: Micros): number {
  return Math.round(micros / 10) / 100
}
