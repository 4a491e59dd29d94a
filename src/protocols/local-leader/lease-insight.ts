/** The present level of a running node, for people: how long its leases are, what that costs and gives, and why. */
import type { Micros, NodeId, Plain } from '../../core/index.ts'
import { type Expected, guaranteesOf } from './guarantees.ts'
import { ownState } from './insight.ts'
import { lockAt } from './levels.ts'
import type { Evidence } from './messages.ts'
import type { LocalLeaderOptions } from './options.ts'

export type LeaseInsight = {
  /** The level in force, and the levels that this node uses. */
  readonly level: number
  readonly levels: readonly [least: number, most: number]
  /** The lock of that level, and the bounds of locks, in microseconds. */
  readonly lock: Micros
  readonly bounds: readonly [shortest: Micros, longest: Micros]
  /** From the crash of the leader until another node leads, at this level; null: no node can. */
  readonly failOver: Expected | null
  readonly renewalPeriod: Micros
  /** As a leader: the level that the evidence asks for, which evidence, and the node that supplied it. */
  readonly need: { readonly level: number; readonly cause: string; readonly by: NodeId | null }
  /** As a leader: what each voter reported last, and when, on this node's clock. */
  readonly voters: readonly { readonly node: NodeId; readonly evidence: Evidence; readonly at: Micros }[]
  /** Peers that have refused a lock, and the locks that they grant. */
  readonly refusals: readonly { readonly node: NodeId; readonly bounds: readonly [Micros, Micros] }[]
}

/** Null where the timing is fixed. `state` is the state of the protocol, with or without the layer below. */
export function leaseInsightOf(
  chosen: LocalLeaderOptions,
  nodes: readonly NodeId[],
  state: Plain,
): LeaseInsight | null {
  const { pace } = ownState(state)
  if (pace === null) return null
  const { level, bounds, need, peers } = pace
  const { failOver, traffic } = guaranteesOf(chosen, nodes, undefined, lockAt(level))
  const known = peers.flatMap((peer, index) =>
    peer === null ? [] : [{ node: nodes[index] as NodeId, peer }],
  )
  return {
    level,
    levels: [bounds.least, bounds.most],
    lock: lockAt(level),
    bounds: [bounds.shortest, bounds.longest],
    failOver,
    renewalPeriod: traffic.renewalPeriod,
    need: { level: need.level, cause: need.cause, by: need.by },
    voters: known.flatMap(({ node, peer: { evidence, at } }) =>
      evidence === null ? [] : [{ node, evidence, at }],
    ),
    refusals: known.flatMap(({ node, peer: { bounds: theirs } }) =>
      theirs === null ? [] : [{ node, bounds: [theirs.shortest, theirs.longest] as const }],
    ),
  }
}
