/** How long a leadership lasts unless it is renewed, and by when it is renewed: from the constants alone. */
import { type Micros, microsOf, type NodeId, type PlainObject } from '../core/index.ts'
import { type EpochsOptions, givenBy as epochsGiven } from './epochs/options.ts'
import { timingOf as epochsTiming } from './epochs/timing.ts'
import { timingOf } from './local-leader/constants.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './local-leader/options.ts'
import type { OmegaOptions } from './omega/group.ts'

export type LeaseLength = {
  readonly lease: Micros
  /** What is left of it when it has been renewed by the first try, which took as long as it may. */
  readonly margin: Micros
}

/** `options` have been checked and filled in. Under omega, which has no leases: how long an answer of a peer counts. */
export function leaseLength(
  protocol: 'local-leader' | 'omega' | 'epochs',
  options: PlainObject,
  nodes: readonly NodeId[],
): LeaseLength {
  switch (protocol) {
    case 'local-leader': {
      const chosen = options as unknown as LocalLeaderOptions
      const { lease, tries, tryTime, collection } = timingOf(givenBy(chosen, votersIn(chosen, nodes).length))
      return { lease, margin: tries * tryTime - collection }
    }
    case 'epochs': {
      const { lease, period, access } = epochsTiming(epochsGiven(options as unknown as EpochsOptions))
      // A renewal is one write and one round of reads.
      return { lease, margin: lease - period - 2 * access }
    }
    case 'omega': {
      const { detector, timeoutMs, pingMs, alphaMs, retransmitMs } = options as unknown as OmegaOptions
      const lease = microsOf(detector === 'nfd-e' ? Math.min(timeoutMs, pingMs + alphaMs) : timeoutMs)
      return { lease, margin: Math.max(0, lease - microsOf(pingMs + retransmitMs)) }
    }
    default:
      return protocol satisfies never
  }
}
