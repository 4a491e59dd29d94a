/** Changes of a node's clock by events: its timers and its lease follow the clock. */
import type { Micros } from '../../core/index.ts'
import type { RunInspector } from '../scenario/options.ts'
import type { Observation } from '../trace/index.ts'
import type { Clock } from './clock.ts'
import type { Timers } from './timers.ts'
import { type SimNode, trueUntil } from './world-node.ts'

export type ClockContext = {
  readonly timers: Timers
  readonly inspect: RunInspector | null
  observe(seen: Observation): void
}

export function adjustClock(
  node: SimNode,
  adjust: (clock: Clock) => void,
  now: Micros,
  world: ClockContext,
): void {
  const { clock, view } = node
  const before = view === null ? null : trueUntil(node, view)
  adjust(clock)
  showClock(node, now, world)
  world.timers.retime(node, now)
  // A lease that has not ended ends at another instant now.
  if (view === null || before === null || before - node.sleptFor <= now) return
  const after = (trueUntil(node, view) as Micros) - node.sleptFor
  world.observe({ type: 'view', at: now, node: node.id, view, until: Math.max(after, now) })
}

/** Reports how the node's clock runs from now on, and when its timers are due. */
export function showClock(
  node: SimNode,
  now: Micros,
  { timers, inspect }: Omit<ClockContext, 'observe'>,
): void {
  if (inspect === null) return
  inspect.clock(node.id, now, node.clock.readings(now))
  timers.show(node, now)
}
