/** Maps nodes and moments to page coordinates and text. */
import type { Micros, NodeId } from '../../../core/index.ts'

export type Place = {
  x(node: NodeId): number
  y(at: Micros): number
  /** Distance between lanes. */
  readonly lanePx: number
  /** The x coordinate at which labels may begin. */
  readonly left: number
  /** The x coordinate of the last lane. */
  readonly edge: number
  moment(at: Micros): string
}
