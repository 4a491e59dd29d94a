/**
 * Makes a scenario that violates a specification smaller, as long as it still violates it: fewer events, fewer
 * nodes, a plainer network. Greedy, in a fixed order, so the same scenario always shrinks to the same one.
 */
import type { Definition, NodeId } from '../core/index.ts'
import type { RunOptions } from './options.ts'
import { runScenario } from './run.ts'
import type { Scenario, ScenarioEvent } from './scenario.ts'

/** Shrinking gives up after this many runs and returns what it has. */
const MOST_RUNS = 600

export function violates(
  definition: Definition,
  scenario: Scenario,
  spec: string,
  options: RunOptions = {},
): boolean {
  return runScenario(definition, scenario, options).specs.some(
    ({ name, verdict }) => name === spec && verdict === 'violated',
  )
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
    for (const node of best.nodes.toReversed()) if (best.nodes.length > 1) attempt(withoutNode(best, node))
    for (const plainer of plainerWorlds(best)) attempt({ ...best, ...plainer })
    progress = best !== before
  }
  for (const digits of [0, 1]) attempt(rounded(best, digits))
  return best
}

/** Drops runs of events: half of them at a time, then a quarter, down to each alone. */
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

function plainerWorlds(scenario: Scenario): readonly Partial<Scenario>[] {
  const { network, clocks } = scenario
  const slowest = typeof network.delayMs === 'number' ? network.delayMs : network.delayMs[1]
  const plainer: Partial<Scenario>[] = []
  if (clocks.driftPpm > 0) plainer.push({ clocks: { driftPpm: 0 } })
  if (network.loss > 0) plainer.push({ network: { ...network, loss: 0 } })
  if (network.duplicate > 0) plainer.push({ network: { ...network, duplicate: 0 } })
  if (typeof network.delayMs !== 'number') plainer.push({ network: { ...network, delayMs: slowest } })
  return plainer
}

function withoutNode(scenario: Scenario, node: NodeId): Scenario {
  const events = scenario.events.flatMap((event): ScenarioEvent[] => {
    if ('partition' in event) {
      const blocks = event.partition.map((block) => block.filter((id) => id !== node))
      return [{ ...event, partition: blocks.filter((block) => block.length > 0) }]
    }
    return mentions(event, node) ? [] : [event]
  })
  return { ...scenario, nodes: scenario.nodes.filter((id) => id !== node), events }
}

function mentions(event: ScenarioEvent, node: NodeId): boolean {
  return Object.values(event).some(
    (value: unknown) =>
      value === node ||
      (Array.isArray(value) && value.some((pair) => Array.isArray(pair) && pair.includes(node))) ||
      (typeof value === 'object' && value !== null && 'node' in value && value.node === node),
  )
}

/** Times in whole milliseconds, or tenths: easier to read, if it still violates. */
function rounded(scenario: Scenario, digits: number): Scenario {
  const round = (ms: number): number => Math.round(ms * 10 ** digits) / 10 ** digits
  const events = scenario.events.map((event): ScenarioEvent => ({ ...event, atMs: round(event.atMs) }))
  const last = Math.max(scenario.untilMs, ...events.map(({ atMs }) => atMs))
  return { ...scenario, events, untilMs: Math.ceil(last) }
}
