/** A point or a span of time in integer microseconds. Which clock it belongs to is said where it stands. */
export type Micros = number

export function microsOf(ms: number): Micros {
  return Math.round(ms * 1000)
}

export function msOf(micros: Micros): number {
  return micros / 1000
}
