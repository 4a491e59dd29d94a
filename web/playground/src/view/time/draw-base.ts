/** The parts of the time picture that do not depend on the cursor. They are drawn once per range, and kept. */
import type { Picture } from '../../engine/picture.ts'
import { type Colours, ownColour } from '../colours.ts'
import type { FlightIndex } from '../look-up.ts'
import { drawCross, drawHatch, label, line, rounded } from '../shapes.ts'
import { drawFlights } from './draw-flights.ts'
import { type LaneBox, RULER_HEIGHT } from './lanes.ts'
import { type LeaseBar, leaseBars } from './leases.ts'
import {
  formatInstant,
  instantOf,
  MARK_PX,
  marksOf,
  ownMarks,
  stepFor,
  type TimeScale,
  xOf,
} from './scale.ts'
export type BaseScene = {
  readonly picture: Picture
  readonly flights: FlightIndex
  readonly boxes: readonly LaneBox[]
  readonly scale: TimeScale
  readonly colours: Colours
  readonly height: number
  readonly font: string
  readonly showsRoutine: boolean
}

type Context = CanvasRenderingContext2D

/** A difference of the two scales that can be seen. */
const LEAST_LEAN = 1.5
const LEAST_TERM_PX = 6
export function drawBase(context: Context, scene: BaseScene): void {
  context.font = `11px ${scene.font}`
  context.textBaseline = 'middle'
  drawGrid(context, scene)
  for (const box of scene.boxes) {
    drawLane(context, scene, box)
    drawLoads(context, scene, box)
    drawStalls(context, scene, box)
    drawClock(context, scene, box)
  }
  drawFlights(context, scene)
  for (const box of scene.boxes) drawLeases(context, scene, box)
  drawEvents(context, scene)
}

function drawGrid(context: Context, { picture, scale, colours, height, boxes }: BaseScene): void {
  const step = Math.max(stepFor(scale, MARK_PX), picture.isUntimed ? 1000 : 1)
  context.textAlign = 'left'
  context.lineWidth = 1
  for (const at of marksOf(scale, step)) {
    const x = Math.round(xOf(scale, at)) + 0.5
    context.strokeStyle = colours.line
    line(context, x, 6, x, height)
    context.fillStyle = colours.quiet
    context.fillText(instantOf(picture, at, step), x + 5, 11)
  }
  context.strokeStyle = colours.line
  for (const { top } of boxes)
    line(context, scale.left, Math.round(top) + 0.5, scale.left + scale.width, Math.round(top) + 0.5)
}

/** The line of a node: thick while it leads, dashed without a leader, absent while it is down. */
function drawLane(context: Context, { scale, colours }: BaseScene, { lane, place, y }: LaneBox): void {
  const own = ownColour(colours, place)
  for (const span of lane.roles) {
    if (span.to < scale.from || span.from > scale.to) continue
    const x1 = Math.max(scale.left, xOf(scale, span.from))
    // A term that begins with the last step of a run has no length, but must be seen.
    const least = span.leads ? x1 + LEAST_TERM_PX : x1
    const x2 = Math.max(least, Math.min(scale.left + scale.width, xOf(scale, span.to)))
    if (span.role === 'crashed') {
      if (span.from >= scale.from) drawCross(context, x1, y, 5, colours.bad, 2)
      context.setLineDash([1, 5])
      context.strokeStyle = colours.edge
      context.lineWidth = 1
      line(context, x1 + 8, y, x2, y)
      context.setLineDash([])
      continue
    }
    context.setLineDash(span.leads || span.leader !== null ? [] : [5, 4])
    context.strokeStyle = own
    context.lineWidth = span.leads ? 5 : 1.5
    line(context, x1, y, x2, y)
    context.setLineDash([])
  }
}

