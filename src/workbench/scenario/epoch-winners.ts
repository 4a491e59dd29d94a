/**
 * The leader of each epoch, as nodes report it when they win: the paper's history variable LeaderChosenAtT.
 */
import type { NodeId } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'

export class EpochWinners {
  readonly #leaders = new Map<number, NodeId>()

  observe(seen: Observation): void {
    if (seen.type !== 'output' || seen.event.type !== 'learned') return
    const { epoch, leader } = seen.event
    if (typeof epoch !== 'number' || leader !== seen.node || this.#leaders.has(epoch)) return
    this.#leaders.set(epoch, seen.node)
  }

  /** In epoch order. If an epoch has two leaders, the first is shown; the specification reports both. */
  byEpoch(): { readonly [epoch: string]: NodeId } {
    return Object.fromEntries([...this.#leaders].sort(([a], [b]) => a - b))
  }
}
