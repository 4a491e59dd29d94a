/** What a timed world reports, and the error that ends a runaway run. */
import { type Micros, msOf } from '../../core/index.ts'
import type { RecordHook, RunInspector } from '../scenario/options.ts'
import type { Observation } from '../trace/index.ts'

/** Bound on the steps of one run. A protocol that exceeds it is flooding itself. */
export const MOST_STEPS = 500_000_000

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

export function stopRunaway(maxSteps: number, now: Micros): never {
  throw new RunawayRunError(
    `stopped after ${maxSteps} steps at ${msOf(now)} ms: the nodes never come to rest`,
  )
}
