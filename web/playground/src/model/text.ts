/** Small pieces of text that several parts of the model write. */
import type { Micros } from '../../../../src/core/index.ts'

/** An instant or a duration: `850 ms`, `12.5 ms`, `1.25 s`. */
export function timeText(micros: Micros): string {
  const ms = micros / 1000
  if (Math.abs(ms) >= 1000) return `${roundTo(ms / 1000, 3)} s`
  return `${roundTo(ms, 3)} ms`
}

function roundTo(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)))
}

/** `1, 2 and 3`. */
export function listText(items: readonly (string | number)[]): string {
  if (items.length < 2) return items.join('')
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
