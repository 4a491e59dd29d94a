/** The lease bar: what was left of the lease when the agent looked, and what is certainly left of it now. */
import type { Status } from '../data/types.ts'
import { formatMs } from './format.ts'

export type LeaseView = {
  readonly lengthMs: number
  /** When the agent looked. */
  readonly observedMs: number
  /** Shares of the length, from 0 to 1. */
  readonly observedShare: number
  /** Renewals that succeed at the first attempt leave at least this share. */
  readonly marginShare: number
  /** The least that was left at a renewal in the last minutes; null if the agent does not lead. */
  readonly measuredShare: number | null
  readonly measuredMs: number | null
  readonly marginMs: number
  readonly isOwn: boolean
}

const share = (part: number, whole: number): number =>
  whole <= 0 ? 0 : Math.min(1, Math.max(0, part / whole))

/** Null without a leader, or under a protocol without leases. */
export function leaseOf({ leader, lease, measured, self }: Status): LeaseView | null {
  if (leader === null || leader.expiresInMs === null || lease.lengthMs <= 0) return null
  const measuredMs = measured?.renewalMarginMs?.min ?? null
  return {
    lengthMs: lease.lengthMs,
    observedMs: leader.expiresInMs,
    observedShare: share(leader.expiresInMs, lease.lengthMs),
    marginMs: lease.marginMs,
    marginShare: share(lease.marginMs, lease.lengthMs),
    measuredMs,
    measuredShare: measuredMs === null ? null : share(measuredMs, lease.lengthMs),
    isOwn: String(leader.id) === String(self.id),
  }
}

/** The share that is left without any renewal since the agent looked. */
export function certainShare({ observedMs, lengthMs }: LeaseView, ageMs: number): number {
  return share(observedMs - ageMs, lengthMs)
}

export function leaseText({ observedMs, lengthMs }: LeaseView): string {
  return `${formatMs(observedMs)} left of ${formatMs(lengthMs)}`
}

/** The marks on the bar, in words: what renewals leave of the lease. */
export function marginTexts({ measuredMs, marginMs }: LeaseView): {
  readonly expected: string
  readonly measured: string | null
} {
  return {
    expected: `renewed with at least ${formatMs(marginMs)} left`,
    measured: measuredMs === null ? null : `least measured ${formatMs(measuredMs)}`,
  }
}
