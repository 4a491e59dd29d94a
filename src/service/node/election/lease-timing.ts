/** How long a lease lasts and how early it is renewed, which is known before any node leads. */
import { present } from '../../../core/index.ts'
import { type Assumed, hostingOf } from '../../../protocols/index.ts'
import type { NetworkElectionSettings, StoreElectionSettings } from '../../config/election-settings.ts'
import { type JoinOptions, networkSettings } from '../../config/join-options.ts'
import { isStoreJoin, type StoreJoinOptions, storeSettings } from '../../config/store-join-options.ts'

export type LeaseTiming = {
  /** How long a lease lasts unless it is renewed. Where there are no leases: how long an answer of a peer counts. */
  readonly lengthMs: number
  /** What remains of the lease when its first renewal succeeds and takes as long as allowed. */
  readonly marginMs: number
}

export function leaseTiming(settings: NetworkElectionSettings | StoreElectionSettings): LeaseTiming {
  const { protocol, options, nodes } = settings
  const { lease, margin } = present(hostingOf(protocol), protocol).leaseLength(options, nodes)
  return { lengthMs: lease / 1000, marginMs: margin / 1000 }
}

/** What the protocol assumes of hosts and network; null if it does not say. */
export function assumedBy(settings: NetworkElectionSettings | StoreElectionSettings): Assumed | null {
  const { protocol, options, nodes } = settings
  return hostingOf(protocol)?.assumptions?.assumed(options, nodes) ?? null
}

/** The lease of a node that would join with these options, in which all peers have ids. */
export function leaseTimingOf(asked: JoinOptions | StoreJoinOptions): LeaseTiming {
  return leaseTiming(isStoreJoin(asked) ? storeSettings(asked) : networkSettings(asked))
}
