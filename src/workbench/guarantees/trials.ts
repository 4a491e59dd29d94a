/** Runs the trials of a guarantee card: each simulates one configuration many times, with one fault at a random moment. */
import type { Definition } from '../../core/index.ts'
import type { PlannedTrial } from '../../protocols/index.ts'
import { addTrials, EMPTY_TRIALS, runTrial, type TrialTally } from '../sim/index.ts'

export function runPlanTrial(
  definition: Definition,
  { settings, fault }: PlannedTrial,
  first: number,
  last: number,
): TrialTally {
  let tally = EMPTY_TRIALS
  for (let seed = first; seed <= last; seed++) {
    tally = addTrials(tally, runTrial(definition, settings, fault, seed))
  }
  return tally
}

/** The number of seeds of a trial. */
export function runsOf({ share }: Pick<PlannedTrial, 'share'>, seeds: number): number {
  return Math.max(1, Math.min(seeds, Math.ceil(seeds * share)))
}
