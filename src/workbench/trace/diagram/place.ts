/** Where a node and a moment are on the page, and what the moment is called. */
import type { Micros, NodeId } from '../../../core/index.ts'

export type Place = {
  x(node: NodeId): number
  y(at: Micros): number
  /** From lane to lane. */
  readonly lanePx: number
  /** The last lane. */
  readonly edge: number
  moment(at: Micros): string
}
