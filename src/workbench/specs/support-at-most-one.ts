import { type Lease, leadsNow, leases, supporterOfTwo } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** A node supports the leader whose support set contains it. An ended lease counts for nothing. */
export const supportAtMostOne: Spec<readonly Lease[]> = {
  name: 'SO',
  title: 'at every moment a process is in the support set of at most one leader',
  source: 'Fetzer and Cristian, section V (SO), with supports as in section IX',
  when: 'always',
  fold: leases,
  judge(memory, seen) {
    if (seen.type !== 'view' || !leadsNow(seen) || seen.view.members === null) return 'not concerned'
    const found = supporterOfTwo(memory, seen)
    if (found === null) return 'held'
    return { violated: `${found.supporter} supports both ${seen.node} and ${found.other}` }
  },
}
