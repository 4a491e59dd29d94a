/** Memory shared by many specifications: which nodes are up, and which leader each believes in. */
import type { NodeId, Role } from '../../../core/index.ts'
import type { Fold } from '../spec.ts'

export type Belief = {
  readonly node: NodeId
  readonly up: boolean
  readonly role: Role | null
  readonly leader: NodeId | null
}

export const beliefs: Fold<readonly Belief[]> = {
  begin: ({ nodes }) => nodes.map((node) => ({ node, up: false, role: null, leader: null })),
  next(memory, seen) {
    switch (seen.type) {
      case 'view':
        return update(memory, seen.node, true, seen.view.role, seen.view.leader)
      case 'down':
        return update(memory, seen.node, false, null, null)
      case 'up':
        return update(memory, seen.node, true, null, null)
      default:
        return memory
    }
  },
}

/** Returns the same memory if the view changes nothing, which is the common case. */
function update(
  memory: readonly Belief[],
  node: NodeId,
  up: boolean,
  role: Role | null,
  leader: NodeId | null,
): readonly Belief[] {
  const place = memory.findIndex((belief) => belief.node === node)
  const was = memory[place]
  if (was === undefined) return memory
  if (was.up === up && was.role === role && was.leader === leader) return memory
  return memory.with(place, { node, up, role, leader })
}

export function living(memory: readonly Belief[]): readonly Belief[] {
  return memory.filter(({ up }) => up)
}
