/** The place picture: nodes on a ring, links, partitions, messages in flight, timers and leases as arcs. */
import type { NodeId } from '../../../../../src/core/index.ts'
import type { Flight, NetworkState, Picture } from '../../engine/picture.ts'
import type { Cursor, Selection } from '../../model/store.ts'
import { type Colours, ownColour } from '../colours.ts'
import { type FlightIndex, networkAt } from '../look-up.ts'
import { drawCross, label } from '../shapes.ts'
import { drawNode } from './draw-node.ts'
import { along, flightPoint, hull, type NodeSpot, type Point } from './layout.ts'

type Context = CanvasRenderingContext2D

export type PlaceScene = {
  readonly picture: Picture
  readonly flights: FlightIndex
  readonly spots: readonly NodeSpot[]
  readonly cursor: Cursor
  readonly selection: Selection | null
  readonly colours: Colours
  readonly font: string
  readonly showsRoutine: boolean
  /** Lost messages stay visible for this long. */
  readonly lostFor: number
}

/** With more nodes, links that work are not drawn. */
const MOST_LINKED = 12
const MOST_LABELS = 14
const MOST_LOST = 40
/** A smaller node has no words. */
const SMALL = 14
const FULL = 2 * Math.PI

export function drawPlace(context: Context, scene: PlaceScene): void {
  context.textBaseline = 'middle'
  context.textAlign = 'center'
  context.lineCap = 'round'
  const network = networkAt(scene.picture, scene.cursor.at)
  if (network !== null) drawBlocks(context, scene, network)
  drawLinks(context, scene, network)
  for (const spot of scene.spots) drawNode(context, scene, spot)
  drawMessages(context, scene)
}

function drawBlocks(context: Context, { spots, colours, font }: PlaceScene, network: NetworkState): void {
  const middle = mean(spots.map(({ x }) => x))
  network.blocks.forEach((block, place) => {
    const inside = spots.filter(({ node }) => block.includes(node))
    const [first] = inside
    if (first === undefined) return
    const tint = ownColour(colours, place + 4)
    context.lineJoin = 'round'
    const outline = hull(inside)
    const path = (): void => {
      context.beginPath()
      outline.forEach(({ x, y }) => context.lineTo(x, y))
      context.closePath()
    }
    context.save()
    context.globalAlpha = 0.13
    context.strokeStyle = tint
    context.fillStyle = tint
    path()
    context.fill()
    // The rim lies outside of the filled part only: two layers would be darker than one.
    context.rect(0, 0, 10_000, 10_000)
    context.clip('evenodd')
    path()
    context.lineWidth = first.radius < SMALL ? 2 * first.radius + 16 : 2 * first.radius + 52
    context.stroke()
    context.restore()
    context.font = `650 11px ${font}`
    const name = `side ${'ABCDEFGH'[place] ?? place + 1}`
    if (first.radius < SMALL) {
      // There is no room outside of the ring.
      const x = middle + 0.6 * (mean(inside.map((spot) => spot.x)) - middle)
      const y = mean(spots.map((spot) => spot.y))
      label(context, name, x, y + 0.6 * (mean(inside.map((spot) => spot.y)) - y), tint, colours.surface)
      return
    }
    const far = inside.reduce((a, b) => (Math.abs(b.x - middle) > Math.abs(a.x - middle) ? b : a))
    const away = far.x < middle ? -1 : 1
    const y = far.y - far.radius - 22
    const aside = y < 10 ? away * (far.radius + 34) : away * 8
    label(context, name, far.x + aside, Math.max(10, y), tint, colours.surface)
  })
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length)

const key = (from: NodeId, to: NodeId): string => `${from}>${to}`

function drawLinks(context: Context, scene: PlaceScene, network: NetworkState | null): void {
  const { spots, colours, selection } = scene
  const closed = new Set(network?.closed.map(([from, to]) => key(from, to)))
  const slow = new Set(network?.slow.map(([from, to]) => key(from, to)))
  spots.forEach((a, place) => {
    for (const b of spots.slice(place + 1)) {
      const isChosen =
        selection?.type === 'link' &&
        [key(a.node, b.node), key(b.node, a.node)].includes(key(selection.from, selection.to))
      const there = closed.has(key(a.node, b.node))
      const back = closed.has(key(b.node, a.node))
      const isSlow = slow.has(key(a.node, b.node)) || slow.has(key(b.node, a.node))
      // The sides of a partition say it already.
      const isHurt = isSlow || ((there || back) && network?.blocks.length === 0)
      if (spots.length > MOST_LINKED && !isChosen && !isHurt) continue
      drawLink(context, scene, [a, b], { there, back, isSlow, isChosen })
    }
  })
  context.setLineDash([])
  context.strokeStyle = colours.line
}

