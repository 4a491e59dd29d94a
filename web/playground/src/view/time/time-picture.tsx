/** One lane per node, time to the right. Click to go there; drag the scale; scroll to zoom. */
import { useMemo, useRef } from 'preact/hooks'
import { type Size, useSize } from '../../../../src/parts/hooks.ts'
import type { Flight, Picture } from '../../engine/picture.ts'
import { Canvas } from '../canvas.tsx'
import { colours } from '../colours.ts'
import { FlightIndex } from '../look-up.ts'
import { cursor, hovered, panBy, range, selection, showsRoutine, store, zoomBy } from '../state.ts'
import { type BaseScene, drawBase } from './draw-base.ts'
import { drawCursor } from './draw-cursor.ts'
import { flightEnds } from './draw-flights.ts'
import { LaneLabels } from './lane-labels.tsx'
import { boxAt, laneBoxes, RULER_HEIGHT } from './lanes.ts'
import { type TimeScale, timeOf } from './scale.ts'

const FONT = 'system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif'
const WIDE = 560
/** How near the pointer must be to a message. */
const REACH_PX = 6
const STUB_PX = 12

export const labelWidth = (width: number): number => (width < WIDE ? 76 : 112)

function sceneOf(picture: Picture, flights: FlightIndex, { width, height }: Size): BaseScene | null {
  const theme = colours.value
  if (theme === null) return null
  const left = labelWidth(width)
  const scale: TimeScale = { ...range.value, left, width: width - left }
  return {
    picture,
    flights,
    boxes: laneBoxes(picture, height),
    scale,
    colours: theme,
    height,
    font: FONT,
    showsRoutine: showsRoutine.value,
  }
}

/** The parts that stay while the cursor moves, as a finished drawing. */
class BaseLayer {
  #key: readonly unknown[] = []
  readonly #canvas = document.createElement('canvas')

  get(scene: BaseScene, { width, height }: Size): HTMLCanvasElement {
    const { from, to } = scene.scale
    const key = [scene.picture, from, to, scene.colours, scene.showsRoutine, width, height, devicePixelRatio]
    if (key.some((part, place) => part !== this.#key[place])) {
      this.#key = key
      this.#canvas.width = Math.round(width * devicePixelRatio)
      this.#canvas.height = Math.round(height * devicePixelRatio)
      const context = this.#canvas.getContext('2d')
      context?.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
      if (context !== null) drawClipped(context, scene, () => drawBase(context, scene))
    }
    return this.#canvas
  }
}

function drawClipped(
  context: CanvasRenderingContext2D,
  { scale, height }: BaseScene,
  draw: () => void,
): void {
  context.save()
  context.beginPath()
  context.rect(scale.left, 0, scale.width, height)
  context.clip()
  draw()
  context.restore()
}

export type TimePictureProps = {
  readonly picture: Picture
  readonly isOther: boolean
  /** The name of the branch, where two are compared. */
  readonly title: string | null
}

export function TimePicture({ picture, isOther, title }: TimePictureProps) {
  const [ref, size] = useSize()
  const layer = useRef<BaseLayer | null>(null)
  const flights = useMemo(() => new FlightIndex(picture.flights), [picture])
  const draw = (context: CanvasRenderingContext2D, given: Size): void => {
    const scene = sceneOf(picture, flights, given)
    if (scene === null || given.width < 80) return
    layer.current ??= new BaseLayer()
    context.drawImage(layer.current.get(scene, given), 0, 0, given.width, given.height)
    const now = {
      ...scene,
      cursor: cursor.value,
      selection: isOther ? null : selection.value,
      hovered: hovered.value,
    }
    drawClipped(context, scene, () => drawCursor(context, now))
  }
  const gestures = useGestures(picture, flights, size)
  return (
    <div class="time-picture" ref={ref}>
      <div class="time-canvas" {...gestures}>
        <Canvas
          key={picture.protocol}
          name="time"
          {...size}
          watch={() => [
            cursor.value,
            selection.value,
            hovered.value,
            range.value,
            colours.value,
            showsRoutine.value,
          ]}
          draw={draw}
        />
      </div>
      <LaneLabels picture={picture} boxes={laneBoxes(picture, size.height)} width={labelWidth(size.width)} />
      {title === null ? null : (
        <p class="branch-title" title={title}>
          {title}
        </p>
      )}
      {isOther ? null : <Tip />}
    </div>
  )
}

/** What the pointer is at, in words. */
function Tip() {
  const flight = hovered.value
  if (flight === null) return null
  return (
    <p class="tip" aria-hidden="true">
      <b>{flight.kind}</b> from {flight.from} to {flight.to}
      {flight.lost === null ? '' : `, lost (${flight.lost})`}: {flight.text}
    </p>
  )
}

function distanceTo(
  x: number,
  y: number,
  { x1, y1, x2, y2 }: { x1: number; y1: number; x2: number; y2: number },
): number {
  const [dx, dy] = [x2 - x1, y2 - y1]
  const share = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)))
  return Math.hypot(x - x1 - share * dx, y - y1 - share * dy)
}

