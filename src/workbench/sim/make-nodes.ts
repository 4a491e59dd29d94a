/** The nodes of a timed world before they boot. */
import { type Definition, strict } from '../../core/index.ts'
import type { Random } from '../scenario/random.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { Clock } from './clock.ts'
import { NEVER, type SimNode } from './world-node.ts'

export function makeNodes(
  definition: Definition,
  { nodes, nodeOptions, options, clocks }: Scenario,
  random: Random,
  strictly: boolean,
): readonly SimNode[] {
  return nodes.map((id, index) => {
    const protocol = definition.create({ self: id, nodes }, nodeOptions?.[String(id)] ?? options)
    return {
      index,
      id,
      protocol: strictly ? strict(protocol) : protocol,
      // No two clocks agree. (V8 stores integers below 2^31 unboxed; larger ones cost an object.)
      clock: new Clock(random.integer(1, 1_000_000_000), (random.fraction() * 2 - 1) * clocks.driftPpm),
      up: false,
      state: null,
      stable: null,
      isWritable: true,
      view: null,
      timers: new Map(),
      stalledUntil: 0,
      sleptFor: 0,
      backlog: [],
      life: 0,
      crashAfter: NEVER,
    }
  })
}
