/** The leadership ribbon: terms and gaps as pieces of a line, from the oldest to now. */
import type { Term } from '../data/types.ts'
import { formatMs, formatTime } from './format.ts'

export type Piece = {
  readonly key: string
  readonly isGap: boolean
  readonly leader: string | null
  readonly token: number | null
  readonly fromMs: number
  /** Null while it lasts. */
  readonly untilMs: number | null
  readonly lengthMs: number
  /** Place and width on the line, in pixels. */
  readonly x: number
  readonly width: number
  /** Gaps only: why there was no leader. */
  readonly why: string
  readonly title: string
}

export type RibbonRange = { readonly fromMs: number; readonly toMs: number }

/** A gap of milliseconds must be visible in an hour. */
const LEAST_GAP_PX = 4
const SHORTEST_RANGE_MS = 60_000

/** From the first entry, but at most `lengthMs` and at least a minute. */
export function rangeOf(terms: readonly Term[], nowMs: number, lengthMs: number): RibbonRange {
  const first = terms[0] === undefined ? nowMs : Date.parse(terms[0].from)
  const known = Math.max(nowMs - first, SHORTEST_RANGE_MS)
  return { fromMs: nowMs - Math.min(lengthMs, known), toMs: nowMs }
}

export function ribbonOf(
  terms: readonly Term[],
  { fromMs, toMs }: RibbonRange,
  width: number,
): readonly Piece[] {
  const scale = width / Math.max(1, toMs - fromMs)
  return terms.flatMap((term) => {
    const start = Date.parse(term.from)
    const untilMs = term.until === null ? null : Date.parse(term.until)
    const end = untilMs ?? toMs
    // An agent that loses its leader for an instant reports a gap of no length.
    const isNothing = term.leader === null && untilMs !== null && untilMs <= start
    if (end < fromMs || start > toMs || isNothing) return []
    const left = (Math.max(start, fromMs) - fromMs) * scale
    const right = (Math.min(end, toMs) - fromMs) * scale
    const isGap = term.leader === null
    const least = isGap ? LEAST_GAP_PX : 0
    const lengthMs = Math.max(0, end - start)
    const why = isGap ? (term.cause?.text ?? 'the cause is not known yet') : ''
    const pieceWidth = Math.max(right - left, least)
    return [
      {
        key: `${term.from} ${term.number}`,
        isGap,
        leader: term.leader === null ? null : String(term.leader),
        token: term.token,
        fromMs: start,
        untilMs,
        lengthMs,
        x: Math.max(0, Math.min(left, width - pieceWidth)),
        width: pieceWidth,
        why,
        title: titleOf(term, start, lengthMs, untilMs === null, why),
      },
    ]
  })
}

function titleOf(term: Term, start: number, lengthMs: number, lasts: boolean, why: string): string {
  const time = `from ${formatTime(start)}, ${lasts ? 'so far ' : ''}${formatMs(lengthMs)}`
  if (term.leader === null) return `No leader ${time}: ${why}`
  return `${term.leader} led${term.token === null ? '' : ` with token ${term.token}`} ${time}`
}

/** The newest gap after the start: the agent's own start is not news. */
export function lastGap(pieces: readonly Piece[]): Piece | null {
  return pieces.findLast(({ isGap }) => isGap) ?? null
}

export function gapText({ lengthMs, untilMs, why }: Piece): string {
  const length = untilMs === null ? `for ${formatMs(lengthMs)} so far` : `for ${formatMs(lengthMs)}`
  return `No leader ${length}: ${why}`
}

/** Marks on the time axis, at round times of day. */
export function ticksOf(
  { fromMs, toMs }: RibbonRange,
  width: number,
): readonly { readonly x: number; readonly label: string }[] {
  const wanted = Math.max(2, Math.floor(width / 110))
  const steps = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600].map((s) => s * 1000)
  const step = steps.find((each) => (toMs - fromMs) / each <= wanted) ?? 86_400_000
  const ticks: { x: number; label: string }[] = []
  for (let at = Math.ceil(fromMs / step) * step; at <= toMs; at += step) {
    const x = ((at - fromMs) / Math.max(1, toMs - fromMs)) * width
    const label = formatTime(at).slice(0, step < 60_000 ? 8 : 5)
    ticks.push({ x, label })
  }
  return ticks
}
