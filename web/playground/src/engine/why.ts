/** Why something happened: the causal chain of a moment. */
import type { Cause } from './picture.ts'
import type { RecordedRun } from './recorded-run.ts'

export function causesIn(_run: RecordedRun, _moment: number): readonly Cause[] {
  return []
}
