/** Finds the first difference between two traces. */
import { canonical, type Plain } from '../../core/index.ts'
import type { Trace } from './ndjson.ts'

export type TraceDifference = { readonly line: number; readonly left: Plain; readonly right: Plain }

/** The first line that differs (null: the line is missing), or null if the traces are equal. */
export function diffTraces(a: Trace, b: Trace): TraceDifference | null {
  const left: readonly Plain[] = [a.header, ...a.records]
  const right: readonly Plain[] = [b.header, ...b.records]
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const ours = left[index] ?? null
    const theirs = right[index] ?? null
    if (canonical(ours) !== canonical(theirs)) return { line: index + 1, left: ours, right: theirs }
  }
  return null
}
