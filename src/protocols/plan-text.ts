/** Formats numbers and lists for guarantee cards. */
import { type Micros, msOf, type NodeId } from '../core/index.ts'

/** A bound in milliseconds, rounded up to a hundredth: never below the computed value. */
export function roundUpMs(micros: Micros): number {
  return Math.ceil(msOf(micros) * 100) / 100
}

export function roundToHundredth(value: number): number {
  return Math.round(value * 100) / 100
}

const LISTED = 9

export function formatIds(ids: readonly NodeId[]): string {
  return ids.length <= LISTED ? ids.join(', ') : `${ids.slice(0, 3).join(', ')} ... ${ids.at(-1)}`
}
