/**
 * Shrinks a scenario that violates a specification: fewer events (delta debugging, ddmin), fewer nodes, a
 * simpler network, as long as the violation remains. Greedy in a fixed order, so the result is deterministic.
 *
 * Without an event or a node, later messages may have other numbers. Events that name a message by its number are kept
 * as they are: every smaller scenario is run, and counts only if the violation remains.
 */
import type { Definition, NodeId } from '../../core/index.ts'
import type { RunOptions } from '../scenario/options.ts'
import type { Pair, Scenario, ScenarioEvent } from '../scenario/scenario.ts'
import { runScenario } from './run.ts'

/** The specification that a run violates when it throws. */
export const NO_ERROR = 'no-error'

/** Bound on the number of runs. Shrinking then returns the smallest scenario so far. */
const MOST_RUNS = 600

export function violates(
  definition: Definition,
  scenario: Scenario,
  spec: string,
  options: RunOptions = {},
): boolean {
  try {
    const { specs } = runScenario(definition, scenario, options)
    return specs.some(({ name, verdict }) => name === spec && verdict === 'violated')
  } catch {
    return spec === NO_ERROR
  }
}

export function shrink(
  definition: Definition,
  scenario: Scenario,
  spec: string,
  options: RunOptions = {},
): Scenario {
  let best = scenario
  let runs = 0

  function attempt(smaller: Scenario): boolean {
    if (runs >= MOST_RUNS) return false
    runs += 1
    if (!violates(definition, smaller, spec, options)) return false
    best = smaller
    return true
  }

  for (let progress = true; progress && runs < MOST_RUNS; ) {
    const before = best
    dropEvents(() => best, attempt)
    for (const node of best.nodes.toReversed())
      if (best.nodes.length > definition.leastNodes) attempt(withoutNode(best, node))
    for (const plainer of simplerScenarios(best)) attempt({ ...best, ...plainer })
    progress = best !== before
  }
  for (const digits of [0, 1]) attempt(roundTimes(best, digits))
  return best
}

/** Removes chunks of events: halves, then quarters, down to single events (ddmin). */
function dropEvents(best: () => Scenario, attempt: (smaller: Scenario) => boolean): void {
  for (
    let size = Math.ceil(best().events.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < best().events.length; ) {
      const { events } = best()
      const smaller = { ...best(), events: events.toSpliced(start, size) }
      if (!attempt(smaller)) start += size
    }
  }
}

function simplerScenarios(scenario: Scenario): readonly Partial<Scenario>[] {
  const { network, clocks } = scenario
  const slowest = typeof network.delayMs === 'number' ? network.delayMs : network.delayMs[1]
  const plainer: Partial<Scenario>[] = []
  if (clocks.driftPpm > 0) plainer.push({ clocks: { ...clocks, driftPpm: 0 } })
  if (clocks.lateMs !== 0) plainer.push({ clocks: { ...clocks, lateMs: 0 } })
  if (network.loss > 0) plainer.push({ network: { ...network, loss: 0 } })
  if (network.duplicate > 0) plainer.push({ network: { ...network, duplicate: 0 } })
  if (typeof network.delayMs !== 'number') plainer.push({ network: { ...network, delayMs: slowest } })
  return plainer
}

function withoutNode(scenario: Scenario, node: NodeId): Scenario {
  const { initial, links, network } = scenario
  const others = (ids: readonly NodeId[]): readonly NodeId[] => ids.filter((id) => id !== node)
  const elsewhere = (pairs: readonly Pair[]): readonly Pair[] => pairs.filter((pair) => !pair.includes(node))
  const events = scenario.events.flatMap((event): ScenarioEvent[] => {
    if ('partition' in event) {
      const blocks = event.partition.map(others).filter((block) => block.length > 0)
      return blocks.length === 0 ? [] : [{ ...event, partition: blocks }]
    }
    if ('cut' in event) return [{ ...event, cut: elsewhere(event.cut) }]
    if ('cutOneWay' in event) return [{ ...event, cutOneWay: elsewhere(event.cutOneWay) }]
    if ('load' in event && event.load !== 'all') {
      const load = others(event.load)
      return load.length === 0 ? [] : [{ ...event, load }]
    }
    if ('slow' in event) return [{ ...event, slow: elsewhere(event.slow) }]
    if ('links' in event && event.links !== 'full') return [{ ...event, links: elsewhere(event.links) }]
    if ('heal' in event && event.heal !== 'all') return [{ ...event, heal: elsewhere(event.heal) }]
    if ('rules' in event) {
      return [{ ...event, rules: event.rules.filter(({ from, to }) => from !== node && to !== node) }]
    }
    return subjectOf(event) === node ? [] : [event]
  })
  return {
    ...scenario,
    nodes: others(scenario.nodes),
    events,
    initial:
      initial === null || initial.leader === node ? null : { ...initial, members: others(initial.members) },
    links: links === 'full' ? links : elsewhere(links),
    network: { ...network, rules: network.rules.filter(({ from, to }) => from !== node && to !== node) },
  }
}

/** The node that an event acts on, if it acts on one. */
function subjectOf(event: ScenarioEvent): NodeId | null {
  if ('crash' in event) return event.crash
  if ('recover' in event) return event.recover
  if ('pause' in event) return event.pause
  if ('suspend' in event) return event.suspend
  if ('drift' in event) return event.drift
  if ('skew' in event) return event.skew
  if ('unwritable' in event) return event.unwritable
  if ('writable' in event) return event.writable
  return 'command' in event ? event.command.node : null
}

/** Rounds times to whole or tenth milliseconds, which are easier to read. */
function roundTimes(scenario: Scenario, digits: number): Scenario {
  const round = (ms: number): number => Math.round(ms * 10 ** digits) / 10 ** digits
  const events = scenario.events.map((event): ScenarioEvent => ({ ...event, atMs: round(event.atMs) }))
  const last = Math.max(scenario.untilMs, ...events.map(({ atMs }) => atMs))
  return { ...scenario, events, untilMs: Math.ceil(last) }
}
