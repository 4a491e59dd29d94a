import { withView } from './omega-views.ts'
import type { Spec } from './spec.ts'
import { holdsMajority, isAlive, type SeenView, sameSeen, standingOf, viewText } from './standing.ts'

/**
 * Invariants I8 and I9 of Omega+. In the order of their ids, not of true time: a view may be installed late by its own
 * leader, when a newer one exists already; nobody else installs it then, and its leader is never in quorum.
 */
export const primaryChain: Spec<readonly SeenView[]> = {
  name: 'primary-chain',
  title:
    'in the order of their ids, each view holds a majority: of all nodes (static), or of the view before (dynamic)',
  source: 'Lotem, Keidar and Dolev 1997 (dynamic voting), cited by Franceschetti & Bruck 1999',
  when: 'always',
  fold: {
    begin: () => [],
    next: (memory, seen) => {
      if (seen.type !== 'view') return memory
      const { view } = standingOf(seen)
      return view === null ? memory : withView(memory, view)
    },
  },
  judge(memory, seen, { nodes, constants }) {
    if (seen.type !== 'view' || !isAlive(standingOf(seen))) return 'not concerned'
    const { view } = standingOf(seen)
    if (view === null) return 'not concerned'
    const tie = constants['tie'] === 1
    if (constants['staticQuorum'] === 1) {
      if (2 * view.members.length > nodes.length) return 'held'
      return { violated: `${viewText(view)} has no majority of the ${nodes.length} nodes` }
    }
    const place = memory.findIndex(({ id }) => sameSeen(id, view.id))
    for (const at of [place, place + 1]) {
      const before = memory[at - 1]
      const after = memory[at]
      if (before === undefined || after === undefined) continue
      if (!holdsMajority(after.members, before.members, tie)) {
        return { violated: `${viewText(after)} holds no majority of ${viewText(before)}` }
      }
    }
    return 'held'
  },
}