function flightAt(scene: BaseScene, x: number, y: number): Flight | null {
  let best: Flight | null = null
  let least = REACH_PX
  // A message that is lost as it is sent is drawn a little to the right of its instant.
  const from = timeOf(scene.scale, x - REACH_PX - STUB_PX)
  for (const flight of scene.flights.between(from, timeOf(scene.scale, x + REACH_PX))) {
    const ends = flight.isRoutine && !scene.showsRoutine ? null : flightEnds(scene, flight)
    const away = ends === null ? least : distanceTo(x, y, ends)
    if (away < least) [best, least] = [flight, away]
  }
  return best
}

type Drag = { readonly x: number; readonly isScale: boolean; readonly from: number; hasMoved: boolean }

function useGestures(picture: Picture, flights: FlightIndex, size: Size) {
  const drag = useRef<Drag | null>(null)
  const place = (event: PointerEvent | WheelEvent): readonly [number, number] => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    return [event.clientX - box.left, event.clientY - box.top]
  }
  const timeAt = (scene: BaseScene, x: number): number =>
    Math.round(Math.max(0, Math.min(picture.endsAt, timeOf(scene.scale, x))))
  const click = (scene: BaseScene, x: number, y: number): void => {
    const flight = y < RULER_HEIGHT ? null : flightAt(scene, x, y)
    const box = boxAt(scene.boxes, y)
    store().pause()
    if (flight !== null) store().select({ type: 'message', message: flight.message, copy: flight.copy })
    else if (box !== undefined) store().select({ type: 'node', node: box.lane.node })
    store().seek(timeAt(scene, x))
  }
  const onPointerMove = (event: PointerEvent): void => {
    const scene = sceneOf(picture, flights, size)
    if (scene === null) return
    const [x, y] = place(event)
    const held = drag.current
    if (held === null) {
      hovered.value = y < RULER_HEIGHT ? null : flightAt(scene, x, y)
      return
    }
    if (Math.abs(x - held.x) > 3) held.hasMoved = true
    if (!held.hasMoved) return
    if (held.isScale) store().seek(timeAt(scene, x))
    else {
      const perPx = (scene.scale.to - scene.scale.from) / scene.scale.width
      panBy(held.from - (x - held.x) * perPx - scene.scale.from)
    }
  }
  return {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return
      const [x, y] = place(event)
      drag.current = { x, isScale: y < RULER_HEIGHT, from: range.value.from, hasMoved: false }
      ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
      hovered.value = null
    },
    onPointerMove,
    onPointerUp: (event: PointerEvent): void => {
      const scene = sceneOf(picture, flights, size)
      const held = drag.current
      drag.current = null
      if (scene !== null && held !== null && !held.hasMoved) click(scene, ...place(event))
    },
    onPointerLeave: (): void => {
      hovered.value = null
    },
    onWheel: (event: WheelEvent): void => {
      const scene = sceneOf(picture, flights, size)
      if (scene === null) return
      event.preventDefault()
      const perPx = (scene.scale.to - scene.scale.from) / scene.scale.width
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        panBy((event.deltaX || event.deltaY) * perPx)
      else zoomBy(1.0015 ** event.deltaY, timeAt(scene, place(event)[0]))
    },
  }
}
