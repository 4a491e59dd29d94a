import { type Belief, beliefs, living } from './memory/beliefs.ts'
import type { Spec } from './spec.ts'

/** The lecture's Liveness accepts a crashed leader; this specification does not. */
export const liveLeader: Spec<readonly Belief[]> = {
  name: 'live-leader',
  title: 'once settled, every living process has a leader, and it is alive and leads',
  source: 'Edinburgh lecture 11, Liveness; a crashed leader does not count',
  when: 'settled',
  fold: beliefs,
  judge(memory, seen) {
    if (seen.type !== 'settled' || seen.connected !== 'full') return 'not concerned'
    const alive = living(memory)
    if (alive.length === 0) return 'not concerned'
    for (const { node, leader } of alive) {
      if (leader === null) return { violated: `${node} has no leader` }
      const followed = alive.find((other) => other.node === leader)
      if (followed === undefined) return { violated: `${node} follows ${leader}, which is down` }
      if (followed.role !== 'leader') {
        return { violated: `${node} follows ${leader}, which does not lead but is ${followed.role}` }
      }
    }
    return 'held'
  },
}
