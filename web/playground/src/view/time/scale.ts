/** The stretch of time that the picture shows, and where its marks go. */
import type { Micros } from '../../../../../src/core/index.ts'
import type { Lane } from '../../engine/picture.ts'

export type TimeRange = { readonly from: Micros; readonly to: Micros }

export type TimeScale = TimeRange & { readonly left: number; readonly width: number }

/** Marks of the scale are at least this far apart. */
export const MARK_PX = 96

const LEAST_SPAN = 200
/** The shares of the width at which a playing run turns the page, and at which it goes on. */
const PAGE_END = 0.9
const PAGE_START = 0.12

export const xOf = (scale: TimeScale, at: Micros): number =>
  scale.left + ((at - scale.from) / (scale.to - scale.from)) * scale.width

export const timeOf = (scale: TimeScale, x: number): Micros =>
  scale.from + ((x - scale.left) / scale.width) * (scale.to - scale.from)

/** Makes the range shorter (`factor` < 1) or longer; `around` keeps its place. */
export function zoom(range: TimeRange, factor: number, around: Micros, endsAt: Micros): TimeRange {
  const span = range.to - range.from
  const next = Math.min(Math.max(span * factor, LEAST_SPAN), Math.max(endsAt, LEAST_SPAN) * 1.04)
  const share = (around - range.from) / span
  return pan({ from: around - share * next, to: around + (1 - share) * next }, 0, endsAt)
}

/** Moves the range, but not beyond the run. A range longer than the run shows all of it. */
export function pan(range: TimeRange, by: Micros, endsAt: Micros): TimeRange {
  const span = range.to - range.from
  if (span >= endsAt) return { from: (endsAt - span) / 2, to: (endsAt + span) / 2 }
  const margin = span * 0.02
  const latest = endsAt + margin - span
  const from = Math.min(Math.max(range.from + by, -margin), latest)
  return { from, to: from + span }
}

/**
 * The range that shows the cursor. It stays while it does, so that a playing run moves over a picture that stands; then
 * it moves on by nearly its length.
 */
export function turnPage(range: TimeRange, at: Micros, endsAt: Micros): TimeRange {
  const span = range.to - range.from
  const share = (at - range.from) / span
  if (share >= 0 && share <= PAGE_END) return range
  const next = pan(range, at - (share > 1.5 || share < 0 ? 0.5 : PAGE_START) * span - range.from, endsAt)
  return next.from === range.from ? range : next
}

/** A round number of microseconds, so that marks are at least `leastPx` apart. */
export function stepFor(scale: TimeScale, leastPx: number): Micros {
  const least = (leastPx / scale.width) * (scale.to - scale.from)
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)))
  const factor = [1, 2, 5, 10].find((each) => each * power >= least) ?? 10
  return Math.max(1, factor * power)
}

export function marksOf(scale: TimeScale, step: Micros): readonly Micros[] {
  const marks: Micros[] = []
  for (let at = Math.max(0, Math.ceil(scale.from / step) * step); at <= scale.to; at += step) marks.push(at)
  return marks
}

export type OwnMark = { readonly own: Micros; readonly at: Micros }

/**
 * Where a node's own clock passes the round numbers that the true scale shows, in the true time. A clock that is
 * set back passes a number twice, and a suspended clock passes none.
 */
export function ownMarks(lane: Lane, scale: TimeScale, step: Micros): readonly OwnMark[] {
  const [first] = lane.clock
  if (first === undefined) return []
  const marks: OwnMark[] = []
  lane.clock.forEach((piece, place) => {
    const start = Math.max(piece.from, scale.from)
    const end = Math.min(lane.clock[place + 1]?.from ?? Number.POSITIVE_INFINITY, scale.to)
    if (end <= start || piece.rate <= 0) return
    const base = piece.shows - first.shows + first.from
    const ownStart = base + (start - piece.from) * piece.rate
    const ownEnd = base + (end - piece.from) * piece.rate
    for (let own = Math.ceil(ownStart / step) * step; own < ownEnd; own += step)
      marks.push({ own, at: piece.from + (own - base) / piece.rate })
  })
  return marks
}

/** An instant of a run. A run without time counts its steps. */
export function instantOf({ isUntimed }: { readonly isUntimed: boolean }, at: Micros, step: Micros): string {
  return isUntimed ? `step ${Math.round(at / 1000)}` : formatInstant(at, step)
}

/** An instant: "1.250 s", "83.2 ms". The digits fit a scale whose marks are `step` apart. */
export function formatInstant(at: Micros, step: Micros): string {
  const ms = at / 1000
  if (Math.abs(ms) >= 1000 || step >= 1_000_000) {
    const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / 1_000_000) - 1e-9)))
    return `${(ms / 1000).toFixed(digits)} s`
  }
  const digits = Math.min(3, Math.max(0, Math.ceil(-Math.log10(step / 1000) - 1e-9)))
  return `${ms.toFixed(digits)} ms`
}
