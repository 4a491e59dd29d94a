/** Why something happened: the causal chain of a moment. */
import { causesOf } from '../../../../src/workbench/trace/causes.ts'
import type { Cause } from './picture.ts'
import type { RecordedRun } from './recorded-run.ts'

export function causesIn({ header, records, definition }: RecordedRun, moment: number): readonly Cause[] {
  return causesOf({ header, records }, definition, moment).map(({ record, ...words }) => ({
    moment: record,
    ...words,
  }))
}
