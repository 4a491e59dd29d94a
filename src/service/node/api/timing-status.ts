/** Leases that tune themselves, as operators see them: the level in force, the reason for it, and each change. */
import { type Command, type Micros, msOf, type NodeId, type Output } from '../../../core/index.ts'
import type { LeaseInsight, LeaseNeed } from '../../../protocols/index.ts'
import type { LevelCause, LevelStep, TimingResponse } from '../../client/index.ts'
import { showMs } from '../../runtime/index.ts'
import { type LeaseBounds, parseLeaseBounds } from './arguments.ts'
import { CommandRefusedError } from './errors.ts'

export type {
  LevelCause,
  LevelNeed,
  LevelStep,
  TimingResponse as TimingStatus,
  VoterEvidence,
} from '../../client/index.ts'

/** The leader changed the length of leases. */
export type LevelChange = LevelStep & {
  /** One sentence, such as "lease 61 ms -> 119 ms: n3 handled timers up to 48 ms late". */
  readonly text: string
}

/** `now` is on the clock of the insight. */
export function timingStatusOf(seen: LeaseInsight, now: Micros): TimingResponse {
  const { level, levels, lock, margin, bounds, failOver, renewalPeriod, need, voters, refusals } = seen
  return {
    level,
    levels,
    leaseMs: msOf(lock),
    renewalMs: renewalPeriod === null ? null : msOf(renewalPeriod),
    marginMs: msOf(margin),
    leaseMinMs: msOf(bounds[0]),
    leaseMaxMs: msOf(bounds[1]),
    failoverMs: failOver === null ? null : { typical: msOf(failOver.typical), worst: msOf(failOver.worst) },
    need:
      need === null
        ? null
        : {
            level: need.level,
            leaseMs: msOf(need.lock),
            cause: need.cause as LevelCause,
            by: need.by,
            text: describeNeed(need, seen),
          },
    evidence: voters.map(({ node, lateness, delay, loss, at }) => ({
      id: node,
      latenessMs: msOf(lateness),
      delayMs: msOf(delay),
      loss,
      msAgo: Math.max(0, (now - at) / 1000),
    })),
    refusals: refusals.map(({ node, bounds: [shortest, longest] }) => ({
      id: node,
      leaseMinMs: msOf(shortest),
      leaseMaxMs: msOf(longest),
    })),
  }
}

/** From the event of the protocol. */
export function levelChangeOf(event: Output): LevelChange {
  const { level, lock, former, cause, by = null, amount = null } = event
  const reason = describeReason(cause as LevelCause, by as NodeId | null, amount as Micros | null)
  return {
    level: level as number,
    leaseMs: msOf(lock as Micros),
    fromMs: msOf(former as Micros),
    cause: cause as LevelCause,
    by: by as NodeId | null,
    text: `lease ${showMs(former as Micros)} -> ${showMs(lock as Micros)}: ${reason}`,
  }
}

/** The command that changes the bounds of a node. A bound that is not given stays. */
export function leaseBoundsCommand(bounds: LeaseBounds, seen: LeaseInsight | null): Command {
  const { leaseMinMs, leaseMaxMs } = parseLeaseBounds(bounds)
  if (seen === null)
    throw new CommandRefusedError(
      'setLeaseBounds',
      'the timing of this node is fixed: its leases have no bounds',
    )
  const [shortest, longest] = seen.bounds
  return {
    do: 'setLeaseBounds',
    leaseMinMs: leaseMinMs ?? msOf(shortest),
    leaseMaxMs: leaseMaxMs ?? msOf(longest),
  }
}

function describeNeed(
  { level: needed, cause, by, amount }: LeaseNeed,
  { level, levels: [least] }: LeaseInsight,
): string {
  const isAtBest = level <= least
  if (needed <= least && isAtBest)
    return 'all timers and messages are in time; leases are as short as leaseMinMs allows'
  if (needed < level) {
    const reason = needed <= least ? 'all timers and messages are in time' : describeReason(cause, by, amount)
    return `${reason}; leases become shorter step by step while this lasts`
  }
  return describeReason(cause, by, amount)
}

/** The bounds are exact to one level, so "up to" is right and "at least" would not be. */
function describeReason(cause: string, by: NodeId | null, amount: Micros | null): string {
  const upTo = amount === null ? '' : ` up to ${showMs(amount)}`
  switch (cause) {
    case 'late':
      return `${by ?? 'a node'} handled timers${upTo} late`
    case 'delay':
      return `messages from the leader took${upTo} to reach ${by ?? 'a node'}`
    case 'round':
      return `a majority took${upTo} to answer the leader`
    case 'loss':
      return 'messages between the nodes got lost'
    case 'quiet':
      return 'all timers and messages were in time'
    case 'bounds':
      return by === null ? 'a majority grants no other lease' : `the bounds of ${by} were changed`
    default:
      return 'taken over from the leader before, or needed to win the election'
  }
}
