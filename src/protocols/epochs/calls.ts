/** Register calls. The reads of a round carry the number of the round, so that a node recognizes late replies. */
import { callRegister, type Effect, type Identity, type NodeId, type RegisterCall } from '../../core/index.ts'
import type { Block } from './block.ts'

type Call = Effect<never, never>

/** No group has this many nodes: the id of a call gives its round even if the group has changed since. */
const MOST_NODES = 2 ** 14

export function calls({ self, nodes }: Identity) {
  const idOf = (round: number, of: NodeId): number => round * MOST_NODES + nodes.indexOf(of)
  return {
    reads: (round: number, of: readonly NodeId[]): readonly Call[] =>
      of.map((each) => callRegister({ id: idOf(round, each), op: 'read', of: each })),
    write: (round: number, value: Block): Call => callRegister({ id: idOf(round, self), op: 'write', value }),
    bury: (round: number, of: NodeId, value: Block | null): Call =>
      callRegister({ id: idOf(round, of), op: 'bury', of, value }),
    roundOf: ({ id }: RegisterCall): number => Math.floor(id / MOST_NODES),
  }
}
