import { isOn, type Lease, leadsNow, leases, otherLeader } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/**
 * The promise of exclusive protocols, which elections by messages alone cannot give: never two leaders at
 * once. A lease counts up to its end in true time, whether or not its holder has noticed.
 */
export const oneLeader: Spec<readonly Lease[]> = {
  name: 'one-leader',
  title: 'at every moment at most one living process leads',
  source:
    'Edinburgh lecture 11, the definition of a leader election ("a unique leader"), at every moment of true time',
  when: 'always',
  fold: leases,
  judge(memory, seen) {
    if (seen.type !== 'view' || !leadsNow(seen)) return 'not concerned'
    if (otherLeader(memory, seen) === null) return 'held'
    const leaders = memory.filter((lease) => isOn(lease, seen.at))
    return { violated: `${leaders.map(({ node }) => node).join(' and ')} lead at the same time` }
  },
}
