import { type Lease, leadsNow, leases } from './memory/leases.ts'
import type { Spec } from './spec.ts'

/** A leader without a support set does not support itself. */
export const leaderSelfSupport: Spec<readonly Lease[]> = {
  name: 'LS',
  title: 'at every moment a leader is in its own support set',
  source: 'Fetzer and Cristian, section V (LS)',
  when: 'always',
  fold: leases,
  judge(_memory, seen) {
    if (seen.type !== 'view' || !leadsNow(seen)) return 'not concerned'
    const { members } = seen.view
    if (members?.includes(seen.node)) return 'held'
    return { violated: `${seen.node} leads with the support of {${members?.join(', ') ?? ''}}, not its own` }
  },
}