function drawStalls(context: Context, { scale, colours, font }: BaseScene, box: LaneBox): void {
  for (const { from, to, kind } of box.lane.stalls) {
    if (to < scale.from || from > scale.to) continue
    const x1 = Math.max(scale.left, xOf(scale, from))
    const x2 = Math.min(scale.left + scale.width, xOf(scale, to))
    const top = box.top + 3
    const height = box.height - 6
    drawHatch(
      context,
      { x: x1, y: top, width: x2 - x1, height },
      { colour: colours.warn, gap: kind === 'paused' ? 8 : 5 },
    )
    context.strokeStyle = colours.warn
    context.lineWidth = 1
    context.strokeRect(x1 + 0.5, top + 0.5, Math.max(0, x2 - x1 - 1), height - 1)
    if (x2 - x1 < 70 || box.height < 34) continue
    context.font = `600 11px ${font}`
    label(context, kind, x2 - 6 - context.measureText(kind).width, top + 9, colours.warn, colours.surface)
    context.font = `11px ${font}`
  }
}

/** A row of ticks along the bottom of the lane, with its name at the start. */
function drawLoads(context: Context, { scale, colours }: BaseScene, { lane, top, height }: LaneBox): void {
  const y = top + height - 4
  for (const { from, to } of lane.loads) {
    if (to < scale.from || from > scale.to) continue
    const x1 = Math.max(scale.left, xOf(scale, from))
    const x2 = Math.min(scale.left + scale.width, xOf(scale, to))
    context.strokeStyle = colours.warn
    context.lineWidth = 6
    context.setLineDash([2, 3])
    line(context, x1, y, x2, y)
    context.setLineDash([])
    if (x2 - x1 > 60 && height >= 34)
      label(context, 'under load', x1 + 6, y - 9, colours.warn, colours.surface)
  }
}

/** True time above, the node's own clock below: where they differ, the lines between them lean. */
function drawClock(
  context: Context,
  { scale, colours, font, picture }: BaseScene,
  { lane, clockTop }: LaneBox,
): void {
  if (clockTop === null || lane.clock.length === 0 || picture.isUntimed) return
  const step = stepFor(scale, MARK_PX / 4)
  const labelStep = stepFor(scale, MARK_PX)
  const marks = ownMarks(lane, scale, step).map(({ own, at }) => ({
    own,
    x: xOf(scale, at),
    trueX: xOf(scale, own),
  }))
  if (marks.every(({ x, trueX }) => Math.abs(x - trueX) <= LEAST_LEAN)) return
  const bottom = clockTop + 13
  const right = scale.left + scale.width
  context.lineWidth = 1
  context.strokeStyle = colours.edge
  line(context, scale.left, clockTop, right, clockTop)
  line(context, scale.left, bottom, right, bottom)
  context.font = `10px ${font}`
  context.textAlign = 'center'
  context.fillStyle = colours.quiet
  context.textAlign = 'left'
  context.fillText('own clock', scale.left + 4, bottom + 6.5)
  context.textAlign = 'center'
  let lastLabel = scale.left + 30
  for (const { own, x, trueX } of marks) {
    const isOff = Math.abs(x - trueX) > LEAST_LEAN
    context.strokeStyle = isOff ? colours.warn : colours.edge
    context.lineWidth = isOff ? 1.25 : 1
    line(context, Math.max(scale.left, trueX), clockTop, x, bottom)
    if (!isOff || x - lastLabel < 58 || own % labelStep !== 0) continue
    lastLabel = x
    context.fillStyle = colours.warn
    context.fillText(formatInstant(own, step), x, bottom + 6.5)
  }
  context.textAlign = 'left'
  context.font = `11px ${font}`
}

function drawLeases(context: Context, scene: BaseScene, box: LaneBox): void {
  for (const bar of leaseBars(box.lane.leases, scene.scale.from, scene.scale.to))
    drawLeaseBar(context, scene, box, bar)
}

