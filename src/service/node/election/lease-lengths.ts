/**
 * Compares the lengths of leases in the registers of a store. After another leader, a node waits for the end of a lease of
 * its own length. If the leases of that leader are longer, both lead at once.
 */
import type { NodeId } from '../../../core/index.ts'
import type { RegisterBlock } from '../../registers/index.ts'
import type { ElectionEvents } from './election.ts'

export class LeaseLengths {
  readonly #self: NodeId
  readonly #ours: number
  readonly #events: Pick<ElectionEvents, 'warn'>
  readonly #reported = new Map<NodeId, number>()

  constructor(self: NodeId, leaseMs: number, events: Pick<ElectionEvents, 'warn'>) {
    this.#self = self
    this.#ours = leaseMs
    this.#events = events
  }

  /** Warns once of each length that differs, while a process holds the register. */
  compare(id: NodeId, { holder, leaseMs }: RegisterBlock): void {
    if (id === this.#self || holder === null || leaseMs === undefined || leaseMs === this.#ours) return
    if (this.#reported.get(id) === leaseMs) return
    this.#reported.set(id, leaseMs)
    this.#events.warn(
      'mismatch',
      `${id} is configured differently: its leases last ${leaseMs} ms, and those of this node ${this.#ours} ms, so that two nodes can lead at once; use the same profile and options on all nodes`,
    )
  }
}
