import { type ActingLeader, actingLeaders } from './memory/acting-leaders.ts'
import type { Spec } from './spec.ts'

/**
 * Judged on notifications to applications, not on roles: the leader of a view without a quorum does not act.
 */
export const oneActingLeader: Spec<readonly ActingLeader[]> = {
  name: 'one-acting-leader',
  title: 'once settled, at most one application leads',
  source:
    'Franceschetti & Bruck 1999, introduction ("led by a unique leader"), for the whole group where views need a quorum',
  when: 'settled',
  fold: actingLeaders,
  judge(memory, seen) {
    if (seen.type !== 'settled' || memory.length === 0) return 'not concerned'
    if (memory.length === 1) return 'held'
    const leaders = memory.map(({ node, token }) => `${node} (token ${token})`).join(' and ')
    return { violated: `${leaders} both lead, and nothing more will happen` }
  },
}
