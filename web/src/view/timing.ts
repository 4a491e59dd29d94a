/** Leases that tune themselves: the present length between its bounds, what it gives, and why it is not shorter. */
import type { Status, Timing } from '../data/types.ts'
import { formatMs } from './format.ts'

export type TimingView = {
  readonly level: number
  /** The present level, and the level that the measurements ask for, between the lowest (0) and the highest (1). */
  readonly share: number
  readonly neededShare: number | null
  /** The bounds, in words. */
  readonly bounds: readonly [shortest: string, longest: string]
  readonly failover: { readonly typical: string; readonly worst: string } | null
  /** What holds the level; on a follower, which node knows. */
  readonly why: string
  /** On a follower: the page of the leader, if it has told its address. */
  readonly page: string | null
  /** Nodes that refuse leases of this length, in words. */
  readonly refusals: readonly string[]
  /** All of it in one sentence. */
  readonly text: string
}

/** Null with fixed timing. */
export function timingOf({ timing, leader, nodes }: Status): TimingView | null {
  if (timing === undefined) return null
  const { level, leaseMs, failoverMs, need } = timing
  const shortest = formatMs(timing.leaseMinMs)
  const longest = formatMs(timing.leaseMaxMs)
  const page = nodes.find(({ id }) => String(id) === String(leader?.id))?.page ?? null
  const known =
    leader === null ? 'a new leader chooses the length of its leases' : `only the leader knows, ${leader.id}`
  return {
    level,
    share: shareOf(timing, level),
    neededShare: need === null ? null : shareOf(timing, need.level),
    bounds: [shortest, longest],
    failover:
      failoverMs === null
        ? null
        : { typical: formatMs(failoverMs.typical), worst: formatMs(failoverMs.worst) },
    why: need === null ? known : need.text,
    page: need === null ? page : null,
    refusals: timing.refusals.map(
      ({ id, leaseMinMs, leaseMaxMs }) =>
        `${id} only grants leases from ${formatMs(leaseMinMs)} to ${formatMs(leaseMaxMs)}`,
    ),
    text: `Level ${level}: leases of ${formatMs(leaseMs)}, between ${shortest} and ${longest}`,
  }
}

function shareOf({ levels: [least, most] }: Timing, level: number): number {
  return most <= least ? 0 : Math.min(1, Math.max(0, (level - least) / (most - least)))
}
