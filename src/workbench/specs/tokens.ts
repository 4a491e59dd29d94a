import type { NodeId } from '../../core/index.ts'
import { type Lease, leadsNow, leaseOf, leases } from './memory/leases.ts'
import type { Spec } from './spec.ts'

type Tokens = {
  readonly leases: readonly Lease[]
  /** The largest token so far, and its owner. */
  readonly largest: { readonly token: number; readonly owner: NodeId } | null
  readonly wrong: string | null
}

/**
 * A resource that remembers the largest token can refuse all earlier leaders. An ended term does not resume:
 * a node that leads again, even by a late renewal, needs a new token.
 */
export const tokens: Spec<Tokens> = {
  name: 'tokens',
  title: 'the token of every term is larger than that of every term that began before it',
  source: 'fencing tokens; the paper has none',
  when: 'always',
  fold: {
    begin: (run) => ({ leases: leases.begin(run), largest: null, wrong: null }),
    next(memory, seen) {
      const after = leases.next(memory.leases, seen)
      if (after === memory.leases) return memory
      const { largest, wrong } = memory
      if (seen.type !== 'view' || !leadsNow(seen) || seen.view.token === null) {
        return { leases: after, largest, wrong }
      }
      const { node, at } = seen
      const { token } = seen.view
      const was = leaseOf(memory.leases, node)
      const goesOn = was !== null && was.token === token && (was.until === null || was.until > at)
      if (goesOn) return { leases: after, largest, wrong }
      if (largest === null || token > largest.token) {
        return { leases: after, largest: { token, owner: node }, wrong }
      }
      const isOld = token === largest.token && node === largest.owner
      const why = isOld
        ? `${node} leads again with token ${token}, though that term had ended`
        : `${node} begins to lead with token ${token}, after ${largest.owner} has led with ${largest.token}`
      return { leases: after, largest, wrong: wrong ?? why }
    },
  },
  judge({ wrong }, seen) {
    if (wrong !== null) return { violated: wrong }
    const concerned = seen.type === 'view' && seen.view.token !== null && leadsNow(seen)
    return concerned ? 'held' : 'not concerned'
  },
}
