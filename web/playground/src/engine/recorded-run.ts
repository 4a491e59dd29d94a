/** A run as the session keeps it: the trace, and how it was judged. Pictures, inspections and causes derive from it. */
import type { Definition, Micros, View } from '../../../../src/core/index.ts'
import type { Scenario } from '../../../../src/workbench/scenario/index.ts'
import type { TraceHeader, TraceRecord } from '../../../../src/workbench/trace/index.ts'
import type { Measurements } from './measurements.ts'
import type { Picture, Verdict } from './picture.ts'

export type RecordedRun = {
  readonly definition: Definition
  readonly header: TraceHeader
  readonly records: readonly TraceRecord[]
  /** Null for a trace that was opened: the network it began with is not known. */
  readonly scenario: Scenario | null
  readonly isUntimed: boolean
  readonly endsAt: Micros
  readonly cutShort: string | null
  readonly verdicts: readonly Verdict[]
  readonly goals: Picture['goals']
  /** Views that the records do not contain, by the index of the record: of nodes whose recording begins late. */
  readonly views: ReadonlyMap<number, View>
  /** Null for a trace that was opened: clocks, timers and the network are derived from it. */
  readonly measured: Measurements | null
}
