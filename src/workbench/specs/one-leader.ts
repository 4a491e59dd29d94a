import { isOn, type Lease, leadsNow, leases, otherLeader } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/**
 * What exclusive protocols promise and elections by message alone cannot: no two at once, ever. A lease counts up to
 * its end in true time, also where its holder has not noticed that it is over, and not beyond.
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
