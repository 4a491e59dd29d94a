/** Simulates a planned configuration with all of its faults. */
import type { Plan, TrialPlan } from '../../protocols/index.ts'
import { type Measured, measuredIn } from '../../workbench/guarantees/card.ts'
import { steadyState } from '../../workbench/sim/index.ts'
import { runTrials } from '../parallel/trials.ts'
import type { Planned } from './config.ts'

/** Null when the signal was aborted before the first runs were completed. */
export async function measure(
  { definition, asked, options }: Plan & Planned,
  described: TrialPlan,
  threads: number,
  signal: AbortSignal,
): Promise<Measured | null> {
  const source = { protocol: definition.name, asked, options }
  const tallies = await runTrials(source, described.trials, threads, signal)
  if (signal.aborted && tallies.every(({ runs }) => runs === 0)) return null
  const steady = steadyState(definition, described.steady, 1)
  return measuredIn(described, { definition, options, seeds: asked.seeds, tallies, steady })
}
