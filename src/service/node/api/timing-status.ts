/** Leases that tune themselves, as operators see them: the level in force, the reason for it, and each change. */
import { type Command, type Micros, msOf, type NodeId, type Output } from '../../../core/index.ts'
import type { LeaseInsight, LeaseNeed } from '../../../protocols/index.ts'
import { showMs } from '../../runtime/index.ts'
import { type LeaseBounds, parseLeaseBounds } from './arguments.ts'
import { CommandRefusedError } from './errors.ts'

/** The present length of leases, what it gives, and why. Durations are in milliseconds. */
export type TimingStatus = {
  /** The level in force, and the lowest and highest level between the bounds. Each level is 5/4 of the one before. */
  readonly level: number
  readonly levels: readonly [least: number, most: number]
  /** The length of leases at this level, and how often the leader renews its lease. */
  readonly leaseMs: number
  readonly renewalMs: number
  /** What remains of the lease when its first renewal succeeds and takes as long as allowed. */
  readonly marginMs: number
  /** The bounds of this node. */
  readonly leaseMinMs: number
  readonly leaseMaxMs: number
  /** From the crash of the leader until another node leads, at this level; null: no node can. */
  readonly failoverMs: { readonly typical: number; readonly worst: number } | null
  /** The level that the measurements ask for, and why. Only the leader knows it: null on other nodes. */
  readonly need: LevelNeed | null
  /** What each voter measured, as the leader last heard; empty on other nodes. */
  readonly evidence: readonly VoterEvidence[]
  /** Nodes that refused a lease outside their bounds, and those bounds. */
  readonly refusals: readonly {
    readonly id: NodeId
    readonly leaseMinMs: number
    readonly leaseMaxMs: number
  }[]
}

export type LevelNeed = {
  readonly level: number
  readonly leaseMs: number
  readonly cause: LevelCause
  /** The node that supplied the evidence; null if none did. */
  readonly by: NodeId | null
  /** One sentence. */
  readonly text: string
}

/** Upper bounds: measurements travel as levels. */
export type VoterEvidence = {
  readonly id: NodeId
  readonly latenessMs: number
  readonly delayMs: number
  /** The part of the leader's messages that it missed. */
  readonly loss: number
  readonly msAgo: number
}

/**
 * `late`: a node handled timers late. `delay`: messages to a node were slow. `round`: a majority answered slowly.
 * `loss`: messages got lost. `quiet`: nothing was late. `bounds`: the bounds of a node. `inherited`: from the leader
 * before, or from an election that needed more time.
 */
export type LevelCause = 'late' | 'delay' | 'round' | 'loss' | 'quiet' | 'bounds' | 'inherited'

/** The leader changed the length of leases. */
export type LevelChange = {
  readonly level: number
  readonly leaseMs: number
  /** The length before. */
  readonly fromMs: number
  readonly cause: LevelCause
  readonly by: NodeId | null
  /** One sentence, such as "lease 61 ms -> 119 ms: n3 handled timers up to 48 ms late". */
  readonly text: string
}

/** `now` is on the clock of the insight. */
export function timingStatusOf(seen: LeaseInsight, now: Micros): TimingStatus {
  const { level, levels, lock, margin, bounds, failOver, renewalPeriod, need, voters, refusals } = seen
  return {
    level,
    levels,
    leaseMs: msOf(lock),
    renewalMs: msOf(renewalPeriod),
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
    return `${reason}; leases become shorter step by step while it stays so`
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
