/**
 * Memory shared by the theorems on Phi, Psi and Omega as printed: each node's view of its links and
 * component.
 */
import { equalPlain, type NodeId, type Plain, type Role } from '../../../core/index.ts'
import type { Fold } from '../spec.ts'

export type Linked = {
  readonly node: NodeId
  readonly up: boolean
  readonly role: Role | null
  /** Its logical component; null if it is dead. */
  readonly members: readonly NodeId[] | null
  readonly linked: readonly NodeId[]
  readonly suspects: readonly NodeId[]
  /** The number of messages it remembers. */
  readonly notes: number
}

export const linkedNodes: Fold<readonly Linked[]> = {
  begin: ({ nodes }) => nodes.map(absent),
  next(memory, seen) {
    if (seen.type === 'down') return update(memory, absent(seen.node))
    if (seen.type !== 'view') return memory
    const detail: { readonly [field: string]: Plain } = seen.view.detail ?? {}
    return update(memory, {
      node: seen.node,
      up: true,
      role: seen.view.role,
      members: seen.view.members,
      linked: (detail['linked'] ?? []) as readonly NodeId[],
      suspects: (detail['suspects'] ?? []) as readonly NodeId[],
      notes: (detail['notes'] ?? 0) as number,
    })
  },
}

function absent(node: NodeId): Linked {
  return { node, up: false, role: null, members: null, linked: [], suspects: [], notes: 0 }
}

function update(memory: readonly Linked[], next: Linked): readonly Linked[] {
  const place = memory.findIndex(({ node }) => node === next.node)
  const was = memory[place]
  return was === undefined || equalPlain(was, next) ? memory : memory.with(place, next)
}
