/** Many seeds: each one a scenario drawn from it, run, and judged. */
import { type Definition, type Micros, microsOf } from '../../core/index.ts'
import type { RunOptions } from '../scenario/options.ts'
import type { Scenario } from '../scenario/scenario.ts'
import type { GoalCount, SpecVerdict } from '../specs/index.ts'
import { addQos, EMPTY_QOS, type QosTally, QosWatch } from '../trace/index.ts'
import { runScenario } from './run.ts'
import { NO_ERROR, shrink } from './shrink.ts'

export type SeedViolation = {
  readonly seed: number
  readonly spec: string
  readonly why: string
  /** A smaller scenario that still violates it; null beyond the first few, which are enough to read. */
  readonly shrunk: Scenario | null
}

/** What a range of seeds came to; ranges add up. */
export type CampaignTally = {
  readonly seeds: number
  readonly steps: number
  /** Whole, so that the order of adding up does not show in the sum. */
  readonly virtualMicros: Micros
  readonly violations: readonly SeedViolation[]
  readonly goals: readonly GoalCount[]
  /** How often each specification was judged; 0 means that the campaign says nothing about it. */
  readonly judged: { readonly [spec: string]: number }
  /** How well failures were detected; null where nobody watches anybody. */
  readonly qos: QosTally | null
}

export const EMPTY_TALLY: CampaignTally = {
  seeds: 0,
  steps: 0,
  virtualMicros: 0,
  violations: [],
  goals: [],
  judged: {},
  qos: null,
}

/** What is watched, where it is not what the protocol promises. */
export type CampaignOptions = Pick<RunOptions, 'specs' | 'goals'>

export function runSeed(
  definition: Definition,
  draw: (seed: number) => Scenario,
  seed: number,
  watching: CampaignOptions = {},
): CampaignTally {
  const scenario = draw(seed)
  const detectors = new QosWatch()
  const report = attempt(() =>
    runScenario(definition, scenario, { ...watching, observe: (seen) => detectors.observe(seen) }),
  )
  if (report instanceof Error) {
    const why = `${report.name}: ${report.message}`
    return { ...EMPTY_TALLY, seeds: 1, violations: [{ seed, spec: NO_ERROR, why, shrunk: null }] }
  }
  const violated = report.specs.filter((spec) => spec.verdict === 'violated')
  return {
    seeds: 1,
    steps: report.steps,
    virtualMicros: microsOf(scenario.untilMs),
    violations: violated.map(({ name, why }) => ({ seed, spec: name, why, shrunk: null })),
    goals: report.goals,
    judged: Object.fromEntries(report.specs.map((spec) => [spec.name, timesJudged(spec)])),
    qos: detectors
      .finish(microsOf(report.endedAtMs))
      .reduce<QosTally | null>((sum, { tally }) => addQos(sum ?? EMPTY_QOS, tally), null),
  }
}

function timesJudged(spec: SpecVerdict): number {
  if (spec.verdict === 'vacuous') return 0
  return spec.verdict === 'held' ? spec.judged : 1
}

/** An error in a step is the finding of its seed, like a violation; it must not end the campaign. */
function attempt<T>(run: () => T): T | Error {
  try {
    return run()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

export function shrinkViolation(
  definition: Definition,
  draw: (seed: number) => Scenario,
  violation: SeedViolation,
  watching: CampaignOptions = {},
): SeedViolation {
  return { ...violation, shrunk: shrink(definition, draw(violation.seed), violation.spec, watching) }
}

export function addTallies(a: CampaignTally, b: CampaignTally): CampaignTally {
  const names = [...new Set([...a.goals, ...b.goals].map(({ name }) => name))]
  const countIn = (goals: readonly GoalCount[], name: string): number =>
    goals.find((goal) => goal.name === name)?.count ?? 0
  const judged: { [spec: string]: number } = { ...a.judged }
  for (const [spec, count] of Object.entries(b.judged)) judged[spec] = (judged[spec] ?? 0) + count
  return {
    seeds: a.seeds + b.seeds,
    steps: a.steps + b.steps,
    virtualMicros: a.virtualMicros + b.virtualMicros,
    violations: [...a.violations, ...b.violations].sort((x, y) => x.seed - y.seed),
    goals: names.map((name) => {
      const count = countIn(a.goals, name) + countIn(b.goals, name)
      return { name, reached: count > 0, count }
    }),
    judged,
    qos: a.qos === null || b.qos === null ? (a.qos ?? b.qos) : addQos(a.qos, b.qos),
  }
}
