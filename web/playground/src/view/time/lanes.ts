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
const MOST_LANE = 190
const MOST_PLAIN = 150
const CLOCK_ROW = 26
const ROOMY = 56
/** A lane with leases is this much higher than one without. */
const LEASE_WEIGHT = 1.7

export function laneBoxes(picture: Picture, height: number): readonly LaneBox[] {
  const weights = picture.lanes.map(({ leases }) => (leases.length > 0 ? LEASE_WEIGHT : 1))
  const total = Math.max(
    1,
    weights.reduce((sum, each) => sum + each, 0),
  )
  const most = weights.includes(LEASE_WEIGHT) ? MOST_LANE / LEASE_WEIGHT : MOST_PLAIN
  const unit = Math.min(most, (height - RULER_HEIGHT - 4) / total)
  let top = RULER_HEIGHT
  return picture.lanes.map((lane, place) => {
    const box = boxOf(lane, place, top, unit * (weights[place] ?? 1))
    top += box.height
    return box
  })
}

function boxOf(lane: Lane, place: number, top: number, height: number): LaneBox {
  const isRoomy = height >= ROOMY
  const clock = isRoomy ? CLOCK_ROW : 0
  const hasLeases = lane.leases.length > 0
  const leaseHeight = Math.max(5, Math.min(38, (height - clock) * 0.36))
  const y = top + (hasLeases ? Math.max(6, (height - clock - leaseHeight) * 0.4) : (height - clock) / 2)
  const leaseTop = y + Math.max(4, Math.min(11, height * 0.1))
  const clockTop = isRoomy ? top + height - CLOCK_ROW - 1 : null
  return { lane, place, top, height, y, leaseTop, leaseHeight, clockTop }
}

export function boxOfNode(boxes: readonly LaneBox[], node: NodeId): LaneBox | undefined {
  return boxes.find(({ lane }) => lane.node === node)
}

export function boxAt(boxes: readonly LaneBox[], y: number): LaneBox | undefined {
  return boxes.find(({ top, height }) => y >= top && y < top + height)
}
