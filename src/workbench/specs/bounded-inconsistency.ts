import { msOf } from '../../core/index.ts'
import { type Connections, connections } from './memory/connections.ts'
import { leadsNow } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/**
 * The constant is the protocol's `kappaBI`. Nothing is required of observers, which the paper does not have.
 */
export const boundedInconsistency: Spec<Connections> = {
  name: 'BI',
  title: 'a leader has the support of every process with which it has been connected for κ',
  source: 'Fetzer and Cristian, section V (BI)',
  when: 'always',
  fold: connections,
  judge({ system }, seen) {
    const { kappa, unsupported, since, nodes } = system
    if (unsupported !== null) {
      const { leader, process, since: from } = unsupported
      return {
        violated: `${leader} led without the support of ${process}, with which it was connected since ${msOf(from)} ms`,
      }
    }
    if (kappa === null || seen.type !== 'view' || !leadsNow(seen)) return 'not concerned'
    const row = since[nodes.indexOf(seen.node)] ?? []
    return row.some((from) => from !== null && from + kappa <= seen.at) ? 'held' : 'not concerned'
  },
}
