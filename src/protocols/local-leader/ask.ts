/** Requests along a tree, direct requests to voters that the tree missed, and the leader's report of its last round. */
import { type Micros, type NodeId, send } from '../../core/index.ts'
import type { Beacons } from './beacon.ts'
import { type Context, type LocalLeaderStep, unchanged } from './context.ts'
import type { MembershipView } from './messages.ts'
import type { LocalLeaderState, Term } from './state.ts'
import { type Configuration, votersOf } from './voters.ts'

export function createTreeRequests({ self, isGroupNode }: Context, { beaconFor }: Beacons) {
  /** The nodes that answer along the tree: at first all voters, later the voters that answered the last round. */
  function orderOf(config: Configuration, view: MembershipView | null): readonly NodeId[] {
    const members = view?.members ?? votersOf(config)
    return [self, ...members.filter((node) => node !== self)]
  }

  /** Asks the voters directly whose answer has not come along the tree. */
  function handleAsk(state: LocalLeaderState, now: Micros): LocalLeaderStep {
    const { candidacy } = state
    if (candidacy === null || candidacy.isProbe) return unchanged(state)
    const missing = votersOf(candidacy.config).filter(
      (node) => node !== self && isGroupNode(node) && !candidacy.supporters.includes(node),
    )
    return {
      state,
      effects: missing.map((to) =>
        send(to, {
          kind: 'Election',
          beacon: beaconFor(state, to, now),
          request: candidacy.request,
          epoch: candidacy.epoch,
          renew: candidacy.renew,
          config: candidacy.config,
          certificate: state.vote.certificate,
          view: null,
          wanted: null,
          tree: null,
        }),
      ),
    }
  }

  /** The nodes that supported the leader in its last round. */
  function viewOf({ request, supporters }: Term): MembershipView {
    const members = supporters.filter(({ counter }) => counter === request.counter).map(({ node }) => node)
    return { round: request, members }
  }

  return { orderOf, handleAsk, viewOf }
}
