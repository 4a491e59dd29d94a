import { type Belief, beliefs, living } from './beliefs.ts'
import type { Spec } from './spec.ts'

/** What exclusive protocols promise and elections by message alone cannot: no two at once, ever. */
export const oneLeader: Spec<readonly Belief[]> = {
  name: 'one-leader',
  title: 'at every moment at most one living process leads',
  source: 'Edinburgh lecture 11, the definition of a leader election ("a unique leader"), at every moment',
  when: 'always',
  fold: beliefs,
  judge(memory, seen) {
    if (seen.type !== 'view' || seen.view.role !== 'leader') return 'not concerned'
    const leaders = living(memory).filter(({ role }) => role === 'leader')
    if (leaders.length < 2) return 'held'
    return { violated: `${leaders.map(({ node }) => node).join(' and ')} lead at the same time` }
  },
}
