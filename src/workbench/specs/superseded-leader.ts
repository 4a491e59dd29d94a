import type { Micros, NodeId } from '../../core/index.ts'
import { type ActingLeader, nextActing } from './memory/acting-leaders.ts'
import type { Spec } from './spec.ts'

type Superseding = {
  readonly acting: readonly ActingLeader[]
  /** The longest delay of a message or due timer so far, according to the world. */
  readonly delay: Micros
  /** Nodes that are paused or suspended: they can neither act nor notice anything. */
  readonly stalled: readonly NodeId[]
  /** When each node's last stall ended. */
  readonly resumed: readonly (readonly [node: NodeId, at: Micros])[]
}

/**
 * Without leases the leaders of two views may overlap: the older one notices when its links to the nodes that
 * left its view go down. Tokens protect against its actions until then. The tenth allows for clock drift.
 */
export const supersededLeader: Spec<Superseding> = {
  name: 'superseded-leader',
  title:
    'an application stops leading within the link timeout after another began to lead with a larger token',
  source: 'Franceschetti & Bruck 1999, section 3.4, in true time; where views need a quorum',
  when: 'always',
  fold: {
    begin: () => ({ acting: [], delay: 0, stalled: [], resumed: [] }),
    next(memory, seen) {
      if (seen.type === 'disturbed') {
        const { delay = 0, stalled = [] } = seen
        const released = memory.stalled.filter((node) => !stalled.includes(node))
        const resumed = [
          ...memory.resumed.filter(([node]) => !released.includes(node)),
          ...released.map((node) => [node, seen.at] as const),
        ]
        return { acting: memory.acting, delay: Math.max(memory.delay, delay), stalled, resumed }
      }
      const acting = nextActing(memory.acting, seen)
      return acting === memory.acting ? memory : { ...memory, acting }
    },
  },
  judge({ acting, delay, stalled, resumed }, seen, { constants }) {
    if (acting.length < 2) return acting.length === 1 && seen.type === 'output' ? 'held' : 'not concerned'
    const within = (constants['linkTimeout'] ?? 0) * 1.1 + 6 * delay
    for (const older of acting) {
      if (stalled.includes(older.node)) continue
      const free = resumed.find(([node]) => node === older.node)?.[1] ?? 0
      const newer = acting.find(
        ({ token, since }) => token > older.token && seen.at - Math.max(since, free) > within,
      )
      if (newer !== undefined) {
        return {
          violated: `${older.node} still leads with token ${older.token}, though ${newer.node} has led with token ${newer.token} for ${(seen.at - newer.since) / 1000} ms`,
        }
      }
    }
    return 'held'
  },
}
