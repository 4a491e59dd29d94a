/** What a timed world reports, and the error that ends a runaway run. */
import type { RecordHook, RunInspector } from '../scenario/options.ts'
import type { Observation } from '../trace/index.ts'

export type WorldHooks = {
  observe(seen: Observation): void
  /** Null if no trace is wanted: then no records are built. */
  readonly record: RecordHook | null
  readonly inspect?: RunInspector | null
  /** A run with more steps is a runaway; 500 million by default. */
  readonly maxSteps?: number
}

export class RunawayRunError extends Error {
  override readonly name = 'RunawayRunError'
  readonly code = 'ERR_CONCLAVE_RUNAWAY_RUN'
}
