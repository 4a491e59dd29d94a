/**
 * Runs a schedule: performs exactly the listed steps in the untimed world. Each step counts as one
 * millisecond, so that traces and reports have the usual form.
 */
import { type Definition, present, type View } from '../../core/index.ts'
import { EpochWinners } from '../scenario/epoch-winners.ts'
import { factsOf, promisedGoals, promisedSpecs, type RunOptions } from '../scenario/options.ts'
import { InvalidScenarioError } from '../scenario/parse.ts'
import { CRASHED, countOf, type NodeReport, type Report, sharedReport, snapshot } from '../scenario/report.ts'
import type { Scenario, ScheduleStep } from '../scenario/scenario.ts'
import { TermRecorder } from '../scenario/terms.ts'
import { monitor, Watch } from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import { type Cut, isCut } from './closed-links.ts'
import { DEFAULT_LINK_HISTORY } from './link-ends.ts'
import { ScheduleTrace } from './schedule-trace.ts'
import { UntimedRules, type UntimedWorld } from './world.ts'

const STEP_MICROS = 1000

export function runSchedule(
  definition: Definition,
  scenario: Scenario & { readonly schedule: readonly ScheduleStep[] },
  options: RunOptions = {},
): Report {
  const { nodes, schedule } = scenario
  const order = scenario.network.fifo ? 'fifo' : 'any'
  const { slack = DEFAULT_LINK_HISTORY.slack, labelled = DEFAULT_LINK_HISTORY.labelled } = scenario.network
  const history = { slack, labelled }
  const rules = new UntimedRules(definition, nodes, scenario.options, order, options.strict ?? false, history)
  const specs = options.specs ?? promisedSpecs(definition, scenario.options)
  const speaksOfStates = specs.some(({ when }) => when === 'state')
  const goals = options.goals ?? promisedGoals(definition, scenario.options)
  const watch = new Watch(monitor(specs, goals, factsOf(definition, nodes, scenario.options)))
  const terms = new TermRecorder()
  const epochWinners = new EpochWinners()
  const trace = new ScheduleTrace(definition, rules, options.record ?? null)
  let at = 0

  function observe(seen: readonly Observation[]): void {
    for (const observation of seen) {
      const timed = { ...observation, at }
      watch.observe(timed)
      terms.observe(timed)
      epochWinners.observe(timed)
      options.observe?.(timed)
    }
  }

  const begin = rules.start(scenario.initial, missingLinks(scenario))
  let { world } = begin
  const showLinks = (before: UntimedWorld | null): void => {
    if (before !== null && before.cut === world.cut && before.ends === world.ends) return
    options.inspect?.network({ from: at, closed: rules.closedLinks(world), slow: [], loss: 0, duplicate: 0 })
  }
  showLinks(null)
  for (const nodeStep of begin.nodeSteps) {
    trace.recordNodeStep(nodeStep, null, world, at)
    observe(nodeStep.result.seen)
  }
  for (const [index, step] of schedule.entries()) {
    at = (index + 1) * STEP_MICROS
    const performed = rules.perform(world, step)
    if (typeof performed === 'string')
      throw new InvalidScenarioError([{ field: `schedule[${index}]`, problem: performed }])
    trace.recordStep(world, step, performed, at)
    observe(performed.seen)
    const before = world
    world = performed.world
    showLinks(before)
    if (speaksOfStates) observe([rules.stateOf(world.slots, world.cells)])
  }
  observe(rules.quietLeaders(world).map((between) => ({ type: 'quiet', at, between })))
  if (nothingIsLeft(rules, world)) observe([{ type: 'settled', at, connected: rules.connected(world) }])
  const sentOf = (kind: string): number => trace.sentOf(kind)
  return {
    protocol: scenario.protocol,
    seed: scenario.seed,
    endedAtMs: schedule.length,
    ...snapshot(
      nodes.map((id, index) => [id, nodeReport(rules, world, index)] as const),
      countOf(definition.kinds, sentOf),
      countOf(definition.linkKinds, sentOf),
    ),
    ...sharedReport(
      definition,
      nodes,
      world.cells.map(({ value }) => value),
      epochWinners,
    ),
    leaderships: terms.list(),
    checkpoints: {},
    specs: watch.verdicts(),
    goals: watch.goals(),
    steps: schedule.length,
  }
}

/** A schedule starts with exactly the links that the scenario lists. */
function missingLinks({ nodes, links }: Scenario): Cut {
  if (links === 'full') return []
  const linked = links.map(([a, b]) => [nodes.indexOf(a), nodes.indexOf(b)] as const)
  const places = [...nodes.keys()]
  return places.flatMap((a) =>
    places.filter((b) => b > a && !isCut(linked, a, b)).map((b) => [a, b] as const),
  )
}

/** Whether only faults can happen: no message, no end behind, no timer, no stimulus owed. */
function nothingIsLeft(rules: UntimedRules, world: UntimedWorld): boolean {
  return (
    world.inboxes.every((inbox) => inbox.length === 0) &&
    world.ends.every(({ lead }) => lead === 0) &&
    world.slots.every(({ timers }) => timers.length === 0) &&
    world.slots.every((_, index) => !rules.stimuli(world, index).some(({ owed }) => owed))
  )
}

function nodeReport(rules: UntimedRules, world: UntimedWorld, index: number): NodeReport {
  const slot = present(world.slots[index], 'slot')
  if (!slot.up) return CRASHED
  const view: View = present(rules.untimedNodes[index], 'node').view(slot)
  const { role, leader, token, members } = view
  return { up: true, role, leader, token, members, untilMs: null, ...view.detail }
}
