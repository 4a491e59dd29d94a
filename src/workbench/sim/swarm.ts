/**
 * Swarm testing: draws a scenario from a seed. Options, network, clocks and faults stay within the protocol's
 * assumptions.
 *
 * Each seed uses a random subset of the fault kinds, which finds more than all faults everywhere. Faults
 * often lie close together in time, because protocols break when two events nearly coincide. Then everything
 * is healed and left alone for the protocol's settling time: first safety under faults, then progress.
 */
import {
  canonical,
  type Definition,
  type FaultKind,
  microsOf,
  msOf,
  type NodeId,
  type Plain,
  type PlainObject,
  type Timeliness,
} from '../../core/index.ts'
import { checkedOptions } from '../scenario/parse.ts'
import { Random } from '../scenario/random.ts'
import type { Scenario, Span, StoreSettings } from '../scenario/scenario.ts'
import { FaultDrawer, toMicros } from './fault-drawer.ts'

export type SwarmSettings = {
  readonly nodes: readonly [least: number, most: number]
  /** Fixed options. The others are drawn from the values that the protocol lists. */
  readonly options: PlainObject
  /** The allowed fault kinds. Faults that the protocol does not tolerate are never drawn. */
  readonly faults: readonly FaultKind[]
}

/** Returns a function that draws a scenario from a seed. */
export function scenarioDrawer(definition: Definition, settings: SwarmSettings): (seed: number) => Scenario {
  const { swarm } = definition
  // Cache: campaigns draw the same options often, and checking them is slow.
  const resolved = new Map<string, PlainObject>()

  function resolve(nodes: readonly NodeId[], options: PlainObject): PlainObject {
    const key = `${nodes.length} ${canonical(options)}`
    const known = resolved.get(key)
    if (known !== undefined) return known
    const made = checkedOptions(definition, nodes, options)
    resolved.set(key, made)
    return made
  }

  return (seed) => {
    const random = new Random(seed)
    const count = random.integer(...settings.nodes)
    const nodes = Array.from({ length: count }, (_, index) => index + 1)
    const options = resolve(nodes, drawOptions(definition, settings.options, random))
    const kinds = definition.bears(options).filter((kind) => settings.faults.includes(kind))
    const timeliness = definition.timeliness(options)
    const [shortest, ordinary] = swarm.delayMs
    const longest = timeliness === null ? ordinary : msOf(timeliness.delay)
    const most = toMicros(shortest + random.fraction() * (longest - shortest))
    const least = random.chance(0.5) ? most : Math.min(most, shortest)
    const settling = msOf(definition.settlesWithin(options, microsOf(most), count))
    const watched = msOf(definition.watchesFor(options, count))
    const drawer = new FaultDrawer(nodes, definition, random, settling, most)
    const { events, endsAtMs } = drawer.draw(kinds, swarm)
    const enduring = definition.endures(options).filter((kind) => settings.faults.includes(kind))
    const lasting = drawer.lasting(enduring, endsAtMs)
    return {
      protocol: definition.name,
      nodes,
      options,
      seed,
      links: 'full',
      network: {
        delayMs: [least, most],
        loss: 0,
        duplicate: 0,
        fifo: definition.order === 'fifo',
        rules: [],
      },
      registers: definition.registers === null ? null : storeOf(least, most),
      clocks: {
        driftPpm: random.chance(0.5) ? definition.driftPpm(options) : 0,
        lateMs: drawLateness(timeliness, random),
      },
      initial: null,
      events: [...events, ...lasting],
      untilMs: toMicros(endsAtMs + Math.max(settling * 1.1, watched) + 1),
      checkpointsMs: [],
      schedule: null,
    }
  }
}

/** Late operations take up to 80 times the usual delay; callers time out after 20 times. */
function storeOf(leastMs: number, mostMs: number): StoreSettings {
  return {
    delayMs: [leastMs, mostMs],
    late: 0,
    lateMs: [mostMs, toMicros(mostMs * 80)],
    timeoutMs: toMicros(mostMs * 20),
  }
}

/** Half of the worlds have punctual timers; in the others timers are as late as timely nodes may be. */
function drawLateness(timeliness: Timeliness | null, random: Random): Span {
  if (timeliness === null || random.chance(0.5)) return 0
  const most = msOf(timeliness.lateness)
  return random.chance(0.5) ? most : [0, most]
}

function drawOptions(definition: Definition, fixed: PlainObject, random: Random): PlainObject {
  const drawn: { [name: string]: Plain } = {}
  for (const [name, values] of Object.entries(definition.swarm.options)) {
    const value = values[random.integer(0, values.length - 1)]
    if (value !== undefined) drawn[name] = value
  }
  return { ...drawn, ...fixed }
}
