/**
 * The primary partition, section 6 of the paper as corrected in 4(g): a node is in the primary partition of an epoch if
 * it has learned who leads the epoch, and that one is in its view. The leader fences whoever is outside of its view, with
 * the epoch as the token, and acts only when every one of them is confirmed. Devices keep the greatest token and refuse
 * smaller ones; so a leader that comes back from a long sleep cannot undo what a later one has done.
 */
import { type Effect, type NodeId, output } from '../../core/index.ts'
import type { EpochsState, Partition, Timed } from './state.ts'

export const NO_PARTITION: Partition = { view: null, fencing: null }

/** Null where nothing can be said: no view, or an epoch whose leader this node has not learned. */
export function isPrimary({ learned, time }: EpochsState): boolean | null {
  const view = time?.partition.view ?? null
  return view === null || learned === null ? null : view.includes(learned)
}

export type Fencing = { readonly partition: Partition; readonly effects: readonly Effect<never, never>[] }

/** What a leader of this epoch has to fence before it acts; nothing where nobody is outside of its view. */
export function fence({ partition }: Timed, epoch: number, nodes: readonly NodeId[]): Fencing {
  const { view } = partition
  const targets = view === null ? [] : nodes.filter((id) => !view.includes(id))
  if (targets.length === 0) return { partition: { ...partition, fencing: null }, effects: [] }
  return {
    partition: { ...partition, fencing: { token: epoch, targets } },
    effects: [output({ type: 'fence', targets, token: epoch })],
  }
}

/** One target is confirmed to be fenced with this token. */
export function confirmed(partition: Partition, of: NodeId, token: number): Partition {
  const { fencing } = partition
  if (fencing === null || fencing.token !== token || !fencing.targets.includes(of)) return partition
  const targets = fencing.targets.filter((id) => id !== of)
  return { ...partition, fencing: targets.length === 0 ? null : { token, targets } }
}
