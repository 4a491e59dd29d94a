/** The present level of a running node, for people: how long its leases are, what that costs and gives, and why. */
import type { NodeId, Plain } from '../../core/index.ts'
import type { LeaseInsight } from '../insight.ts'
import { adaptiveTimingOf } from './adaptive.ts'
import { marginOf } from './constants.ts'
import { amountOf } from './evidence.ts'
import { guaranteesOf } from './guarantees.ts'
import { ownState } from './insight.ts'
import { levelFor, lockAt } from './levels.ts'
import { NO_LOSS } from './messages.ts'
import { type LocalLeaderOptions, votersIn } from './options.ts'
import { renewalLeadOf } from './scaled-timing.ts'
import type { LocalLeaderState } from './state.ts'

/** Null where the timing is fixed. `state` is the state of the protocol, with or without the layer below. */
export function leaseInsightOf(
  chosen: LocalLeaderOptions,
  nodes: readonly NodeId[],
  state: Plain,
): LeaseInsight | null {
  const own = ownState(state)
  const { pace, term } = own
  const adaptive = adaptiveTimingOf(chosen, votersIn(chosen, nodes).length)
  if (pace === null || adaptive === null) return null
  const { bounds, need, peers, firstTry } = pace
  const level = presentLevel(own, pace.level)
  const { failOver, timing } = guaranteesOf(chosen, nodes, undefined, lockAt(level))
  const known = peers.flatMap((peer, index) =>
    peer === null ? [] : [{ node: nodes[index] as NodeId, peer }],
  )
  return {
    level,
    levels: [bounds.least, bounds.most],
    lock: lockAt(level),
    bounds: [bounds.shortest, bounds.longest],
    margin: marginOf(timing),
    assumed: { sigma: timing.lateness, delta: timing.delay },
    failOver,
    renewalPeriod: term === null ? null : timing.lease - renewalLeadOf(timing, firstTry),
    need:
      term === null
        ? null
        : {
            level: need.level,
            lock: lockAt(need.level),
            cause: need.cause,
            by: need.by,
            amount: amountOf(need, adaptive.timingAt),
          },
    voters: known.flatMap(({ node, peer: { evidence, at } }) =>
      evidence === null || term === null
        ? []
        : [
            {
              node,
              lateness: adaptive.timingAt(evidence.late).tryTime,
              delay: adaptive.timingAt(evidence.delay).fast,
              loss: evidence.loss === NO_LOSS ? 0 : 2 ** -evidence.loss,
              at,
            },
          ],
    ),
    refusals: known.flatMap(({ node, peer: { bounds: theirs } }) =>
      theirs === null ? [] : [{ node, bounds: [theirs.shortest, theirs.longest] as const }],
    ),
  }
}

/**
 * The level of the leases that the group has now. A follower learns it from the requests of its leader. Its own level may
 * be another: it hears the leader late, or its bounds are others. Where no leader is known, it is the own level: of the
 * leases that the node would ask for.
 */
function presentLevel({ term, known: { following } }: LocalLeaderState, own: number): number {
  return term !== null || following === null || following.round === null ? own : levelFor(following.lock)
}
