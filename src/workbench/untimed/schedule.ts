/**
 * Runs a schedule: performs exactly the listed steps in the untimed world. Each step counts as one
 * millisecond, so that traces and reports have the usual form.
 */
import { type Definition, type NodeId, present, type View } from '../../core/index.ts'
import { EpochWinners } from '../scenario/epoch-winners.ts'
import { factsOf, promisedGoals, promisedSpecs, type RunOptions } from '../scenario/options.ts'
import { InvalidScenarioError } from '../scenario/parse.ts'
import { CRASHED, countOf, type NodeReport, type Report, sharedReport, snapshot } from '../scenario/report.ts'
import type { Scenario, ScheduleStep } from '../scenario/scenario.ts'
import { TermRecorder } from '../scenario/terms.ts'
import { monitor, Watch } from '../specs/index.ts'
import type { LossReason, Observation, TraceRecord } from '../trace/index.ts'
import { type Cut, isCut } from './closed-links.ts'
import type { Inbox } from './inbox.ts'
import { DEFAULT_LINK_HISTORY, inboxAfterMove, moveEnd } from './link-ends.ts'
import { MessageNumbers } from './message-numbers.ts'
import type { NodeStep } from './node.ts'
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
  const sent = new Map<string, number>()
  const messageNumbers = new MessageNumbers(scenario.network.fifo)
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

  /** `during`: the world in which the node acted. */
  function take(nodeStep: NodeStep, message: number | null, during: UntimedWorld): void {
    const ids = nodeStep.result.sends.map(({ to, body }) => {
      const kind = definition.kindOf(body)
      sent.set(kind, (sent.get(kind) ?? 0) + 1)
      const lost = rules.aheadOf(during, nodes.indexOf(nodeStep.node), nodes.indexOf(to)) < 0
      const id = messageNumbers.send(nodeStep.node, to, body, lost)
      if (lost) options.record?.({ type: 'lost', at, message: id, why: 'cut' })
      return id
    })
    options.record?.(recordOf(nodeStep, at, message, ids))
    for (const { input, effects, view } of nodeStep.result.later) {
      const did = { at, node: nodeStep.node, now: 0, effects, sent: [], cutAfter: null, view }
      options.record?.({ type: 'step', ...did, input, message: null })
    }
  }

  /** Messages of an incarnation that the receiver has left are lost. */
  function loseOnMove(node: NodeId, peer: NodeId): void {
    const ends =
      history.slack === 0 ? [[node, peer] as const, [peer, node] as const] : [[node, peer] as const]
    for (const [to, from] of ends) {
      const inbox = present(world.inboxes[nodes.indexOf(to)], 'inbox')
      const kept = inboxAfterMove(inbox, nodes.indexOf(from), history)
      lose(messageNumbers.keep(from, to, countFrom(kept, nodes.indexOf(from)), 'last'), 'cut')
    }
  }

  /**
   * Messages to a crashed node, and those from it in an incarnation that the receiver has not reached, are
   * lost.
   */
  function loseOnCrash(after: UntimedWorld, step: ScheduleStep): void {
    if (step.do === 'tick') return
    const crashed = nodes.indexOf(step.node)
    for (const [place, node] of nodes.entries()) {
      if (place === crashed) continue
      const left = countFrom(present(after.inboxes[place], 'inbox'), crashed)
      lose(messageNumbers.keep(step.node, node, left, 'first'), 'cut')
      lose(messageNumbers.keep(node, step.node, 0, 'first'), 'down')
    }
  }

  function lose(messages: readonly number[], why: LossReason): void {
    for (const message of messages) options.record?.({ type: 'lost', at, message, why })
  }

  const placesOf = (step: { readonly node: NodeId; readonly peer: NodeId }): readonly [number, number] => [
    nodes.indexOf(step.node),
    nodes.indexOf(step.peer),
  ]

  const begin = rules.start(scenario.initial, missingLinks(scenario))
  let { world } = begin
  for (const nodeStep of begin.nodeSteps) {
    take(nodeStep, null, world)
    observe(nodeStep.result.seen)
  }
  for (const [index, step] of schedule.entries()) {
    at = (index + 1) * STEP_MICROS
    const performed = rules.perform(world, step)
    if (typeof performed === 'string') throw new InvalidScenarioError(`schedule[${index}]`, performed)
    const message = step.do === 'deliver' ? messageNumbers.deliver(step.from, step.node, step.nth ?? 0) : null
    if (step.do === 'tick') {
      const views = performed.seen.filter(isView).map(({ node, view }) => ({ node, view }))
      options.record?.({ type: 'tick', at, by: rules.tick, views })
    } else if (performed.nodeSteps.length === 0) {
      options.record?.({ type: 'world', at, event: step })
      if (message !== null) options.record?.({ type: 'lost', at, message, why: 'down' })
    }
    const moves = step.do === 'flip' || step.do === 'follow'
    if (moves) loseOnMove(step.node, step.peer)
    const during = moves
      ? { ...world, ends: moveEnd(world.ends, nodes.length, ...placesOf(step), history) }
      : world
    for (const nodeStep of performed.nodeSteps) take(nodeStep, message, during)
    if (rules.reported && isDown(performed.seen)) loseOnCrash(performed.world, step)
    observe(performed.seen)
    world = performed.world
    if (speaksOfStates) observe([rules.stateOf(world.slots, world.cells)])
  }
  observe(rules.quietLeaders(world).map((between) => ({ type: 'quiet', at, between })))
  if (nothingIsLeft(rules, world)) observe([{ type: 'settled', at, connected: rules.connected(world) }])
  const sentOf = (kind: string): number => sent.get(kind) ?? 0
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

function isDown(seen: readonly Observation[]): boolean {
  return seen.some(({ type }) => type === 'down')
}

function countFrom(inbox: Inbox, sender: number): number {
  return inbox.filter(({ from }) => from === sender).length
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

type Viewed = Observation & { readonly type: 'view' }

function isView(seen: Observation): seen is Viewed {
  return seen.type === 'view'
}

function recordOf(
  { node, input, stable, settledOn, result: did }: NodeStep,
  at: number,
  message: number | null,
  sent: readonly number[],
): TraceRecord {
  const nodeStep = {
    at,
    node: node satisfies NodeId,
    now: 0,
    effects: did.effects,
    sent,
    cutAfter: did.cutAfter,
    view: did.view,
  }
  return input === null
    ? { type: 'start', ...nodeStep, stable, settledOn }
    : { type: 'step', ...nodeStep, input, message }
}
