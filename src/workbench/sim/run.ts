/**
 * Runs one scenario and reports. Deterministic: the same scenario gives the same report and the same trace.
 */
import { type Definition, microsOf, msOf, type NodeId } from '../../core/index.ts'
import { EpochWinners } from '../scenario/epoch-winners.ts'
import { factsOf, judgedOptions, promisedGoals, promisedSpecs, type RunOptions } from '../scenario/options.ts'
import {
  CRASHED,
  countOf,
  type NodeReport,
  type Report,
  type Snapshot,
  sharedReport,
  snapshot,
} from '../scenario/report.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { TermRecorder } from '../scenario/terms.ts'
import { monitor, Watch } from '../specs/index.ts'
import type { TraceHeader } from '../trace/index.ts'
import { runSchedule } from '../untimed/schedule.ts'
import { World } from './world.ts'

export function traceHeader(scenario: Scenario): TraceHeader {
  const { protocol, nodes, options, nodeOptions, seed } = scenario
  return { trace: 1, protocol, nodes, options, seed, ...(nodeOptions === undefined ? {} : { nodeOptions }) }
}

/** Runs a scenario in the timed world, or its schedule in the untimed world. */
export function runScenario(definition: Definition, scenario: Scenario, options: RunOptions = {}): Report {
  const { schedule } = scenario
  return schedule === null
    ? runTimed(definition, scenario, options)
    : runSchedule(definition, { ...scenario, schedule }, options)
}

function runTimed(definition: Definition, scenario: Scenario, options: RunOptions): Report {
  const facts = factsOf(definition, scenario.nodes, judgedOptions(definition, scenario).slowest)
  const specs = options.specs ?? promisedSpecs(definition, scenario.options)
  const goals = options.goals ?? promisedGoals(definition, scenario.options)
  const watch = new Watch(monitor(specs, goals, facts))
  const terms = new TermRecorder()
  const epochWinners = new EpochWinners()
  const world = new World(
    definition,
    scenario,
    {
      observe(seen) {
        watch.observe(seen)
        terms.observe(seen)
        epochWinners.observe(seen)
        options.observe?.(seen)
      },
      record: options.record ?? null,
      inspect: options.inspect ?? null,
    },
    options.strict ?? false,
  )
  const checkpoints: [string, Snapshot][] = []
  for (const atMs of scenario.checkpointsMs.toSorted((a, b) => a - b)) {
    world.run(microsOf(atMs))
    checkpoints.push([String(atMs), takeSnapshot(world, definition, scenario.nodes)])
  }
  world.run(microsOf(scenario.untilMs))
  world.finish()
  return {
    protocol: scenario.protocol,
    seed: scenario.seed,
    endedAtMs: scenario.untilMs,
    ...takeSnapshot(world, definition, scenario.nodes),
    ...sharedReport(definition, scenario.nodes, world.registers, epochWinners),
    leaderships: terms.list(),
    checkpoints: Object.fromEntries(checkpoints),
    specs: watch.verdicts(),
    goals: watch.goals(),
    steps: world.steps,
  }
}

function takeSnapshot(world: World, definition: Definition, nodes: readonly NodeId[]): Snapshot {
  const reports = nodes.map((id) => [id, nodeReport(world, id)] as const)
  const sentOf = (kind: string) => world.sentOf(kind)
  return snapshot(reports, countOf(definition.kinds, sentOf), countOf(definition.linkKinds, sentOf))
}

function nodeReport(world: World, id: NodeId): NodeReport {
  const standing = world.status(id)
  if (standing === null) return CRASHED
  const { view, until } = standing
  return {
    up: true,
    role: view.role,
    leader: view.leader,
    token: view.token,
    members: view.members,
    untilMs: until === null ? null : msOf(until),
    ...view.detail,
  }
}
