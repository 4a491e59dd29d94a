/**
 * Nodes, links and messages in flight. Click to select; drag from a node to another to select their link; drag around
 * nodes to partition them from the others. The action bar below does the same by keyboard.
 */
import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { type Size, useSize } from '../../../../src/parts/hooks.ts'
import type { Flight, Picture } from '../../engine/picture.ts'
import { Canvas } from '../canvas.tsx'
import { colours } from '../colours.ts'
import { describeNode } from '../node-words.ts'
import {
  act,
  calmCursor,
  canAct,
  cursor,
  flights,
  range,
  selection,
  selectNode,
  showsRoutine,
  store,
} from '../state.ts'
import { drawPlace, type PlaceScene } from './draw.ts'
import { flightPoint, linkAt, type NodeSpot, nodeAt, nodeSpots, nodesInside, type Point } from './layout.ts'

const FONT = 'system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif'
const REACH_PX = 10
/** A lost message stays visible for this share of the time in view. */
const LOST_SHARE = 0.02

/** The line of a drag: from a node, or around nodes. */
const dragged = signal<{ readonly from: NodeSpot | null; readonly line: readonly Point[] } | null>(null)

function sceneOf(picture: Picture, size: Size): PlaceScene | null {
  const theme = colours.value
  if (theme === null) return null
  return {
    picture,
    flights: flights.value,
    spots: nodeSpots(picture, size),
    cursor: cursor.value,
    selection: selection.value,
    colours: theme,
    font: FONT,
    showsRoutine: showsRoutine.value,
    lostFor: (range.value.to - range.value.from) * LOST_SHARE,
  }
}

export function PlacePicture({ picture }: { readonly picture: Picture }) {
  const [ref, size] = useSize()
  const gestures = useGestures(picture, size)
  const draw = (context: CanvasRenderingContext2D, given: Size): void => {
    const scene = sceneOf(picture, given)
    if (scene === null) return
    drawPlace(context, scene)
    drawDrag(context, scene)
  }
  return (
    <div class="place-picture" ref={ref}>
      <div class="place-canvas" {...gestures}>
        <Canvas
          name="place"
          {...size}
          watch={() => [
            cursor.value,
            selection.value,
            colours.value,
            dragged.value,
            range.value,
            showsRoutine.value,
            flights.value,
          ]}
          draw={draw}
        />
      </div>
      <NodeButtons picture={picture} spots={nodeSpots(picture, size)} />
    </div>
  )
}

/** One button per node, for the keyboard and for screen readers; the pointer reaches the canvas. */
function NodeButtons({ picture, spots }: { readonly picture: Picture; readonly spots: readonly NodeSpot[] }) {
  const now = calmCursor.value
  const chosen = selection.value
  return (
    <ul class="node-buttons" aria-label="Nodes">
      {spots.map(({ node, place, x, y, radius }) => {
        const lane = picture.lanes[place]
        return (
          <li key={String(node)}>
            <button
              type="button"
              aria-pressed={chosen?.type === 'node' && chosen.node === node}
              aria-label={lane === undefined ? `Node ${node}` : describeNode(lane, now)}
              style={{
                left: `${x - radius}px`,
                top: `${y - radius}px`,
                width: `${2 * radius}px`,
                height: `${2 * radius}px`,
              }}
              onClick={() => selectNode(node)}
            />
          </li>
        )
      })}
    </ul>
  )
}

function drawDrag(context: CanvasRenderingContext2D, { colours: theme, spots }: PlaceScene): void {
  const held = dragged.value
  const last = held?.line.at(-1)
  if (held === null || last === undefined) return
  context.strokeStyle = theme.accent
  context.lineWidth = 2
  context.setLineDash([5, 4])
  context.beginPath()
  if (held.from !== null) {
    context.moveTo(held.from.x, held.from.y)
    const target = nodeAt(spots, last) ?? last
    context.lineTo(target.x, target.y)
  } else {
    held.line.forEach(({ x, y }) => context.lineTo(x, y))
    context.closePath()
    context.globalAlpha = 0.08
    context.fillStyle = theme.accent
    context.fill()
    context.globalAlpha = 1
  }
  context.stroke()
  context.setLineDash([])
}

function messageAt(scene: PlaceScene, { x, y }: Point): Flight | null {
  let best: Flight | null = null
  let least = REACH_PX
  for (const flight of scene.flights.after(scene.cursor.moment, scene.cursor.at)) {
    const spot =
      flight.isRoutine && !scene.showsRoutine
        ? null
        : flightPoint(scene.spots, flight, scene.cursor.at, scene.picture.endsAt)
    const away = spot === null ? least : Math.hypot(spot.x - x, spot.y - y)
    if (away < least) [best, least] = [flight, away]
  }
  return best
}

function click(scene: PlaceScene, point: Point): void {
  const node = nodeAt(scene.spots, point)
  if (node !== undefined) return selectNode(node.node)
  const flight = messageAt(scene, point)
  if (flight !== null) {
    store().pause()
    return store().select({ type: 'message', message: flight.message, copy: flight.copy })
  }
  const link = linkAt(scene.spots, point)
  store().select(link === null ? null : { type: 'link', from: link[0].node, to: link[1].node })
}

function drop(scene: PlaceScene, from: NodeSpot | null, line: readonly Point[]): void {
  const last = line.at(-1)
  if (from !== null) {
    const to = last === undefined ? undefined : nodeAt(scene.spots, last)
    if (to !== undefined && to.node !== from.node)
      store().select({ type: 'link', from: from.node, to: to.node })
    return
  }
  const inside = nodesInside(scene.spots, line)
  if (!canAct.value || inside.length === 0 || inside.length === scene.spots.length) return
  const outside = scene.spots.map(({ node }) => node).filter((node) => !inside.includes(node))
  act({ partition: [inside, outside] })
}

function useGestures(picture: Picture, size: Size) {
  const start = useRef<Point | null>(null)
  const place = (event: PointerEvent): Point => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }
  return {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return
      start.current = place(event)
      ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
    },
    onPointerMove: (event: PointerEvent): void => {
      const from = start.current
      if (from === null) return
      const point = place(event)
      const held = dragged.value
      if (held !== null) dragged.value = { from: held.from, line: [...held.line, point] }
      else if (Math.hypot(point.x - from.x, point.y - from.y) > 5)
        dragged.value = { from: nodeAt(nodeSpots(picture, size), from) ?? null, line: [from, point] }
    },
    onPointerUp: (event: PointerEvent): void => {
      const scene = sceneOf(picture, size)
      const held = dragged.value
      const point = place(event)
      start.current = null
      dragged.value = null
      if (scene === null) return
      if (held === null) click(scene, point)
      else drop(scene, held.from, held.line)
    },
    onPointerCancel: (): void => {
      start.current = null
      dragged.value = null
    },
  }
}
