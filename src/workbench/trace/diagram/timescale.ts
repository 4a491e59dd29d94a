/**
 * The time axis. Distances are proportional to time, with two exceptions: all moments keep a minimum
 * distance, so that their order is visible, and unusually long gaps are drawn as breaks, because a run
 * consists of bursts of messages with seconds of silence between.
 */
import type { Micros } from '../../../core/index.ts'

export type Break = {
  readonly from: Micros
  readonly until: Micros
  readonly top: number
  readonly bottom: number
}

export type Tick = { readonly at: Micros; readonly y: number }

export type TimeScale = {
  y(at: Micros): number
  readonly bottom: number
  readonly breaks: readonly Break[]
  readonly ticks: readonly Tick[]
}

/** A gap this many times as long as 70 % of the gaps becomes a break. */
const BREAK_FACTOR = 4
const COMMON_SHARE = 0.7
const BREAK_PX = 46
/** The height of an average gap: large for few moments, small for hundreds. */
const MOST_PX = 52
const LEAST_PX = 15
const PAGE_PX = 2200
/** The minimum share of that for any gap. */
const LEAST_SHARE = 0.25
const TICK_PX = 44
const TICK_APART_PX = 15

/** `moments`: at least one, sorted, distinct. `leastTick`: the finest tick. */
export function timeScale(moments: readonly Micros[], top: number, leastTick: Micros): TimeScale {
  const first = moments[0] ?? 0
  const gaps = moments.slice(1).map((at, index) => at - (moments[index] ?? at))
  const longest = longestUnbroken(gaps)
  const unbroken = gaps.filter((gap) => gap <= longest)
  const average = Math.max(1, unbroken.reduce((sum, gap) => sum + gap, 0) / Math.max(1, unbroken.length))
  const averagePx = Math.min(MOST_PX, Math.max(LEAST_PX, PAGE_PX / moments.length))
  const pxPerMicro = averagePx / average

  const ys = [top]
  const breaks: Break[] = []
  for (const [index, gap] of gaps.entries()) {
    const from = ys[index] ?? top
    const length = gap > longest ? BREAK_PX : Math.max(averagePx * LEAST_SHARE, gap * pxPerMicro)
    ys.push(from + length)
    if (gap > longest) {
      const at = moments[index] ?? first
      breaks.push({ from: at, until: at + gap, top: from, bottom: from + length })
    }
  }

  function y(at: Micros): number {
    const after = indexAfter(moments, at)
    const lower = moments[after - 1]
    const upper = moments[after]
    if (lower === undefined) return top
    if (upper === undefined) return ys.at(-1) ?? top
    const [low = top, high = top] = [ys[after - 1], ys[after]]
    return low + ((high - low) * (at - lower)) / (upper - lower)
  }

  const step = roundStep(TICK_PX / pxPerMicro, leastTick)
  return { y, bottom: ys.at(-1) ?? top, breaks, ticks: ticksOf(moments, breaks, step, y) }
}

function longestUnbroken(gaps: readonly Micros[]): Micros {
  const sorted = [...gaps].sort((a, b) => a - b)
  const common = sorted[Math.floor((sorted.length - 1) * COMMON_SHARE)] ?? 0
  return common * BREAK_FACTOR
}

/** The number of moments at or before `at`. */
function indexAfter(moments: readonly Micros[], at: Micros): number {
  let low = 0
  let high = moments.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((moments[middle] ?? 0) <= at) low = middle + 1
    else high = middle
  }
  return low
}

/** The least of 1, 2, 5, 10, 20, ... that is long enough. */
function roundStep(wanted: Micros, least: Micros): Micros {
  let step = least
  for (let factor = 0; step < wanted; factor++) step *= factor % 3 === 1 ? 2.5 : 2
  return step
}

/** Exact times at the ends of a segment, round ones in between. */
function ticksOf(
  moments: readonly Micros[],
  breaks: readonly Break[],
  step: Micros,
  y: (at: Micros) => number,
): readonly Tick[] {
  const begins = [moments[0] ?? 0, ...breaks.map(({ until }) => until)]
  const ends = [...breaks.map(({ from }) => from), moments.at(-1) ?? 0]
  const ticks: Tick[] = []
  for (const [index, begin] of begins.entries()) {
    const end = ends[index] ?? begin
    const exact = begin === end ? [begin] : [begin, end]
    const placed = exact.map((at) => ({ at, y: y(at) }))
    for (let at = Math.ceil(begin / step) * step; at < end; at += step) {
      const tick = { at, y: y(at) }
      if (placed.every((other) => Math.abs(other.y - tick.y) >= TICK_APART_PX)) placed.push(tick)
    }
    ticks.push(...placed)
  }
  return ticks
    .sort((a, b) => a.y - b.y)
    .filter((tick, index, all) => {
      const before = all[index - 1]
      return before === undefined || tick.y - before.y >= TICK_APART_PX
    })
}
