/** Messages in the time picture: diagonals from their sending to their end. */
import type { Flight } from '../../engine/picture.ts'
import { ownColour } from '../colours.ts'
import { drawCross, label, line } from '../shapes.ts'
import type { BaseScene } from './draw-base.ts'
import { boxOfNode } from './lanes.ts'
import { xOf } from './scale.ts'

type Context = CanvasRenderingContext2D

/** Of more messages than this the rest have no names, and all no arrow heads. */
const MOST_LABELS = 400
/** A name stands this far along its line. */
const LABEL_SHARE = 0.62
const MOST_HEADS = 400
const MOST_ROUTINE = 5000
const LEAST_LANE = 16
/** A line shorter than this says nothing about its slope. */
const STUB_PX = 22

export function drawFlights(context: Context, scene: BaseScene): void {
  const { scale, flights, showsRoutine } = scene
  const all = flights.between(scale.from, scale.to)
  const events = all.filter(({ isRoutine }) => !isRoutine)
  const routine = showsRoutine ? all.filter(({ isRoutine }) => isRoutine) : []
  // Very many lines together shall not hide the lanes, nor take longer than anyone could see the difference.
  const stride = Math.ceil(routine.length / MOST_ROUTINE)
  context.globalAlpha = Math.min(0.4, Math.max(0.04, (300 * stride) / routine.length))
  routine.forEach((flight, place) => {
    if (place % stride === 0) drawFlight(context, scene, flight, { hasHead: false })
  })
  context.globalAlpha = 0.95
  for (const flight of events) drawFlight(context, scene, flight, { hasHead: events.length <= MOST_HEADS })
  context.globalAlpha = 1
  drawLabels(context, scene, events)
}

/** Names of messages, where there is room for them. Messages that were sent together are named once. */
function drawLabels(context: Context, scene: BaseScene, events: readonly Flight[]): void {
  // Names of messages would hide lanes that are this close.
  if ((scene.boxes[0]?.height ?? 0) < LEAST_LANE) return
  const taken: { readonly x: number; readonly y: number; readonly width: number }[] = []
  const named = new Set<string>()
  for (const flight of events.slice(0, MOST_LABELS)) {
    const group = `${flight.sentIn} ${flight.kind}`
    if (named.has(group)) continue
    const ends = flightEnds(scene, flight)
    if (ends === null || ends.length < 40) continue
    const x = ends.x1 + (ends.x2 - ends.x1) * LABEL_SHARE + 5
    const y = ends.y1 + (ends.y2 - ends.y1) * LABEL_SHARE
    const { width } = context.measureText(flight.kind)
    if (
      taken.some((each) => Math.abs(each.y - y) < 13 && x < each.x + each.width + 6 && each.x < x + width + 6)
    )
      continue
    taken.push({ x, y, width })
    named.add(group)
    label(context, flight.kind, x, y, scene.colours.text, scene.colours.surface)
  }
}

export type FlightLine = {
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
  readonly length: number
}

/** The diagonal of a message. A message that is lost as it is sent is a short stub. */
export function flightEnds(
  { scale, boxes, picture }: Pick<BaseScene, 'scale' | 'boxes' | 'picture'>,
  flight: Flight,
): FlightLine | null {
  const from = boxOfNode(boxes, flight.from)
  const to = boxOfNode(boxes, flight.to)
  if (from === undefined || to === undefined) return null
  const x1 = xOf(scale, flight.sentAt)
  const fullX = xOf(scale, flight.endedAt ?? picture.endsAt)
  const isStub = flight.lost !== null && fullX - x1 < 3
  const down = Math.sign(to.y - from.y)
  const x2 = isStub ? x1 + 9 : fullX
  const y2 = isStub ? from.y + down * Math.min(STUB_PX, Math.abs(to.y - from.y) * 0.6) : to.y
  return { x1, y1: from.y, x2, y2, length: Math.hypot(x2 - x1, y2 - from.y) }
}

function drawFlight(
  context: Context,
  scene: BaseScene,
  flight: Flight,
  { hasHead }: { readonly hasHead: boolean },
): void {
  const ends = flightEnds(scene, flight)
  if (ends === null) return
  const { colours, picture } = scene
  const { x1, y1, x2, y2 } = ends
  const place = picture.nodes.indexOf(flight.from)
  context.strokeStyle = ownColour(colours, place)
  context.lineWidth = flight.isRoutine ? 0.75 : 1.25
  context.setLineDash(flight.endedAt === null ? [3, 4] : flight.copy > 0 ? [6, 3] : [])
  line(context, x1, y1, x2, y2)
  context.setLineDash([])
  if (flight.lost !== null) drawCross(context, x2, y2, flight.isRoutine ? 3 : 4.5, colours.bad, 1.75)
  else if (hasHead && flight.endedAt !== null) drawHead(context, ends, ownColour(colours, place))
}

export function drawHead(context: Context, { x1, y1, x2, y2 }: FlightLine, colour: string): void {
  const angle = Math.atan2(y2 - y1, x2 - x1)
  const arm = (by: number): readonly [number, number] => [
    x2 - 7 * Math.cos(angle + by),
    y2 - 7 * Math.sin(angle + by),
  ]
  context.fillStyle = colour
  context.beginPath()
  context.moveTo(x2, y2)
  context.lineTo(...arm(0.38))
  context.lineTo(...arm(-0.38))
  context.fill()
}
