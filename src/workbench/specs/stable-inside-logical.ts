import { msOf } from '../../core/index.ts'
import { type Connections, connections } from './memory/connections.ts'
import { leadsNow, otherLeader, supporterOfTwo } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** A leader's logical partition is its support set. That there is a leader at all is the requirement of T. */
export const stableInsideLogical: Spec<Connections> = {
  name: 'stable-inside-logical',
  title: 'logical partitions do not overlap, and hold every stable partition of age κ that a leader is in',
  source: 'Fetzer and Cristian, section VI; with logical partitions as in section X',
  when: 'always',
  fold: connections,
  judge({ leases, system }, seen) {
    const { kappa, stable, leftOut } = system
    if (leftOut !== null) {
      const { leader, process, since } = leftOut
      return {
        violated: `${leader} led without ${process}, though both were in one stable partition since ${msOf(since)} ms`,
      }
    }
    if (seen.type !== 'view' || !leadsNow(seen)) return 'not concerned'
    const twice = supporterOfTwo(leases, seen)
    if (twice !== null) {
      return {
        violated: `${twice.supporter} is in the logical partitions of both ${seen.node} and ${twice.other}`,
      }
    }
    if (otherLeader(leases, seen) !== null) return 'held'
    if (kappa === null) return 'not concerned'
    const part = stable.find(({ members }) => members.includes(seen.node))
    return part !== undefined && part.since + kappa <= seen.at ? 'held' : 'not concerned'
  },
}