type LinkLook = {
  readonly there: boolean
  readonly back: boolean
  readonly isSlow: boolean
  readonly isChosen: boolean
}

function drawLink(
  context: Context,
  { colours, font }: PlaceScene,
  [a, b]: readonly [NodeSpot, NodeSpot],
  { there, back, isSlow, isChosen }: LinkLook,
): void {
  const isCut = there && back
  context.strokeStyle = isChosen ? colours.accent : isCut ? colours.edge : colours.line
  context.lineWidth = isChosen ? 3 : 1.25
  context.setLineDash(isCut ? [2, 6] : isSlow ? [8, 5] : [])
  context.beginPath()
  context.moveTo(a.x, a.y)
  context.lineTo(b.x, b.y)
  context.stroke()
  context.setLineDash([])
  if (isCut) drawCross(context, (a.x + b.x) / 2, (a.y + b.y) / 2, 5, colours.bad, 2)
  else if (there) drawCross(context, ...xy(along(a, b, 0.72)), 4.5, colours.bad, 2)
  else if (back) drawCross(context, ...xy(along(b, a, 0.72)), 4.5, colours.bad, 2)
  if (!isSlow) return
  context.font = `11px ${font}`
  label(context, 'slow', (a.x + b.x) / 2, (a.y + b.y) / 2, colours.warn, colours.surface)
}

const xy = ({ x, y }: Point): readonly [number, number] => [x, y]

function drawMessages(context: Context, scene: PlaceScene): void {
  const { flights, cursor, spots, picture, selection, colours, font, showsRoutine } = scene
  const flying = flights.after(cursor.moment, cursor.at)
  const events = flying.filter(({ isRoutine }) => !isRoutine)
  context.font = `11px ${font}`
  for (const flight of flying) {
    if (flight.isRoutine && !showsRoutine) continue
    const point = flightPoint(spots, flight, cursor.at, picture.endsAt)
    if (point === null) continue
    const isChosen =
      selection?.type === 'message' && selection.message === flight.message && selection.copy === flight.copy
    drawMessage(context, scene, flight, point, isChosen)
    if (!flight.isRoutine && (events.length <= MOST_LABELS || isChosen))
      label(context, flight.kind, point.x, point.y - 11, colours.text, colours.surface)
  }
  drawLost(context, scene)
}

/** Messages that were lost a short while ago fade where they were lost. */
function drawLost(
  context: Context,
  { flights, cursor, spots, picture, colours, showsRoutine, lostFor }: PlaceScene,
): void {
  const lost = flights
    .between(cursor.at - lostFor, cursor.at)
    .filter(
      ({ lost: why, endedAt, isRoutine }) =>
        why !== null && endedAt !== null && endedAt <= cursor.at && (showsRoutine || !isRoutine),
    )
  for (const flight of lost.slice(-MOST_LOST)) {
    const endedAt = flight.endedAt ?? 0
    const point = flightPoint(spots, flight, endedAt, picture.endsAt)
    if (point === null) continue
    context.globalAlpha = (flight.isRoutine ? 0.5 : 1) * (1 - (cursor.at - endedAt) / (lostFor * 1.2))
    drawCross(context, point.x, point.y, flight.isRoutine ? 3 : 4.5, colours.bad, flight.isRoutine ? 1.25 : 2)
  }
  context.globalAlpha = 1
}

function drawMessage(
  context: Context,
  { colours, picture }: PlaceScene,
  { from, isRoutine, copy }: Flight,
  { x, y }: Point,
  isChosen: boolean,
): void {
  const own = ownColour(colours, picture.nodes.indexOf(from))
  context.fillStyle = isRoutine ? colours.quiet : own
  context.beginPath()
  context.arc(x, y, isRoutine ? 2.25 : 5, 0, FULL)
  context.fill()
  if (copy === 0 && !isChosen) return
  context.strokeStyle = isChosen ? colours.text : own
  context.lineWidth = isChosen ? 2.5 : 1
  context.beginPath()
  context.arc(x, y, 8, 0, FULL)
  context.stroke()
}
