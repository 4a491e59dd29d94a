/** What depends on the cursor: the veil over the future, messages in flight, and the leases as they stand now. */
import type { Flight } from '../../engine/picture.ts'
import type { Cursor, Selection } from '../../model/store.ts'
import { ownColour } from '../colours.ts'
import { leaseAt } from '../look-up.ts'
import { drawHatch, rounded } from '../shapes.ts'
import type { BaseScene } from './draw-base.ts'
import { drawHead, flightEnds } from './draw-flights.ts'
import { type LaneBox, RULER_HEIGHT } from './lanes.ts'
import { instantOf, MARK_PX, marksOf, stepFor, xOf } from './scale.ts'

type Context = CanvasRenderingContext2D

export type CursorScene = BaseScene & {
  readonly cursor: Cursor
  readonly selection: Selection | null
  readonly hovered: Flight | null
}

export function drawCursor(context: Context, scene: CursorScene): void {
  const { scale, cursor, colours, height, font } = scene
  const x = Math.min(Math.max(xOf(scale, cursor.at), scale.left), scale.left + scale.width)
  context.globalAlpha = 0.66
  context.fillStyle = colours.surface
  context.fillRect(x, RULER_HEIGHT, scale.left + scale.width - x, height - RULER_HEIGHT)
  context.globalAlpha = 1
  context.font = `11px ${font}`
  for (const box of scene.boxes) drawLeaseNow(context, scene, box)
  drawFlying(context, scene)
  if (cursor.at < scale.from || cursor.at > scale.to) return
  context.strokeStyle = colours.accent
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(x, 20)
  context.lineTo(x, height)
  context.stroke()
  drawTime(context, scene, x)
}

function drawTime(context: Context, scene: CursorScene, x: number): void {
  const { picture, scale, cursor, colours, font } = scene
  const text = instantOf(picture, cursor.at, stepFor(scale, MARK_PX) / 100)
  context.font = `600 11px ${font}`
  const width = context.measureText(text).width + 14
  const left = Math.min(Math.max(x - width / 2, scale.left), scale.left + scale.width - width)
  hideMarks(context, scene, left, left + width)
  context.fillStyle = colours.accent
  rounded(context, left, 2, width, 18, 4)
  context.fill()
  context.fillStyle = colours['on-accent']
  context.textBaseline = 'middle'
  context.textAlign = 'left'
  context.fillText(text, left + 7, 11.5)
}

/** Removes the numbers of the scale that the time of the cursor would cover in part. */
function hideMarks(
  context: Context,
  { picture, scale, colours, font }: CursorScene,
  from: number,
  to: number,
): void {
  const step = stepFor(scale, MARK_PX)
  const bold = context.font
  context.font = `11px ${font}`
  context.fillStyle = colours.surface
  for (const at of marksOf(scale, step)) {
    const start = xOf(scale, at) + 4
    const { width } = context.measureText(instantOf(picture, at, step))
    if (start < to && start + width + 3 > from) context.fillRect(start, 2, width + 3, 18)
  }
  context.font = bold
}

/** The lease at the cursor, over the veil: how far it reaches if it is not renewed. */
function drawLeaseNow(context: Context, scene: CursorScene, box: LaneBox): void {
  const { scale, cursor, colours } = scene
  const lease = leaseAt(box.lane, cursor.at)
  if (lease === null) return
  const { leaseTop: top, leaseHeight: height } = box
  const right = scale.left + scale.width + 8
  const x = Math.max(scale.left, xOf(scale, cursor.at))
  const xUntil = Math.min(right, xOf(scale, lease.until))
  const xBelieved = Math.min(right, xOf(scale, lease.believed))
  const inset = height > 10 ? 3 : 1.5
  context.fillStyle = colours.surface
  context.fillRect(x, top - 1, Math.max(xUntil, xBelieved) - x + 2, height + 2)
  if (xUntil > x) {
    context.globalAlpha = 0.5
    context.fillStyle = ownColour(colours, box.place)
    context.fillRect(x, top + inset, xUntil - x, height - 2 * inset)
    context.globalAlpha = 1
  }
  const isWrong = lease.believed > lease.until
  if (isWrong && xBelieved > xUntil) {
    const from = Math.max(x, xUntil)
    context.fillStyle = colours['bad-pale']
    context.fillRect(from, top, xBelieved - from, height)
    drawHatch(context, { x: from, y: top, width: xBelieved - from, height }, { colour: colours.bad, gap: 6 })
  }
  if (xBelieved <= x) return
  context.strokeStyle = isWrong ? colours.bad : colours.text
  context.lineWidth = 1.25
  context.setLineDash([4, 2])
  context.beginPath()
  context.moveTo(x, top)
  context.lineTo(xBelieved, top)
  context.lineTo(xBelieved, top + height)
  context.lineTo(x, top + height)
  context.stroke()
  context.setLineDash([])
}

function drawFlying(context: Context, scene: CursorScene): void {
  const { cursor, colours, picture, selection, hovered, flights } = scene
  for (const flight of flights.after(cursor.moment, cursor.at)) {
    const ends = flightEnds(scene, flight)
    if (ends === null || (flight.isRoutine && !scene.showsRoutine)) continue
    const end = flight.endedAt ?? picture.endsAt
    const share = end === flight.sentAt ? 1 : (cursor.at - flight.sentAt) / (end - flight.sentAt)
    context.fillStyle = ownColour(colours, picture.nodes.indexOf(flight.from))
    context.beginPath()
    context.arc(
      ends.x1 + (ends.x2 - ends.x1) * share,
      ends.y1 + (ends.y2 - ends.y1) * share,
      flight.isRoutine ? 2 : 4,
      0,
      7,
    )
    context.fill()
  }
  const chosen = selection?.type === 'message' ? flights.find(selection.message, selection.copy) : undefined
  for (const flight of [hovered, chosen]) {
    if (flight === null || flight === undefined) continue
    const ends = flightEnds(scene, flight)
    if (ends === null) continue
    context.strokeStyle = colours.text
    context.lineWidth = 2.5
    context.beginPath()
    context.moveTo(ends.x1, ends.y1)
    context.lineTo(ends.x2, ends.y2)
    context.stroke()
    if (flight.lost === null) drawHead(context, ends, colours.text)
  }
}
