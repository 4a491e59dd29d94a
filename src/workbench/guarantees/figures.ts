/** Figures of a guarantee card, for any protocol: computed values beside the results of simulations. */
import { type Definition, type Micros, msOf, type PlainObject } from '../../core/index.ts'
import { type PlannedTrial, roundUpMs } from '../../protocols/index.ts'
import { promisedSpecs, type TrialTally } from '../sim/index.ts'
import { addDistributions, type Distribution, EMPTY_DISTRIBUTION, quantile } from '../trace/index.ts'

/** A distribution as it is reported. `none`: how often the event did not happen during the run. */
export type Stats = {
  readonly runs: number
  readonly none: number
  readonly meanMs: number | null
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly maxMs: number | null
}

export type Figure = {
  readonly name: string
  readonly computed: { readonly typicalMs: number | null; readonly worstMs: number }
  /** In worlds with punctual timers, and in worlds with timers as late as allowed. */
  readonly punctual: Stats | null
  readonly late: Stats | null
  readonly exceeded: boolean
}

export type Shape = {
  readonly name: string
  readonly what: string
  /** A leader within this time; 0: the leader stays; "never": none while it lasts; null: nothing is promised. */
  readonly leaderWithinMs: number | 'never' | null
  /** A leader on the side that cannot have one has stopped within this time. */
  readonly stoppedWithinMs: number | null
  readonly leader: Stats
  readonly stopped: Stats
  readonly exceeded: boolean
}

export type SpecLine = { readonly name: string; readonly violations: number; readonly why: string | null }

export function together(all: readonly Distribution[]): Distribution {
  return all.reduce(addDistributions, EMPTY_DISTRIBUTION)
}

export function figure(
  name: string,
  expected: { readonly typical: Micros | null; readonly worst: Micros } | null,
  punctual: Distribution | undefined,
  late: Distribution | undefined,
): readonly Figure[] {
  if (expected === null) return []
  const samples = [punctual, late].filter((each) => each !== undefined && each.count + each.censored > 0)
  if (samples.length === 0) return []
  const { typical, worst } = expected
  return [
    {
      name,
      computed: { typicalMs: typical === null ? null : roundToMs(typical), worstMs: roundUpMs(worst) },
      punctual: punctual === undefined ? null : statsOf(punctual),
      late: late === undefined ? null : statsOf(late),
      exceeded: samples.some((each) => each !== undefined && isBeyond(each, worst)),
    },
  ]
}

function isBeyond({ max, censored }: Distribution, worst: Micros): boolean {
  return max > worst || censored > 0
}

export function shapeOf(
  { name, what, restoredWithin, stoppedWithin }: PlannedTrial,
  tally: TrialTally,
): Shape {
  const isLate =
    restoredWithin === 'never'
      ? tally.restored.count > 0
      : restoredWithin !== null && isBeyond(tally.restored, restoredWithin)
  return {
    name,
    what,
    leaderWithinMs: typeof restoredWithin === 'number' ? roundUpMs(restoredWithin) : restoredWithin,
    stoppedWithinMs: stoppedWithin === null ? null : roundUpMs(stoppedWithin),
    leader: statsOf(tally.restored),
    stopped: statsOf(tally.stopped),
    exceeded: isLate || (stoppedWithin !== null && isBeyond(tally.stopped, stoppedWithin)),
  }
}

export function statsOf(of: Distribution): Stats {
  const ms = (micros: Micros | null): number | null => (micros === null ? null : roundToMs(micros))
  return {
    runs: of.count + of.censored,
    none: of.censored,
    meanMs: of.count === 0 ? null : roundToMs(of.sum / of.count),
    p50Ms: ms(quantile(of, 0.5)),
    p99Ms: ms(quantile(of, 0.99)),
    maxMs: of.count === 0 ? null : msOf(of.max),
  }
}

/** Milliseconds to a hundredth. */
function roundToMs(micros: Micros): number {
  return Math.round(micros / 10) / 100
}

export function specsOf(
  definition: Definition,
  options: PlainObject,
  tallies: readonly TrialTally[],
): readonly SpecLine[] {
  const violations = tallies.flatMap((tally) => tally.violations)
  return promisedSpecs(definition, options).map(({ name }) => {
    const own = violations.filter(({ spec }) => spec === name)
    return { name, violations: own.length, why: own[0] === undefined ? null : own[0].why }
  })
}
