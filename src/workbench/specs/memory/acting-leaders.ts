/** Memory of notifications: the nodes whose application leads now, their tokens, and since when. */
import { compareIds, type Micros, type NodeId } from '../../../core/index.ts'
import type { Observation } from '../../trace/index.ts'
import type { Fold } from '../spec.ts'

export type ActingLeader = { readonly node: NodeId; readonly token: number; readonly since: Micros }

/** In id order. A node leads from `elected` to `demoted`, or until it crashes. */
export const actingLeaders: Fold<readonly ActingLeader[]> = { begin: () => [], next: nextActing }

export function nextActing(memory: readonly ActingLeader[], seen: Observation): readonly ActingLeader[] {
  if (seen.type === 'down') return without(memory, seen.node)
  if (seen.type !== 'output') return memory
  if (seen.event.type === 'demoted') return without(memory, seen.node)
  if (seen.event.type !== 'elected') return memory
  const leader = { node: seen.node, token: (seen.event['token'] ?? 0) as number, since: seen.at }
  return [...without(memory, seen.node), leader].sort((a, b) => compareIds(a.node, b.node))
}

function without(memory: readonly ActingLeader[], node: NodeId): readonly ActingLeader[] {
  return memory.some((leader) => leader.node === node)
    ? memory.filter((leader) => leader.node !== node)
    : memory
}
