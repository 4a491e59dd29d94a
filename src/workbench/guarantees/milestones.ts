/**
 * The guarantee card of a protocol that describes its runs as scenarios: the time of each milestone after the fault.
 */
import type { Definition } from '../../core/index.ts'
import type { Milestone, MilestonePlan } from '../../protocols/index.ts'
import { parseScenario, runScenario } from '../sim/index.ts'

export type MilestoneRow = {
  readonly name: string
  readonly typical: number
  readonly worst: number
  readonly runs: number
  readonly median: number
  readonly most: number
  readonly exceeded: boolean
}

export type MeasuredMilestones = {
  readonly rows: readonly MilestoneRow[]
  /** Messages per pair and second while nothing happens. */
  readonly idle: number
  /** Runs in which a specification was violated. */
  readonly violations: number
  readonly isKept: boolean
}

/** The clocks of simulated nodes drift, so a rate may be off by this much. */
const RATE_TOLERANCE = 1.001

/** By output: milliseconds from the fault to the last occurrence; absent when there was none. */
type Times = { readonly [output: string]: number }
type Outcome = { readonly times: Times; readonly isViolated: boolean }

export function runMilestones(definition: Definition, plan: MilestonePlan): MeasuredMilestones {
  const outcomes = Array.from({ length: plan.seeds }, (_, place) => outcomeOf(definition, plan, place + 1))
  const rows = plan.milestones.map((milestone) =>
    rowOf(
      milestone,
      outcomes.map(({ times }) => times[milestone.output] ?? 0),
    ),
  )
  const idle = idleRate(definition, plan)
  const violations = outcomes.filter(({ isViolated }) => isViolated).length
  const isKept =
    violations === 0 && rows.every(({ exceeded }) => !exceeded) && idle <= plan.idle.most * RATE_TOLERANCE
  return { rows, idle, violations, isKept }
}

function outcomeOf(definition: Definition, plan: MilestonePlan, seed: number): Outcome {
  const { scenario, faultMs } = plan.run(seed)
  const times: { [output: string]: number } = {}
  const { specs } = runScenario(definition, parseScenario(scenario, lookupFor(definition)), {
    observe(seen) {
      if (seen.type === 'output' && seen.at >= faultMs * 1000)
        times[seen.event.type] = seen.at / 1000 - faultMs
    },
  })
  return { times, isViolated: specs.some(({ verdict }) => verdict === 'violated') }
}

const lookupFor = (definition: Definition) => ({ names: [definition.name], find: () => definition })

/** `times` in milliseconds; 0 stands for a milestone that never came. */
export function rowOf({ name, computed }: Milestone, times: readonly number[]): MilestoneRow {
  const sorted = times.toSorted((a, b) => a - b)
  const most = sorted.at(-1) ?? 0
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  const exceeded = most > computed.worst || sorted[0] === 0
  return { name, ...computed, runs: sorted.length, median, most, exceeded }
}

function idleRate(definition: Definition, { idle: { scenario, betweenMs, pairs } }: MilestonePlan): number {
  const sent = (untilMs: number): number =>
    runScenario(definition, parseScenario(scenario(untilMs), lookupFor(definition)), {}).linkMessages.total
  const [from, until] = betweenMs
  return (sent(until) - sent(from)) / ((until - from) / 1000) / pairs
}
