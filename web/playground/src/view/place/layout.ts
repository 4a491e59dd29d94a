/** Where nodes, links and messages are in the place picture. */
import type { NodeId } from '../../../../../src/core/index.ts'
import type { Size } from '../../../../src/parts/hooks.ts'
import type { Flight, Picture } from '../../engine/picture.ts'

export type Point = { readonly x: number; readonly y: number }
export type NodeSpot = Point & { readonly node: NodeId; readonly place: number; readonly radius: number }

/** Between the nodes and the edge: for arcs, and for words where there is room for them. */
const ROOM = 54
const LITTLE_ROOM = 32
const MANY = 12

export function nodeSpots(picture: Picture, { width, height }: Size): readonly NodeSpot[] {
  const count = picture.nodes.length
  const room = count > MANY ? LITTLE_ROOM : ROOM
  const reachX = Math.max(20, width / 2 - room)
  const reachY = Math.max(20, height / 2 - room)
  const nearest = count < 2 ? 200 : 2 * Math.min(reachX, reachY) * Math.sin(Math.PI / count)
  const radius = Math.max(9, Math.min(24, nearest * 0.27))
  return picture.nodes.map((node, place) => {
    const angle = (count === 2 ? Math.PI : -Math.PI / 2) + (place * 2 * Math.PI) / count
    const x = count === 1 ? width / 2 : width / 2 + reachX * Math.cos(angle)
    const y = count === 1 ? height / 2 : height / 2 - 4 + reachY * Math.sin(angle)
    return { node, place, x, y, radius }
  })
}

export const spotOf = (spots: readonly NodeSpot[], node: NodeId): NodeSpot | undefined =>
  spots.find((spot) => spot.node === node)

/** Messages of the two directions keep to their own side of a link. */
const SIDE_PX = 4
/** Where a message is drawn that is lost as it is sent, and where one waits that does not arrive in this run. */
const LOST_AT = 0.3
const LATEST = 0.8

export function flightPoint(
  spots: readonly NodeSpot[],
  flight: Flight,
  at: number,
  endsAt: number,
): Point | null {
  const from = spotOf(spots, flight.from)
  const to = spotOf(spots, flight.to)
  if (from === undefined || to === undefined) return null
  const end = flight.endedAt ?? endsAt
  if (end === flight.sentAt) return along(from, to, LOST_AT)
  const share = (at - flight.sentAt) / (end - flight.sentAt)
  return along(from, to, Math.max(0, Math.min(flight.endedAt === null ? LATEST : 1, share)))
}

/** A point on the way between two nodes, from rim to rim. */
export function along(from: NodeSpot, to: NodeSpot, share: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
  const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length]
  const way = from.radius + share * Math.max(0, length - from.radius - to.radius)
  return { x: from.x + dx * way - dy * SIDE_PX, y: from.y + dy * way + dx * SIDE_PX }
}

export function nodeAt(spots: readonly NodeSpot[], { x, y }: Point): NodeSpot | undefined {
  return spots.find((spot) => Math.hypot(spot.x - x, spot.y - y) <= spot.radius + 6)
}

/** The two nodes of the link at a point. */
export function linkAt(spots: readonly NodeSpot[], point: Point): readonly [NodeSpot, NodeSpot] | null {
  let best: readonly [NodeSpot, NodeSpot] | null = null
  let least = 7
  spots.forEach((from, place) => {
    for (const to of spots.slice(place + 1)) {
      const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
      const way = ((point.x - from.x) * (to.x - from.x) + (point.y - from.y) * (to.y - from.y)) / length
      if (way < from.radius || way > length - to.radius) continue
      const away =
        Math.abs((point.x - from.x) * (to.y - from.y) - (point.y - from.y) * (to.x - from.x)) / length
      if (away < least) [best, least] = [[from, to], away]
    }
  })
  return best
}

/** Nodes inside of a closed line, by counting how often a ray crosses it. */
export function nodesInside(spots: readonly NodeSpot[], outline: readonly Point[]): readonly NodeId[] {
  return spots.filter((spot) => isInside(outline, spot)).map(({ node }) => node)
}

function isInside(outline: readonly Point[], { x, y }: Point): boolean {
  let inside = false
  outline.forEach((a, place) => {
    const b = outline[(place + 1) % outline.length] as Point
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) inside = !inside
  })
  return inside
}

/** The corners of the smallest convex outline of some points, in order (Andrew's monotone chain). */
export function hull(points: readonly Point[]): readonly Point[] {
  const sorted = points.toSorted((a, b) => a.x - b.x || a.y - b.y)
  const half = (list: readonly Point[]): Point[] => {
    const chain: Point[] = []
    for (const point of list) {
      while (chain.length > 1 && turn(chain.at(-2) as Point, chain.at(-1) as Point, point) <= 0) chain.pop()
      chain.push(point)
    }
    return chain.slice(0, -1)
  }
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.toReversed())]
}

const turn = (a: Point, b: Point, c: Point): number => (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
