/** Campaigns: draws one scenario per seed, runs it and tallies the verdicts. */
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
  /** A smaller scenario with the same violation; null after the first few violations. */
  readonly shrunk: Scenario | null
}

/** The result of a range of seeds. Tallies add up. */
export type CampaignTally = {
  readonly seeds: number
  readonly steps: number
  /** An integer, so that the sum does not depend on the order of addition. */
  readonly virtualMicros: Micros
  readonly violations: readonly SeedViolation[]
  readonly goals: readonly GoalCount[]
  /** How often each specification was judged; 0 means that the campaign says nothing about it. */
  readonly judged: { readonly [spec: string]: number }
  /** Quality of service of the failure detectors; null if the protocol has none. */
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

/** Replace the specifications and goals that the protocol promises. */
export type CampaignOptions = Pick<RunOptions, 'specs' | 'goals'> & {
  /** How an exception in a step is described; by default by its name and message. */
  readonly describeError?: (error: Error) => string
}

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
    const why = watching.describeError?.(report) ?? `${report.name}: ${report.message}`
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

/** An exception in a step is a finding of its seed, like a violation. It does not end the campaign. */
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
