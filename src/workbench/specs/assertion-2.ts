import { type Member, members } from './memory/assertions.ts'
import type { Spec } from './spec.ts'

export const assertion2: Spec<readonly Member[]> = {
  name: 'assertion-2',
  title:
    'once settled, one living process is Normal and its own coordinator, and all others are Normal under it',
  source: 'Garcia-Molina 1982, Assertion 2',
  when: 'settled',
  fold: members,
  judge(memory, seen) {
    if (seen.type !== 'settled' || seen.connected !== 'full') return 'not concerned'
    const living = memory.filter(({ up }) => up)
    if (living.length === 0) return 'not concerned'
    const leader = living.find(({ node, status, coordinator }) => status === 'Normal' && coordinator === node)
    if (leader === undefined) return { violated: 'no node is Normal and its own coordinator' }
    const odd = living.find(({ status, coordinator }) => status !== 'Normal' || coordinator !== leader.node)
    if (odd === undefined) return 'held'
    return {
      violated: `${odd.node} is ${odd.status} under ${odd.coordinator}, not Normal under ${leader.node}`,
    }
  },
}
