/** What a backend knows about its nodes apart from the election itself: measurements, and what nodes tell each other. */
import type { Micros, NodeId } from '../../../core/index.ts'
import { type Hearing, type Measured, NO_DETAILS, type NodeDetails } from '../../runtime/index.ts'
import type { CoreStatus, ElectionStatus } from './election.ts'

/** Plain data, so that a worker can send it. Ages count from `at`, on the clock of the process. */
export type Observed = {
  readonly at: Micros
  readonly measured: Measured
  readonly nodes: readonly (readonly [NodeId, NodeDetails])[]
}

/** The status with what was observed, which may be a little older. */
export function withObserved(core: CoreStatus, { at, measured, nodes }: Observed): ElectionStatus {
  const known = new Map(nodes)
  const laterMs = Math.max(0, (core.now - at) / 1000)
  return {
    ...core,
    measured,
    nodes: core.nodes.map((node) => ({ ...node, ...later(known.get(node.id) ?? NO_DETAILS, laterMs) })),
  }
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
