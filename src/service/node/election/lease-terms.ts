/** How long a lease lasts and how soon it is renewed, which is known before anybody leads. */
import { leaseLength } from '../../../protocols/index.ts'
import { type JoinOptions, settingsOf } from '../api/join-options.ts'
import { isStoreJoin, type StoreJoinOptions, storeSettingsOf } from '../api/join-store-options.ts'
import type { NetworkElectionSettings } from './election.ts'
import type { StoreElectionSettings } from './in-store.ts'

export type LeaseTiming = {
  /** How long it lasts unless it is renewed. Under omega, which has no leases: how long an answer of a peer counts. */
  readonly lengthMs: number
  /** What is left of it when it has been renewed by the first try, which took as long as it may. */
  readonly marginMs: number
}

export function leaseTiming(settings: NetworkElectionSettings | StoreElectionSettings): LeaseTiming {
  const protocol = 'protocol' in settings ? settings.protocol : 'epochs'
  const { lease, margin } = leaseLength(protocol, settings.options, settings.nodes)
  return { lengthMs: lease / 1000, marginMs: margin / 1000 }
}

/** Of whoever would join so, all of whose peers have ids. */
export function leaseTimingOf(asked: JoinOptions | StoreJoinOptions): LeaseTiming {
  return leaseTiming(isStoreJoin(asked) ? storeSettingsOf(asked) : settingsOf(asked))
}
