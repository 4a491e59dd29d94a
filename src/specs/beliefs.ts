/** Memory that many specifications share: who is up, and whom each takes for the leader. */
import type { NodeId, Role } from '../core/index.ts'
import type { Fold } from './spec.ts'

export type Belief = {
  readonly node: NodeId
  readonly up: boolean
  readonly role: Role | null
  readonly leader: NodeId | null
}

export const beliefs: Fold<readonly Belief[]> = {
  begin: ({ nodes }) => nodes.map(unknown),
  next(memory, seen) {
    switch (seen.type) {
      case 'view': {
        const { role, leader } = seen.view
        return update(memory, { node: seen.node, up: true, role, leader })
      }
      case 'down':
        return update(memory, unknown(seen.node))
      case 'up':
        return update(memory, { ...unknown(seen.node), up: true })
      default:
        return memory
    }
  },
}

function unknown(node: NodeId): Belief {
  return { node, up: false, role: null, leader: null }
}

function update(memory: readonly Belief[], next: Belief): readonly Belief[] {
  const index = memory.findIndex(({ node }) => node === next.node)
  const was = memory[index]
  if (was === undefined) return memory
  if (was.up === next.up && was.role === next.role && was.leader === next.leader) return memory
  return memory.with(index, next)
}

export function living(memory: readonly Belief[]): readonly Belief[] {
  return memory.filter(({ up }) => up)
}
