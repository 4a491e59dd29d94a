/**
 * The guarantee card: values that a protocol computes from its constants, beside measurements in simulated worlds.
 * Measurements that exceed their bound are marked. `conclave plan --json` prints it.
 */
import type { Definition, PlainObject } from '../../core/index.ts'
import type { LoadCard, MeasuredIn, PlannedTrial, TrialPlan } from '../../protocols/index.ts'
import { EMPTY_TRIALS, type SteadyState, type TrialTally } from '../sim/index.ts'
import type { Distribution } from '../trace/index.ts'
import { type Figure, figure, type Shape, type SpecLine, shapeOf, specsOf, together } from './figures.ts'

/** The measurements, shown beside the description. */
export type Measured = {
  readonly runs: number
  /** Runs in which no node led although no fault had happened yet. */
  readonly idle: number
  readonly figures: readonly Figure[]
  readonly shapes: readonly Shape[]
  readonly load: LoadCard
  readonly specs: readonly SpecLine[]
  /** All violations of computed bounds; empty when there are none. */
  readonly exceeded: readonly string[]
}

export type Run = {
  readonly definition: Definition
  readonly options: PlainObject
  readonly seeds: number
  /** In the order of the trials. */
  readonly tallies: readonly TrialTally[]
  readonly steady: SteadyState
}

export function measuredIn(plan: TrialPlan, { definition, options, tallies, steady }: Run): Measured {
  const { trials } = plan
  const figures = plan.figures.flatMap(({ name, computed, usual, worst }) =>
    figure(name, computed, samples(usual, trials, tallies), samples(worst, trials, tallies)),
  )
  const shapes = trials.flatMap((trial, index) =>
    trial.share === 1 ? [] : [shapeOf(trial, tallies[index] ?? EMPTY_TRIALS)],
  )
  const load = plan.load.measure(steady)
  const specs = specsOf(definition, options, tallies)
  const idle = tallies.reduce((sum, tally) => sum + tally.idle, 0)
  return {
    runs: tallies.reduce((sum, { runs }) => sum + runs, 0),
    idle,
    figures,
    shapes,
    load,
    specs,
    exceeded: [
      ...(idle > 0 && !plan.mayBeIdle ? ['no leader to begin with'] : []),
      ...[...figures, ...shapes].flatMap(({ name, exceeded }) => (exceeded ? [name] : [])),
      ...load.exceeded,
      ...specs.flatMap(({ name, violations }) => (violations > 0 ? [name] : [])),
    ],
  }
}

/** Undefined if none of the trials was run. */
function samples(
  where: MeasuredIn | null,
  trials: readonly PlannedTrial[],
  tallies: readonly TrialTally[],
): Distribution | undefined {
  if (where === null) return undefined
  const { of } = where
  const found = trials.flatMap(({ name }, index) =>
    where.trials.includes(name) ? [(tallies[index] ?? EMPTY_TRIALS)[of]] : [],
  )
  return found.length === 0 ? undefined : together(found)
}

/** The card as one object. */
export function cardOf(plan: TrialPlan, measured: Measured, seeds: number): object {
  const { runs, idle, figures, shapes, load, specs, exceeded } = measured
  return {
    ...plan.card,
    seeds,
    runs,
    idle,
    figures,
    shapes,
    [plan.load.field]: load.card,
    tolerance: plan.tolerance,
    specs,
    exceeded,
  }
}
