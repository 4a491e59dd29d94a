/** Where the lanes are, and which parts there is room for. */
import type { NodeId } from '../../../../../src/core/index.ts'
import type { Lane, Picture } from '../../engine/picture.ts'

export type LaneBox = {
  readonly lane: Lane
  /** The place of the node in the picture: it decides the colour. */
  readonly place: number
  readonly top: number
  readonly height: number
  /** Messages start and end here. */
  readonly y: number
  readonly leaseTop: number
  readonly leaseHeight: number
  /** The top of the row that compares the node's clock with true time; null if there is no room. */
  readonly clockTop: number | null
}

/** The height of the scale above the lanes, and of the row of events in it. */
export const RULER_HEIGHT = 42
const MOST_LANE = 132
const CLOCK_ROW = 20
const ROOMY = 62

export function laneBoxes(picture: Picture, height: number): readonly LaneBox[] {
  const count = Math.max(1, picture.lanes.length)
  const laneHeight = Math.min(MOST_LANE, (height - RULER_HEIGHT - 4) / count)
  return picture.lanes.map((lane, place) => boxOf(lane, place, laneHeight))
}

function boxOf(lane: Lane, place: number, height: number): LaneBox {
  const top = RULER_HEIGHT + place * height
  const isRoomy = height >= ROOMY
  const clock = isRoomy ? CLOCK_ROW : 0
  const leaseHeight = Math.max(5, Math.min(24, (height - clock) * 0.3))
  const y = top + Math.max(6, (height - clock - leaseHeight) * 0.42)
  const leaseTop = y + Math.max(4, Math.min(12, height * 0.1))
  return {
    lane,
    place,
    top,
    height,
    y,
    leaseTop,
    leaseHeight,
    clockTop: isRoomy ? top + height - CLOCK_ROW - 2 : null,
  }
}

export function boxOfNode(boxes: readonly LaneBox[], node: NodeId): LaneBox | undefined {
  return boxes.find(({ lane }) => lane.node === node)
}

export function boxAt(boxes: readonly LaneBox[], y: number): LaneBox | undefined {
  return boxes.find(({ top, height }) => y >= top && y < top + height)
}
