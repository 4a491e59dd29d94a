/** An instant or a duration in integer microseconds. Each use says which clock an instant belongs to. */
export type Micros = number

export function microsOf(ms: number): Micros {
  return Math.round(ms * 1000)
}

export function msOf(micros: Micros): number {
  return micros / 1000
}
