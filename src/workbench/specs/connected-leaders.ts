import { type Belief, beliefs, living } from './memory/beliefs.ts'
import { graphOf } from './memory/graphs.ts'
import type { Spec } from './spec.ts'

/**
 * Invariant I6 of Omega+. Two nodes may lead while messages between them are in flight, but not afterwards.
 */
export const connectedLeaders: Spec<readonly Belief[]> = {
  name: 'connected-leaders',
  title: 'no two leaders are linked with each other, once nothing is in flight between them',
  source:
    'Franceschetti & Bruck 1999, introduction ("a consistent global state, led by a unique leader"), component by component',
  when: 'settled',
  fold: beliefs,
  judge(memory, seen) {
    if (seen.type === 'quiet') return { violated: `${seen.between.join(' and ')} both lead, and are linked` }
    if (seen.type !== 'settled') return 'not concerned'
    const alive = living(memory)
    const leaders = alive.filter(({ role }) => role === 'leader').map(({ node }) => node)
    if (leaders.length === 0) return 'not concerned'
    const { linked } = graphOf(
      alive.map(({ node }) => node),
      seen.connected,
    )
    for (const [place, a] of leaders.entries()) {
      const b = leaders.slice(place + 1).find((other) => linked(a, other))
      if (b !== undefined) return { violated: `${a} and ${b} both lead, and are linked` }
    }
    return 'held'
  },
}
