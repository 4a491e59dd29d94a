/** Numbers and lists as guarantee cards show them. */
import { type Micros, msOf, type NodeId } from '../core/index.ts'

/** A bound in milliseconds, rounded up to a hundredth: never less than what was computed. */
export function shownMs(micros: Micros): number {
  return Math.ceil(msOf(micros) * 100) / 100
}

export function hundredth(value: number): number {
  return Math.round(value * 100) / 100
}

const LISTED = 9

export function listedIds(ids: readonly NodeId[]): string {
  return ids.length <= LISTED ? ids.join(', ') : `${ids.slice(0, 3).join(', ')} ... ${ids.at(-1)}`
}
