/**
 * What a configuration guarantees, computed from its constants alone. `conclave plan` prints it beside what simulated
 * worlds with the very same constants showed.
 *
 * Not for `turns: none`: there elections collide, and chance decides how often.
 *
 * Worst cases hold where an access takes at most r and clocks drift by at most d; r is short for one access below.
 * Durations are in true time: what a clock shows as x may take x/(1 - d).
 */
import type { Micros } from '../../core/index.ts'
import { type EpochsOptions, givenBy } from './options.ts'
import { type Timing, timingOf } from './timing.ts'

/** What to expect, and what is never exceeded. */
type Expected = { readonly typical: Micros; readonly worst: Micros }

export type EpochsGuarantees = {
  readonly timing: Timing
  /** From the crash of the leader until another stands for election, and until another leads; null: nobody can. */
  readonly detection: Expected | null
  readonly failOver: Expected | null
  /** The same when all others die with the leader but the one that comes last. */
  readonly lastOne: Micros | null
  /** From the end of the one leadership to the beginning of the next, when a leader steps down. */
  readonly handOver: Expected | null
  /** A leader that no longer reaches the store has stopped by then. */
  readonly leaseEnd: Micros
  /** Once nothing disturbs it any more there is a leader by then, whatever went on before. */
  readonly longestGap: Micros
  readonly operations: Operations
}

/** A second, while nothing happens. */
export type Operations = {
  readonly leaderWrites: number
  readonly leaderReads: number
  /** Of each follower; none of them writes. */
  readonly followerReads: number
}

/** How long accesses take, where that is known better than by r. */
export type Accesses = { readonly least: Micros; readonly most: Micros }

export function epochsGuarantees(
  chosen: EpochsOptions,
  nodes: number,
  accesses?: Accesses,
): EpochsGuarantees {
  const { drift, access } = givenBy(chosen)
  const timing = timingOf(givenBy(chosen))
  const usual = accesses ?? { least: 0, most: access }
  const lasting = (shown: Micros): Micros => Math.ceil(shown / (1 - drift))
  const group: Group = { chosen, timing, nodes, usual, lasting }
  const after = nodes < 2 ? NO_SUCCESSOR : afterCrash(group)
  const stagger = lasting(timing.stagger)
  const inOrder = chosen.turns === 'succession' ? (nodes - 2) * stagger : 0
  return {
    timing,
    ...after,
    lastOne: after.failOver === null ? null : after.failOver.worst + inOrder,
    handOver: nodes < 2 ? null : handOver(group),
    leaseEnd: lasting(timing.lease),
    longestGap: settling(chosen, nodes),
    operations: operationsOf(group),
  }
}

/** The last leader is missed, everybody before the one that is left has its turn, elections collide a few times. */
export function settling(chosen: EpochsOptions, nodes: number): Micros {
  const { patience, full, poll, lease, stagger, deference } = timingOf(givenBy(chosen))
  const turns = chosen.turns === 'oracle' ? 3 * deference : nodes * stagger
  return Math.ceil((patience + turns + 8 * full + 4 * poll + lease) * 1.2)
}

const NO_SUCCESSOR = { detection: null, failOver: null }

type Group = {
  readonly chosen: EpochsOptions
  readonly timing: Timing
  readonly nodes: number
  readonly usual: Accesses
  lasting(shown: Micros): Micros
}

function mean({ least, most }: Accesses): Micros {
  return (least + most) / 2
}

/** The longest of all reads of a round, on average: the registers of the others, each by itself. */
function meanRound({ usual: { least, most }, nodes }: Group): Micros {
  const reads = nodes - 1
  return least + ((most - least) * reads) / (reads + 1)
}

/** The oracle: a write, the wait for others, and one more round. */
function choosing({ chosen, timing: { access, settle }, lasting }: Group): Micros {
  return chosen.turns === 'oracle' ? 2 * access + lasting(settle) : 0
}

function usualChoosing(group: Group): Micros {
  return group.chosen.turns === 'oracle' ? mean(group.usual) + group.timing.settle + meanRound(group) : 0
}

/** START by stamps is over long before; without them it begins with the tick. */
function acting({ chosen, timing, lasting }: Group, election: Micros): Micros {
  return chosen.start === 'simple' ? Math.max(election, lasting(timing.wait)) : election
}

/**
 * The leader's last write may land r after its death. A follower sees it at its next look, of which two are a poll and
 * a round apart, and a reply takes r. It ticks when it has looked once more after its patience is over.
 */
function afterCrash(group: Group): Pick<EpochsGuarantees, 'detection' | 'failOver'> {
  const { timing, usual, lasting } = group
  const { access, poll, patience, period } = timing
  const round = meanRound(group)
  const seen = access + lasting(poll) + 2 * access
  const detected = seen + lasting(patience) + choosing(group) + 2 * access
  // The leader dies half a period after its last tick, on average.
  const usualSeen = mean(usual) + (poll + round) / 2 - period / 2
  const usualDetected = usualSeen + patience + usualChoosing(group) + round + mean(usual)
  return {
    detection: { typical: usualDetected, worst: detected },
    failOver: {
      typical: usualDetected + acting(group, 3 * round + 2 * mean(usual)),
      worst: detected + acting(group, 5 * access),
    },
  }
}

/** What it was writing, and then that it gives up, each at most r; a look; an election. */
function handOver(group: Group): Expected {
  const { timing, usual, lasting } = group
  const { access, poll } = timing
  const round = meanRound(group)
  const begun = 2 * access + lasting(poll) + 2 * access + choosing(group) + access
  const usualBegun = mean(usual) + (poll + round) / 2 + usualChoosing(group) + mean(usual)
  return {
    typical: usualBegun + acting(group, 3 * round + 2 * mean(usual)),
    worst: begun + acting(group, 5 * access),
  }
}

function operationsOf(group: Group): Operations {
  const { timing } = group
  const a = (every: Micros): number => 1_000_000 / every
  return {
    leaderWrites: a(timing.period),
    leaderReads: a(timing.period),
    followerReads: a(timing.poll + meanRound(group)),
  }
}
