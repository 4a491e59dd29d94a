/**
 * Compares the lengths of leases in the registers of a store. After another leader, a node waits for the end of a lease of
 * its own length. If the leases of that leader are longer, both lead at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeId } from '../../../core/index.ts'
import type { RegisterBlock, Registers } from '../../registers/index.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import type { ElectionEvents } from './election.ts'
import type { Blocks } from './election-in-store.ts'

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
  compare(id: NodeId, block: RegisterBlock): void {
    const leaseMs = id === this.#self ? null : otherLength(block, this.#ours)
    if (leaseMs === null || this.#reported.get(id) === leaseMs) return
    this.#reported.set(id, leaseMs)
    this.#events.warn(
      'mismatch',
      `${id} is configured differently: its leases last ${leaseMs} ms, and those of this node ${this.#ours} ms, so that two nodes can lead at once; use the same profile and options on all nodes`,
    )
  }
}

/** Null if no process holds the register, or if its leases have the same length. */
function otherLength({ holder, leaseMs }: RegisterBlock, ours: number): number | null {
  return holder === null || leaseMs === undefined || leaseMs === ours ? null : leaseMs
}

/** How often the registers are read while this node waits for a renewal. */
const READS = 4
/** A crashed node with long leases must not delay the start for longer. */
const MOST_WATCH_MS = 10_000

export type Watch = { readonly self: NodeId; readonly leaseMs: number; readonly mostMs?: number }

/**
 * Throws if a node with leases of another length leads. A leader renews its lease before it ends, so a register that has
 * not changed for longer has no leader: its process has crashed, or follows. A leader that writes less often than every
 * 10 s is missed, and warned of (`LeaseLengths`). `first`: the registers as this node found them.
 */
export async function refuseOtherLeader(
  registers: Pick<Registers, 'readAll'>,
  { self, leaseMs, mostMs = MOST_WATCH_MS }: Watch,
  first: Blocks,
): Promise<void> {
  const lengths = new Map(
    [...first].flatMap(([id, block]) => {
      const length = id === self ? null : otherLength(block, leaseMs)
      return length === null ? [] : [[id, length] as const]
    }),
  )
  const watchMs = Math.min(mostMs, Math.max(...lengths.values()))
  for (let reads = 0; lengths.size > 0 && reads <= READS; reads++) {
    // oxlint-disable-next-line no-await-in-loop -- one read after the other
    await sleep(watchMs / READS)
    // oxlint-disable-next-line no-await-in-loop -- one read after the other
    const read = await registers.readAll()
    const blocks = read.outcome === 'ok' ? read.blocks : first
    for (const [id, theirs] of lengths) {
      if (blocks.get(id)?.sequence === first.get(id)?.sequence) continue
      throw new InvalidOptionsError(
        'profile',
        `${id} writes to this store, and its leases last ${theirs} ms, but those of this node ${leaseMs} ms, so that both could lead at once; use the same profile and options on all nodes`,
      )
    }
  }
}
