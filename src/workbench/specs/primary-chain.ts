import { withView } from './installed-views.ts'
import {
  holdsMajority,
  isAlive,
  type SeenView,
  type SeenViewId,
  sameSeen,
  viewStateOf,
  viewText,
} from './memory/view-states.ts'
import type { Spec } from './spec.ts'

/** All installed views in order, and whether a view with number 1 was ever promised. */
type Chain = { readonly views: readonly SeenView[]; readonly promisedFirst: boolean }

/**
 * Invariants I8 and I9 of Omega+, in the order of view ids, not of true time: a leader may install its view
 * late, when a newer one exists. No other node installs it then, and its leader is never in quorum.
 */
export const primaryChain: Spec<Chain> = {
  name: 'primary-chain',
  title:
    'in the order of their ids, each view holds a majority: of all nodes (static), or of the view before (dynamic)',
  source: 'Lotem, Keidar and Dolev 1997 (dynamic voting), cited by Franceschetti & Bruck 1999',
  when: 'always',
  fold: {
    begin: () => ({ views: [], promisedFirst: false }),
    next: (memory, seen) => {
      if (seen.type === 'output' && seen.event.type === 'promise') {
        const [n] = seen.event['id'] as SeenViewId
        return n !== 1 || memory.promisedFirst ? memory : { ...memory, promisedFirst: true }
      }
      if (seen.type !== 'view') return memory
      const { view } = viewStateOf(seen)
      if (view === null) return memory
      const views = withView(memory.views, view)
      return views === memory.views ? memory : { ...memory, views }
    },
  },
  judge({ views, promisedFirst }, seen, { nodes, constants }) {
    if (seen.type !== 'view' || !isAlive(viewStateOf(seen))) return 'not concerned'
    const { view } = viewStateOf(seen)
    if (view === null) return 'not concerned'
    const tie = constants['tie'] === 1
    if (constants['staticQuorum'] === 1) {
      // The first view of a settled world comes from the world; no node formed it.
      if (view.id[0] === 1 && !promisedFirst) return 'not concerned'
      if (2 * view.members.length > nodes.length) return 'held'
      return { violated: `${viewText(view)} has no majority of the ${nodes.length} nodes` }
    }
    const place = views.findIndex(({ id }) => sameSeen(id, view.id))
    for (const at of [place, place + 1]) {
      const before = views[at - 1]
      const after = views[at]
      if (before === undefined || after === undefined) continue
      if (!holdsMajority(after.members, before.members, tie)) {
        return { violated: `${viewText(after)} holds no majority of ${viewText(before)}` }
      }
    }
    return 'held'
  },
}
