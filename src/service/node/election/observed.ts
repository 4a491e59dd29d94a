/** What a backend knows about its nodes apart from the election itself: measurements, and what nodes tell each other. */
import type { Micros, NodeId } from '../../../core/index.ts'
import type { LeaseInsight } from '../../../protocols/index.ts'
import { type Hearing, type Measured, NO_DETAILS, type NodeDetails } from '../../runtime/index.ts'
import type { CoreStatus, ElectionStatus, NodeReach } from './election.ts'

/** Plain data, so that a worker can send it. Ages count from `at`, on the clock of the process. */
export type Observed = {
  readonly at: Micros
  readonly measured: Measured
  /** Where leases tune themselves. */
  readonly timing: LeaseInsight | null
  readonly nodes: readonly (readonly [NodeId, NodeDetails])[]
}

/** The status with what was observed, which may be a little older. */
export function withObserved(core: CoreStatus, { at, measured, timing, nodes }: Observed): ElectionStatus {
  const known = new Map(nodes)
  const laterMs = Math.max(0, (core.now - at) / 1000)
  return {
    ...core,
    measured,
    timing,
    nodes: core.nodes.map((node) => {
      const details = later(known.get(node.id) ?? NO_DETAILS, laterMs)
      return { ...(details.role === 'observer' ? observerReach(node) : node), ...details }
    }),
  }
}

/** Observers tell every second that they are there. */
const OBSERVER_SILENT_MS = 4000

/** An observer takes part in no election, so no protocol has evidence that it is reachable. */
function observerReach(node: NodeReach): NodeReach {
  const { reachable, heardMsAgo } = node
  if (reachable || heardMsAgo === null || heardMsAgo >= OBSERVER_SILENT_MS) return node
  return { ...node, reachable: true, evidenceMsAgo: heardMsAgo }
}

function later(details: NodeDetails, byMs: number): NodeDetails {
  if (byMs === 0) return details
  const { hears, lastTerm } = details
  return {
    ...details,
    hears:
      hears === null
        ? null
        : Object.fromEntries(Object.entries(hears).map(([id, hearing]) => [id, heardLater(hearing, byMs)])),
    lastTerm: lastTerm === null ? null : { ...lastTerm, endedMsAgo: lastTerm.endedMsAgo + byMs },
  }
}

function heardLater({ heardMsAgo, rttMs }: Hearing, byMs: number): Hearing {
  return { heardMsAgo: heardMsAgo === null ? null : heardMsAgo + byMs, rttMs }
}
