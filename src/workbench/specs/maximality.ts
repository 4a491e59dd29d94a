import { sortIds } from '../../core/index.ts'
import { type Belief, beliefs, living } from './memory/beliefs.ts'
import type { Spec } from './spec.ts'

/** The lecture fixes the leader "at the end of the run", which is not observable; settled states are. */
export const maximality: Spec<readonly Belief[]> = {
  name: 'maximality',
  title: 'once settled, the leader that nodes follow is the preferred running node',
  source: 'Edinburgh lecture 11, Safety ("with largest identifier"); restricted to settled moments',
  when: 'settled',
  fold: beliefs,
  judge(memory, seen, { prefers }) {
    if (seen.type !== 'settled' || seen.connected !== 'full') return 'not concerned'
    const alive = living(memory)
    const informed = alive.filter(({ leader }) => leader !== null)
    if (informed.length === 0) return 'not concerned'
    const preferred = sortIds(alive.map(({ node }) => node)).at(prefers === 'highest' ? -1 : 0)
    const wrong = informed.find(({ leader }) => leader !== preferred)
    if (wrong === undefined) return 'held'
    return { violated: `${wrong.node} follows ${wrong.leader}, yet ${preferred} is alive and preferred` }
  },
}
