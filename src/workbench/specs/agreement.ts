import type { Belief } from './memory/beliefs.ts'
import { beliefs, living } from './memory/beliefs.ts'
import type { Spec } from './spec.ts'

/**
 * The lecture requires at every moment that electd is ⊥ or *the* leader. No algorithm with messages in flight
 * can provide that, so it is checked in settled states.
 */
export const agreement: Spec<readonly Belief[]> = {
  name: 'agreement',
  title: 'once settled, no two living processes take different processes for the leader',
  source: 'Edinburgh lecture 11, Safety; restricted to settled moments',
  when: 'settled',
  fold: beliefs,
  judge(memory, seen) {
    if (seen.type !== 'settled' || seen.connected !== 'full') return 'not concerned'
    const informed = living(memory).filter(({ leader }) => leader !== null)
    const [first] = informed
    if (first === undefined) return 'not concerned'
    const other = informed.find(({ leader }) => leader !== first.leader)
    if (other === undefined) return 'held'
    return { violated: `${first.node} follows ${first.leader} but ${other.node} follows ${other.leader}` }
  },
}
