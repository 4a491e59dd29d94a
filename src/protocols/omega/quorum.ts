/** When a proposal that everybody in it has accepted may become a view. */
import type { Identity, NodeId } from '../../core/index.ts'
import type { OmegaSettings } from './settings.ts'
import type { OmegaState, Proposal, ViewId } from './state.ts'
import { idsOf, isMajority, isNewer, sameViewId } from './views.ts'

export function hasQuorum(
  { n, members, accepts }: Proposal,
  state: OmegaState,
  { self, nodes }: Identity,
  { quorum, tie }: OmegaSettings,
): boolean {
  if (quorum === 'none') return true
  const ids = idsOf(members)
  if (quorum === 'static') return 2 * ids.length > nodes.length
  let last = state.view
  for (const { view } of accepts) if (isNewer(view.id, last.id)) last = view
  const attempts = [state, ...accepts]
    .flatMap((each) => each.attempts)
    .filter(({ id }) => isNewer(id, last.id) && !isGivenUp(id, accepts, self) && !sameViewId(id, [n, self]))
  // Before the first view everybody counts.
  const formed = last.id[0] === 0 ? nodes : idsOf(last.members)
  return [formed, ...attempts.map((view) => idsOf(view.members))].every((whole) =>
    isMajority(ids, whole, tie),
  )
}

/** Who proposed it has accepted this, has not installed it, and has taken it back: nobody ever will install it. */
function isGivenUp(id: ViewId, accepts: Proposal['accepts'], self: NodeId): boolean {
  const by = id[1] === self ? null : accepts.find(({ peer }) => peer === id[1])
  if (by === undefined) return false
  return by === null || !by.attempts.some((attempt) => sameViewId(attempt.id, id))
}
