/** Who led each epoch, as the nodes themselves say when they have won it: the paper's history variable LeaderChosenAtT. */
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

  /** In the order of the epochs. Of two leaders of one epoch the first is shown; the specification tells of both. */
  byEpoch(): { readonly [epoch: string]: NodeId } {
    return Object.fromEntries([...this.#leaders].sort(([a], [b]) => a - b))
  }
}
