/**
 * The guarantees of a configuration, computed from its constants alone. `conclave plan` prints them beside the times that
 * simulations with the same constants measured.
 *
 * There are none for `turns: none`: elections collide, and chance decides how often.
 *
 * The worst cases hold if an access takes at most r and clocks drift by at most d. Durations are in true time: a
 * duration that a clock shows as x may take x/(1 - d).
 */
import type { Micros } from '../../core/index.ts'
import { type EpochsOptions, timingInput } from './options.ts'
import { type Timing, timingOf } from './timing.ts'

/** A typical duration, and an upper bound. */
type Expected = { readonly typical: Micros; readonly worst: Micros }

export type EpochsGuarantees = {
  readonly timing: Timing
  /** From the crash of the leader until another node starts an election, and until it leads. Null: there is none. */
  readonly detection: Expected | null
  readonly failOver: Expected | null
  /** `failOver` if all nodes crash with the leader, except the last in the order of succession. */
  readonly lastOne: Micros | null
  /** When a leader steps down: from the end of its term to the beginning of the next. */
  readonly handOver: Expected | null
  /** A leader that loses the store stops within this time. */
  readonly leaseEnd: Micros
  /** After the last fault, a node leads within this time. */
  readonly longestGap: Micros
  readonly operations: Operations
}

/** Operations per second in the steady state. */
export type Operations = {
  readonly leaderWrites: number
  readonly leaderReads: number
  /** Per follower. Followers do not write. */
  readonly followerReads: number
}

/** How long accesses take, where more is known than the bound r. */
export type Accesses = { readonly least: Micros; readonly most: Micros }

export function epochsGuarantees(
  chosen: EpochsOptions,
  nodes: number,
  accesses?: Accesses,
): EpochsGuarantees {
  const { drift, access } = timingInput(chosen)
  const timing = timingOf(timingInput(chosen))
  const usual = accesses ?? { least: 0, most: access }
  const trueTime = (shown: Micros): Micros => Math.ceil(shown / (1 - drift))
  const group: Group = { chosen, timing, nodes, usual, trueTime }
  const after = nodes < 2 ? NO_SUCCESSOR : afterCrash(group)
  const stagger = trueTime(timing.stagger)
  const inOrder = chosen.turns === 'succession' ? (nodes - 2) * stagger : 0
  return {
    timing,
    ...after,
    lastOne: after.failOver === null ? null : after.failOver.worst + inOrder,
    handOver: nodes < 2 ? null : handOver(group),
    leaseEnd: trueTime(timing.lease),
    longestGap: settlingTime(chosen, nodes),
    operations: operationsOf(group),
  }
}

/** Followers lose patience with the last leader, all nodes have their turn, and elections collide a few times. */
export function settlingTime(chosen: EpochsOptions, nodes: number): Micros {
  const { patience, full, poll, lease, stagger, deference } = timingOf(timingInput(chosen))
  const waits = chosen.turns === 'oracle' ? 3 * deference : nodes * stagger
  return Math.ceil((patience + waits + 8 * full + 4 * poll + lease) * 1.2)
}

const NO_SUCCESSOR = { detection: null, failOver: null }

type Group = {
  readonly chosen: EpochsOptions
  readonly timing: Timing
  readonly nodes: number
  readonly usual: Accesses
  trueTime(shown: Micros): Micros
}

function mean({ least, most }: Accesses): Micros {
  return (least + most) / 2
}

/** The mean of the longest read in a round: one read per other node, in parallel. */
function meanRound({ usual: { least, most }, nodes }: Group): Micros {
  const reads = nodes - 1
  return least + ((most - least) * reads) / (reads + 1)
}

/** The oracle: a write, the wait for other nodes, and one more round. */
function oracleTime({ chosen, timing: { access, settle }, trueTime }: Group): Micros {
  return chosen.turns === 'oracle' ? 2 * access + trueTime(settle) : 0
}

function usualOracleTime(group: Group): Micros {
  return group.chosen.turns === 'oracle' ? mean(group.usual) + group.timing.settle + meanRound(group) : 0
}

/** With stamps, START is over before the election ends. With `start: simple` its wait begins with the tick. */
function actingAfter({ chosen, timing, trueTime }: Group, election: Micros): Micros {
  return chosen.start === 'simple' ? Math.max(election, trueTime(timing.wait)) : election
}

/**
 * The leader's last write may take effect up to r after the crash. A follower sees it at its next look: looks are a poll
 * and a round apart, and a reply takes r. The follower ticks after its first look once its patience is over.
 */
function afterCrash(group: Group): Pick<EpochsGuarantees, 'detection' | 'failOver'> {
  const { timing, usual, trueTime } = group
  const { access, poll, patience, period } = timing
  const round = meanRound(group)
  const seen = access + trueTime(poll) + 2 * access
  const detected = seen + trueTime(patience) + oracleTime(group) + 2 * access
  // On average, the leader crashes half a period after its last tick.
  const usualSeen = mean(usual) + (poll + round) / 2 - period / 2
  const usualDetected = usualSeen + patience + usualOracleTime(group) + round + mean(usual)
  return {
    detection: { typical: usualDetected, worst: detected },
    failOver: {
      typical: usualDetected + actingAfter(group, 3 * round + 2 * mean(usual)),
      worst: detected + actingAfter(group, 5 * access),
    },
  }
}

/** The write in progress and the release, at most r each; then a look and an election. */
function handOver(group: Group): Expected {
  const { timing, usual, trueTime } = group
  const { access, poll } = timing
  const round = meanRound(group)
  const started = 2 * access + trueTime(poll) + 2 * access + oracleTime(group) + access
  const usualStart = mean(usual) + (poll + round) / 2 + usualOracleTime(group) + mean(usual)
  return {
    typical: usualStart + actingAfter(group, 3 * round + 2 * mean(usual)),
    worst: started + actingAfter(group, 5 * access),
  }
}

function operationsOf(group: Group): Operations {
  const { timing } = group
  const perSecond = (every: Micros): number => 1_000_000 / every
  return {
    leaderWrites: perSecond(timing.period),
    leaderReads: perSecond(timing.period),
    followerReads: perSecond(timing.poll + meanRound(group)),
  }
}
