/**
 * The primary partition, section 6 of the paper as corrected in 4(g). A node is in the primary partition of an epoch if
 * it has learned who leads the epoch, and the leader is in its view.
 *
 * Once START lets it act, the leader fences every node outside its view, within its lease and with the epoch as the token.
 * It acts only when all of them are confirmed. Fencing devices keep the greatest token and refuse smaller ones. So a
 * leader that wakes up after a long sleep cannot undo what a later leader has done.
 */
import type { NodeId } from '../../core/index.ts'
import type { EpochsState, Partition } from './state.ts'

export const NO_PARTITION: Partition = { view: null, fencing: null }

/** Null if unknown: the node has no view, or has not learned the leader of its epoch. */
export function isPrimary({ learned, time }: EpochsState): boolean | null {
  const view = time?.partition.view ?? null
  return view === null || learned === null ? null : view.includes(learned)
}

/** Sets the nodes that a leader of this epoch must fence before it acts: all nodes outside its view. */
export function withFencing(partition: Partition, epoch: number, nodes: readonly NodeId[]): Partition {
  const { view } = partition
  const targets = view === null ? [] : nodes.filter((id) => !view.includes(id))
  return { ...partition, fencing: targets.length === 0 ? null : { token: epoch, targets, asked: false } }
}

/** A device has confirmed that it fences this node with this token. */
export function confirmFenced(partition: Partition, of: NodeId, token: number): Partition {
  const { fencing } = partition
  if (fencing === null || fencing.token !== token || !fencing.targets.includes(of)) return partition
  const targets = fencing.targets.filter((id) => id !== of)
  return { ...partition, fencing: targets.length === 0 ? null : { ...fencing, targets } }
}