function drawLeaseBar(
  context: Context,
  { scale, colours, font }: BaseScene,
  box: LaneBox,
  bar: LeaseBar,
): void {
  const { leaseTop: top, leaseHeight: height, place } = box
  const own = ownColour(colours, place)
  const x1 = Math.max(scale.left - 8, xOf(scale, bar.from))
  const xUntil = Math.min(scale.left + scale.width + 8, xOf(scale, bar.until))
  const xBelieved = Math.min(scale.left + scale.width + 8, xOf(scale, bar.believed))
  const inset = height > 10 ? 3 : 1.5
  if (xUntil > x1) {
    context.fillStyle = own
    rounded(context, x1, top + inset, xUntil - x1, height - 2 * inset, 2)
    context.fill()
  }
  if (bar.believed > bar.until) {
    const x = Math.max(x1, xUntil)
    context.fillStyle = colours['bad-pale']
    context.fillRect(x, top, xBelieved - x, height)
    drawHatch(context, { x, y: top, width: xBelieved - x, height }, { colour: colours.bad, gap: 6 })
  }
  context.strokeStyle = bar.believed > bar.until ? colours.bad : colours.text
  context.lineWidth = 1.25
  rounded(context, x1, top, Math.max(1, xBelieved - x1), height, 3)
  context.stroke()
  if (height < 12) return
  const hasText = bar.token !== null && xUntil - x1 >= 70
  context.strokeStyle = colours.surface
  context.lineWidth = 1
  let last = Number.NEGATIVE_INFINITY
  for (const at of bar.renewals) {
    const x = Math.round(xOf(scale, at)) + 0.5
    if (x - last < 5 || x > xUntil || (hasText && x < Math.max(x1, scale.left) + 62)) continue
    last = x
    context.globalAlpha = 0.55
    line(context, x, top + inset, x, top + height - inset)
    context.globalAlpha = 1
  }
  if (!hasText) return
  context.font = `600 11px ${font}`
  context.fillStyle = colours['on-accent']
  context.fillText(`token ${bar.token}`, Math.max(x1, scale.left) + 7, top + height / 2 + 0.5)
  context.font = `11px ${font}`
}

/** What was done to the world, and where a specification is violated. */
function drawEvents(context: Context, scene: BaseScene): void {
  const { picture, scale, colours } = scene
  const y = RULER_HEIGHT - 14
  const events = picture.moments.filter(
    ({ kind, at }) => kind === 'world' && at >= scale.from && at <= scale.to,
  )
  events.forEach(({ at, text }, place) => {
    const x = xOf(scale, at)
    context.fillStyle = colours.text
    context.beginPath()
    context.moveTo(x, y - 5)
    context.lineTo(x + 5, y)
    context.lineTo(x, y + 5)
    context.lineTo(x - 5, y)
    context.fill()
    const next = events[place + 1]
    const room = (next === undefined ? scale.left + scale.width : xOf(scale, next.at)) - x - 20
    const fitting = fitText(context, text, room)
    if (fitting !== '') label(context, fitting, x + 9, y + 0.5, colours.text, colours.surface)
  })
  const violations = new Map<number, string[]>()
  for (const { verdict, at, name } of picture.verdicts)
    if (verdict === 'violated' && at !== null && at >= scale.from && at <= scale.to)
      violations.set(at, [...(violations.get(at) ?? []), name])
  for (const [at, names] of violations)
    drawViolation(context, scene, xOf(scale, at), `${names.join(', ')} violated`)
}

/** As much of a text as there is room for; nothing if that says too little. */
function fitText(context: Context, text: string, room: number): string {
  const { width } = context.measureText(text)
  if (width <= room) return text
  const length = Math.floor((text.length * (room - 10)) / width)
  return length < 6 ? '' : `${text.slice(0, length).trimEnd()} …`
}

function drawViolation(
  context: Context,
  { scale, colours, height, font }: BaseScene,
  x: number,
  text: string,
): void {
  context.strokeStyle = colours.bad
  context.lineWidth = 1.5
  context.setLineDash([4, 3])
  line(context, x, 22, x, height)
  context.setLineDash([])
  context.font = `600 11px ${font}`
  const width = context.measureText(text).width + 12
  const left = Math.min(x, scale.left + scale.width - width)
  context.fillStyle = colours.bad
  rounded(context, left, 21, width, 17, 3)
  context.fill()
  context.fillStyle = colours['on-accent']
  context.fillText(text, left + 6, 30)
  context.font = `11px ${font}`
}
