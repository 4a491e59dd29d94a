/**
 * The primary partition, section 6 of the paper as corrected in 4(g): a node is in the primary partition of an epoch if
 * it has learned who leads the epoch, and that one is in its view. The leader fences whoever is outside of its view, with
 * the epoch as the token, once START lets it act and inside its lease; and it acts only when every one is confirmed. Devices keep the greatest token and refuse
 * smaller ones; so a leader that comes back from a long sleep cannot undo what a later one has done.
 */
import type { NodeId } from '../../core/index.ts'
import type { EpochsState, Partition } from './state.ts'

export const NO_PARTITION: Partition = { view: null, fencing: null }

/** Null where nothing can be said: no view, or an epoch whose leader this node has not learned. */
export function isPrimary({ learned, time }: EpochsState): boolean | null {
  const view = time?.partition.view ?? null
  return view === null || learned === null ? null : view.includes(learned)
}

/** Whom a leader of this epoch has to fence before it acts; nobody where none is outside of its view. */
export function toFence(partition: Partition, epoch: number, nodes: readonly NodeId[]): Partition {
  const { view } = partition
  const targets = view === null ? [] : nodes.filter((id) => !view.includes(id))
  return { ...partition, fencing: targets.length === 0 ? null : { token: epoch, targets, asked: false } }
}

/** One target is confirmed to be fenced with this token. */
export function confirmed(partition: Partition, of: NodeId, token: number): Partition {
  const { fencing } = partition
  if (fencing === null || fencing.token !== token || !fencing.targets.includes(of)) return partition
  const targets = fencing.targets.filter((id) => id !== of)
  return { ...partition, fencing: targets.length === 0 ? null : { ...fencing, targets } }
}
