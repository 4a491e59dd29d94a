/** The lease that a command needs: long enough to be killed before its end. */
import { networkSettings } from '../../service/config/join-options.ts'
import { InvalidOptionsError } from '../../service/config/problems.ts'
import { isStoreJoin } from '../../service/config/store-join-options.ts'
import { leaseTimingOf } from '../../service/node/election/lease-timing.ts'
import type { JoinOptions, StoreJoinOptions } from '../../service/node/index.ts'
import { UsageError } from '../errors.ts'
import type { OwnNode } from './own-node.ts'
import { leaseFor, resolveKillBefore } from './term.ts'

/**
 * When the command is killed, and the options of the node. Leases that tune themselves are kept long enough for the value
 * that the user asks for: by `leaseMinMs` of this node, because only its own leases matter.
 */
export function resolveOwnNode(
  options: JoinOptions | StoreJoinOptions,
  requestedMs: number | null,
): Omit<OwnNode, 'supervisor'> {
  const timing = leaseTimingOf(options)
  try {
    return { options, killBefore: resolveKillBefore(timing, requestedMs) }
  } catch (error) {
    const longer = error instanceof UsageError ? withLease(options, leaseFor(timing, requestedMs)) : null
    if (longer === null) throw error
    return { options: longer, killBefore: resolveKillBefore(leaseTimingOf(longer), requestedMs) }
  }
}

/** The same options with a longer shortest lease; null where the timing is fixed, or such a lease is too long. */
function withLease(options: JoinOptions | StoreJoinOptions, leaseMinMs: number): JoinOptions | null {
  if (isStoreJoin(options) || networkSettings(options).options['timing'] !== 'adaptive') return null
  const longer = { ...options, leaseMinMs: Math.ceil(leaseMinMs) }
  try {
    networkSettings(longer)
    return longer
  } catch (error) {
    if (error instanceof InvalidOptionsError) return null
    throw error
  }
}
