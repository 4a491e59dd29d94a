/** Places labels: each at the cheapest free position, or nowhere if there is no space. */
import type { LaneState, Mark } from './history.ts'
import { along, type LabelSpace, type Point } from './label-space.ts'

/** The topic of a label. */
export type Look = Mark['type'] | LaneState | 'stalled' | 'notice' | 'message'

export type Label = Point & {
  readonly text: string
  readonly anchor: 'start' | 'middle' | 'end'
  /** Degrees, clockwise. */
  readonly angle: number
  readonly look: Look
  /** The kind of the message that the label is about. */
  readonly kind?: string
}

export const FONT_PX = 11
/** The average width of a character in a sans-serif font. */
const CHARACTER_PX = FONT_PX * 0.56
/** From the baseline to the middle of a line of text. */
const MIDDLE_PX = 4

export function widthOf(text: string): number {
  return text.length * CHARACTER_PX
}

/** Bold text is wider than the average. */
const BOLD = 1.12
const BOLD_LOOKS: readonly Look[] = ['crash', 'restart', 'leads', 'stalled', 'notice', 'command']

/** The x coordinate at which a label ends. */
export function rightOf({ x, text, anchor, angle, look }: Label): number {
  const width = widthOf(text) * (BOLD_LOOKS.includes(look) ? BOLD : 1)
  const after = anchor === 'start' ? width : anchor === 'middle' ? width / 2 : 0
  return x + after * Math.cos((angle * Math.PI) / 180)
}

export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}\u2026`
}

type Candidate = { readonly label: Label; readonly cost: number }

/** The cheapest free candidate, or null. `own`: the line that the label belongs to. */
function choose(
  space: LabelSpace,
  candidates: readonly Label[],
  own: number | null,
  { most, within }: { readonly most: number; readonly within: number },
): Label | null {
  let best: Candidate | null = null
  for (const [index, label] of candidates.entries()) {
    const points = pointsOf(label)
    if (!space.isFree(points)) continue
    const crossings = space.crossings(points, own, within)
    if (crossings > most) continue
    const cost = crossings + index * 0.1
    if (best === null || cost < best.cost) best = { label, cost }
  }
  if (best === null) return null
  space.occupy(pointsOf(best.label))
  return best.label
}

function pointsOf({ x, y, text, anchor, angle }: Label): readonly Point[] {
  const width = widthOf(text)
  const begin = anchor === 'start' ? 0 : anchor === 'middle' ? -width / 2 : -width
  const turn = (angle * Math.PI) / 180
  const at = (way: number): Point => ({
    x: x + way * Math.cos(turn) + MIDDLE_PX * Math.sin(turn),
    y: y + way * Math.sin(turn) - MIDDLE_PX * Math.cos(turn),
  })
  return along(at(begin), at(begin + width))
}

const BESIDE_PX = 12
/** The sign of a command points at the lane from the left. */
const BESIDE_COMMAND_PX = 16
const SHIFTS_PX = [0, 12, -12, 24, -24, 34]
/** Arrowheads lie beside a lane and are wider than lines. */
const LINES_BESIDE = { most: 6, within: 9 }

/** A label beside a lane at a moment: on the preferred side, or else on the other. */
export function beside(
  space: LabelSpace,
  { x, y }: Point,
  text: string,
  look: Look,
  side: 'left' | 'right',
): Label | null {
  const candidates = SHIFTS_PX.flatMap((shift) =>
    (side === 'right' ? [1, -1] : [-1, 1]).map((way): Label => {
      const anchor = way > 0 ? 'start' : 'end'
      return {
        x: x + way * (way === -1 && look === 'command' ? BESIDE_COMMAND_PX : BESIDE_PX),
        y: y + MIDDLE_PX + shift,
        text,
        anchor,
        angle: 0,
        look,
      }
    }),
  )
  return choose(space, candidates, null, LINES_BESIDE)
}

const ABOVE_PX = 4
const BELOW_PX = 12
const LINES_ALONG = { most: 2, within: 6.5 }

/** A label along a line, halfway between two lanes, near the arrowhead if possible. */
export function alongLine(
  space: LabelSpace,
  [from, to]: readonly [Point, Point],
  lanePx: number,
  text: string,
  kind: string,
  own: number,
): Label | null {
  const lanes = Math.max(Math.abs(to.x - from.x) / lanePx, Number.EPSILON)
  const places = middlesOf(lanes).flatMap((middle) =>
    [middle, middle - 0.14, middle + 0.14].map((at) => at / lanes),
  )
  const angle = uprightAngle(from, to)
  const turn = (angle * Math.PI) / 180
  const candidates = places.flatMap((place) =>
    [-ABOVE_PX, BELOW_PX].map((off): Label => {
      const x = from.x + (to.x - from.x) * place - off * Math.sin(turn)
      const y = from.y + (to.y - from.y) * place + off * Math.cos(turn)
      return { x, y, text, anchor: 'middle', angle, look: 'message', kind }
    }),
  )
  return choose(space, candidates, own, LINES_ALONG)
}

/**
 * The positions halfway between two lanes, along the line; full gaps come before the partial gap at its end.
 */
function middlesOf(lanes: number): readonly number[] {
  const whole = Math.floor(lanes + 0.01)
  const rest = lanes - whole
  const middles = Array.from({ length: whole }, (_, index) => whole - index - 0.5)
  return rest > 0.2 ? [...middles, whole + rest / 2] : middles
}

/** The line's angle, turned so that text is never upside down. */
function uprightAngle(from: Point, to: Point): number {
  const angle = (Math.atan2(to.y - from.y, to.x - from.x) * 180) / Math.PI
  return angle > 90 ? angle - 180 : angle < -90 ? angle + 180 : angle
}
