/**
 * Lays a history out on a page. Time runs downwards, with one lane per node and one line per message from its
 * send to its arrival. All geometry is here; svg.ts only writes it.
 */
import { type Micros, msOf, type NodeId, present } from '../../../core/index.ts'
import { type Arrow, arrowOf } from './arrows.ts'
import { captionsOf } from './captions.ts'
import { momentsOf } from './clip.ts'
import type { DiagramHistory, LaneState, Mark } from './history.ts'
import type { Point } from './label-space.ts'
import { type Label, rightOf, shorten, widthOf } from './labels.ts'
import type { Place } from './place.ts'
import { type Break, timeScale } from './timescale.ts'

export type Lane = { readonly node: NodeId; readonly x: number; readonly name: string }

export type LanePiece = {
  readonly node: NodeId
  readonly state: Exclude<LaneState, 'down'>
  readonly x: number
  readonly top: number
  readonly bottom: number
  readonly title: string
}

export type Hatch = {
  readonly x: number
  readonly top: number
  readonly bottom: number
  readonly title: string
}

export type Sign = Point & { readonly type: Mark['type']; readonly title: string }

export type Layout = {
  readonly width: number
  /** The bottom of the lanes; the legend follows below. */
  readonly bottom: number
  readonly axisX: number
  readonly nameY: number
  readonly lanes: readonly Lane[]
  readonly pieces: readonly LanePiece[]
  readonly hatches: readonly Hatch[]
  readonly arrows: readonly Arrow[]
  readonly signs: readonly Sign[]
  /** The y coordinates of network events. */
  readonly rules: readonly number[]
  readonly labels: readonly Label[]
  readonly ticks: readonly { readonly y: number; readonly text: string }[]
  readonly breaks: readonly (Break & { readonly text: string })[]
}

const NAME_Y = 64
const TOP_Y = 106
const LEAST_AXIS_X = 84
/** Between the left edge, the texts at the axis, and the axis. */
const AXIS_CLEAR_PX = 10
/** From the axis to the first lane, and from the last lane to the edge: space for captions. */
const SIDE_PX = 100
/** Between the axis and the labels of the first lane, and between the last label and the edge. */
const LEFT_CLEAR_PX = 4
const RIGHT_CLEAR_PX = 12
/** A lane extends a little beyond the first and the last moment. */
const AHEAD_PX = 16
const BEYOND_PX = 24
const PAGE_PX = 760
const LEAST_LANE_PX = 96
const MOST_LANE_PX = 190
const NAME_LENGTH = 14

export function layoutOf(history: DiagramHistory): Layout {
  const { nodes, timed } = history
  const lanePx = Math.max(LEAST_LANE_PX, Math.min(MOST_LANE_PX, PAGE_PX / Math.max(1, nodes.length - 1)))
  const scale = timeScale(momentsOf(history), TOP_Y, timed ? 1 : 1000)
  const ticks = scale.ticks.map(({ at, y }) => ({ y, text: round(msOf(at)) }))
  const breaks = scale.breaks.map((each) => ({
    ...each,
    text: timed ? `${shortDuration(each.until - each.from)} pass` : 'steps pass',
  }))
  const axisX = Math.max(
    LEAST_AXIS_X,
    ...[...ticks, ...breaks].map(({ text }) => Math.ceil(widthOf(text)) + AXIS_CLEAR_PX),
  )
  const xs = new Map(nodes.map((node, index) => [node, axisX + SIDE_PX + index * lanePx]))
  const lanes = nodes.map((node) => ({
    node,
    x: present(xs.get(node), 'lane'),
    name: shorten(`node ${node}`, NAME_LENGTH),
  }))
  const place: Place = {
    x: (node) => present(xs.get(node), 'lane'),
    y: scale.y,
    lanePx,
    left: axisX + LEFT_CLEAR_PX,
    edge: lanes.at(-1)?.x ?? axisX,
    moment: (at) => (timed ? `${round(msOf(at))} ms` : `step ${round(msOf(at))}`),
  }
  const arrows = history.flights.map((flight) => arrowOf(flight, history, place))
  const lowest = arrows.reduce((y, { to }) => Math.max(y, to.y), scale.bottom)
  const bottom = Math.ceil(Math.max(scale.bottom + BEYOND_PX, lowest + AHEAD_PX))
  const pieces = piecesOf(history, place, bottom)
  const signs = history.marks.map((mark) => ({
    x: place.x(mark.node),
    y: scale.y(mark.at),
    type: mark.type,
    title: `node ${mark.node}: ${mark.type === 'timer' ? `timer ${mark.text}` : mark.text} (${place.moment(mark.at)})`,
  }))
  const labels = captionsOf(history, place, { pieces, arrows, signs })
  const right = labels.reduce((most, label) => Math.max(most, rightOf(label) + RIGHT_CLEAR_PX), 0)
  return {
    width: Math.ceil(Math.max(place.edge + SIDE_PX, right)),
    bottom,
    axisX,
    nameY: NAME_Y,
    lanes,
    pieces,
    hatches: history.stalls.map((stall) => ({
      x: place.x(stall.node),
      top: scale.y(stall.from),
      bottom: scale.y(stall.until),
      title: `node ${stall.node} is ${stall.word} from ${place.moment(stall.from)} to ${place.moment(stall.until)}`,
    })),
    arrows,
    signs,
    rules: history.notices.map(({ at }) => scale.y(at)),
    labels,
    ticks,
    breaks,
  }
}

/** To the microsecond, without trailing zeros. */
function round(ms: number): string {
  return String(Number(ms.toFixed(3)))
}

function shortDuration(micros: Micros): string {
  const ms = msOf(micros)
  if (ms >= 1000) return `${Number((ms / 1000).toPrecision(3))} s`
  return `${Number(ms.toPrecision(3))} ms`
}

function piecesOf(
  { periods, begin, end }: DiagramHistory,
  place: Place,
  pageBottom: number,
): readonly LanePiece[] {
  const last = new Map(periods.map((period) => [period.node, period]))
  return periods.flatMap((period) => {
    const { node, from, until, state, text } = period
    if (state === 'down') return []
    const top = place.y(from) - (from === begin ? AHEAD_PX : 0)
    const bottom = until === end && last.get(node) === period ? pageBottom : place.y(until)
    const title = `node ${node}: ${text} (${place.moment(from)} to ${place.moment(until)})`
    return [{ node, state, x: place.x(node), top, bottom, title }]
  })
}
