/** Handwritten traces in milliseconds, and the judgements of specifications and goals on them. */
import {
  type Command,
  microsOf,
  type NodeId,
  type Output,
  type Plain,
  type PlainObject,
  type Role,
  type View,
} from '../../src/core/index.ts'
import {
  type Fold,
  goalNamed,
  type Judgement,
  type RunFacts,
  specNamed,
} from '../../src/workbench/specs/index.ts'
import type { Connected, Observation, Reach } from '../../src/workbench/trace/index.ts'

const micros = (ms: number | null): number | null => (ms === null ? null : microsOf(ms))

/**
 * `view.until`, on the node's own clock, differs from the true time given here; specifications must not use
 * it.
 */
export function viewAt(
  ms: number,
  node: NodeId,
  role: Role,
  shown: Partial<Omit<View, 'until'>> & { readonly untilMs?: number | null } = {},
): Observation {
  const { untilMs = null, ...rest } = shown
  const view: View = { role, leader: null, token: null, until: 7, members: null, detail: null, ...rest }
  return { type: 'view', at: microsOf(ms), node, view, until: micros(untilMs) }
}

export function leadsAt(
  ms: number,
  node: NodeId,
  untilMs: number | null,
  members: readonly NodeId[] | null = [node],
  token: number | null = null,
  detail: PlainObject | null = null,
): Observation {
  return viewAt(ms, node, 'leader', { leader: node, untilMs, members, token, detail })
}

export const followsAt = (ms: number, node: NodeId, leader: NodeId | null): Observation =>
  viewAt(ms, node, 'follower', { leader })
export const downAt = (ms: number, node: NodeId): Observation => ({ type: 'down', at: microsOf(ms), node })
export const upAt = (ms: number, node: NodeId): Observation => ({ type: 'up', at: microsOf(ms), node })
export const endedAt = (ms: number): Observation => ({ type: 'ended', at: microsOf(ms) })
export const outputAt = (ms: number, node: NodeId, event: Output): Observation => ({
  type: 'output',
  at: microsOf(ms),
  node,
  event,
})
/** All nodes of a stable set run, unless `reach` says otherwise. */
export const connectivityAt = (
  ms: number,
  connected: Connected,
  stable: readonly (readonly NodeId[])[],
  reach: Partial<Reach> = {},
): Observation => ({
  type: 'connectivity',
  at: microsOf(ms),
  connected,
  stable,
  reach: { running: stable.flat(), timely: 'full', unwritable: [], byChance: false, ...reach },
})
export const commandedAt = (ms: number, node: NodeId, command: Command): Observation => ({
  type: 'commanded',
  at: microsOf(ms),
  node,
  command,
})

/** The memory of a fold after a trace. */
export function memoryAfter<M extends Plain>(
  fold: Fold<M>,
  run: RunFacts,
  observations: readonly Observation[],
): M {
  return observations.reduce((memory, seen) => fold.next(memory, seen), fold.begin(run))
}

/** The judgement of the last observation, or of the first that violates the requirement. */
export function judgement(name: string, run: RunFacts, observations: readonly Observation[]): Judgement {
  const spec = specNamed(name)
  if (spec === null) throw new Error(`no specification ${name}`)
  let memory = spec.fold.begin(run)
  let said: Judgement = 'not concerned'
  for (const seen of observations) {
    memory = spec.fold.next(memory, seen)
    said = spec.judge(memory, seen, run)
    if (typeof said === 'object') return said
  }
  return said
}

/** How often a trace reaches a goal. */
export function timesReached(name: string, run: RunFacts, observations: readonly Observation[]): number {
  const goal = goalNamed(name)
  if (goal === null) throw new Error(`no goal ${name}`)
  let memory = goal.fold.begin(run)
  let times = 0
  for (const seen of observations) {
    if (goal.reached(memory, seen)) times += 1
    memory = goal.fold.next(memory, seen)
  }
  return times
}
