/** A node of the place picture: its role, its lease and its next timer. */
import type { NodeId } from '../../../../../src/core/index.ts'
import { type Colours, ownColour } from '../colours.ts'
import { timersAt } from '../look-up.ts'
import { type Condition, conditionAt, isDown, wordOf } from '../node-words.ts'
import { drawCross, label, starPath } from '../shapes.ts'
import type { PlaceScene } from './draw.ts'
import type { NodeSpot } from './layout.ts'

type Context = CanvasRenderingContext2D

const FULL = 2 * Math.PI
const NOON = -Math.PI / 2
/** Such a node has not much room around it. */
const SMALL = 11
/** Words below a smaller node would cover the next one: glyphs and the lanes say the same. */
const LEAST_WITH_WORDS = 18

/** The name of a node stands below it if it does not fit inside. */
const isLong = (node: NodeId): boolean => String(node).length > 3

export function drawNode(context: Context, scene: PlaceScene, spot: NodeSpot): void {
  const { picture, cursor, colours, font, selection } = scene
  const { x, y, radius, place } = spot
  const lane = picture.lanes[place]
  if (lane === undefined) return
  const condition = conditionAt(lane, cursor)
  const own = ownColour(colours, place)
  const down = isDown(condition)
  const leads = condition.role?.leads === true && !down
  if (selection?.type === 'node' && selection.node === spot.node) {
    context.fillStyle = colours['accent-pale']
    context.strokeStyle = colours.accent
    context.lineWidth = 1.5
    context.beginPath()
    context.arc(x, y, radius + 20, 0, FULL)
    context.fill()
    context.stroke()
  }
  context.fillStyle = leads ? own : colours.surface
  context.strokeStyle = down ? colours.edge : own
  context.lineWidth = leads ? 2 : 2.5
  context.setLineDash(down ? [3, 4] : condition.role?.leader === null && !leads ? [6, 4] : [])
  context.beginPath()
  context.arc(x, y, radius, 0, FULL)
  context.fill()
  context.stroke()
  context.setLineDash([])
  drawStatus(context, scene, spot, {
    down,
    leads,
    isStalled: condition.stall !== null,
    isLoaded: condition.isLoaded,
  })
  drawArcs(context, scene, spot)
  context.font = `${radius < 14 ? 10 : 11.5}px ${font}`
  if (radius >= LEAST_WITH_WORDS) {
    const isWarned = condition.stall !== null || down || condition.isLoaded
    label(
      context,
      isLong(spot.node) ? longWord(spot.node, condition) : wordOf(condition),
      x,
      y + radius + 27,
      isWarned ? colours.warn : colours.quiet,
      colours.surface,
    )
  }
}

/** A long name leaves room only for what is special about the node. */
function longWord(node: NodeId, condition: Condition): string {
  const isPlain =
    !condition.isLoaded &&
    condition.role?.role === 'follower' &&
    condition.stall === null &&
    !condition.role.leads
  return isPlain ? String(node) : `${node}: ${wordOf(condition)}`
}

function drawStatus(
  context: Context,
  { colours, font }: PlaceScene,
  { x, y, radius, node }: NodeSpot,
  {
    down,
    leads,
    isStalled,
    isLoaded,
  }: {
    readonly down: boolean
    readonly leads: boolean
    readonly isStalled: boolean
    readonly isLoaded: boolean
  },
): void {
  if (down) drawCross(context, x, y, radius * 0.72, colours.edge, 1.5)
  context.font = `680 ${Math.max(10, radius * 0.72)}px ${font}`
  context.fillStyle = leads ? colours['on-accent'] : down ? colours.quiet : colours.text
  const text = isLong(node) ? `${String(node).slice(0, 2)}…` : String(node)
  if (down) label(context, text, x, y + 0.5, colours.quiet, colours.surface)
  else context.fillText(text, x, y + 0.5)
  if (isLoaded && !down) drawLoad(context, x - radius * 0.78, y - radius * 0.78, colours)
  const badge = { x: x + radius * 0.78, y: y - radius * 0.78 }
  if (isStalled) {
    context.fillStyle = colours.warn
    context.beginPath()
    context.arc(badge.x, badge.y, 8, 0, FULL)
    context.fill()
    context.fillStyle = colours.surface
    context.fillRect(badge.x - 3.4, badge.y - 3.6, 2.4, 7.2)
    context.fillRect(badge.x + 1, badge.y - 3.6, 2.4, 7.2)
  } else if (leads) {
    starPath(context, badge.x, badge.y, 8)
    context.fillStyle = colours.surface
    context.strokeStyle = colours.surface
    context.lineWidth = 3
    context.stroke()
    context.fillStyle = colours.text
    context.fill()
  }
}

/** Bars that rise: the node has much to do. */
function drawLoad(context: Context, x: number, y: number, { warn, surface }: Colours): void {
  context.fillStyle = warn
  context.beginPath()
  context.arc(x, y, 8, 0, FULL)
  context.fill()
  context.fillStyle = surface
  for (const bar of [0, 1, 2]) context.fillRect(x - 4.2 + 3 * bar, y + 3 - 2.4 * bar, 2.2, 1.6 + 2.4 * bar)
}

/** The outer arc is the next timer. The two inner ones are the lease: solid in true time, thin as the holder believes. */
function drawArcs(context: Context, { picture, cursor, colours }: PlaceScene, spot: NodeSpot): void {
  const { x, y, radius, place } = spot
  const lane = picture.lanes[place]
  if (lane === undefined) return
  const arc = (reach: number, share: number, colour: string, width: number): void => {
    if (share <= 0) return
    context.strokeStyle = colour
    context.lineWidth = width
    context.beginPath()
    context.arc(x, y, reach, NOON, NOON + FULL * Math.min(1, share))
    context.stroke()
  }
  const { lease } = conditionAt(lane, cursor)
  if (lease !== null) {
    const length = Math.max(lease.until, lease.believed) - lease.from
    const truly = (lease.until - cursor.at) / length
    const believed = (lease.believed - cursor.at) / length
    arc(radius + 6, truly, ownColour(colours, place), 4)
    arc(radius + 10.5, believed, believed > truly + 1e-9 ? colours.bad : colours.text, 1.5)
  }
  const [timer] = timersAt(lane, cursor.at)
  if (timer === undefined) return
  const reach = radius + (radius < SMALL ? 4 : 15)
  arc(reach, 1, colours.line, 1.5)
  arc(reach, (timer.due - cursor.at) / Math.max(1, timer.due - timer.from), colours.quiet, 1.5)
}
