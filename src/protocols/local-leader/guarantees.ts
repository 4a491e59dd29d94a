/**
 * The guarantees of a configuration, computed from its constants alone. `conclave plan` prints them beside the results
 * of simulations with the same constants.
 *
 * Worst cases hold in every timely world: messages take δmin to δ, nodes act at most σ late, clocks drift by at most ρ.
 * Durations are in true time: a duration of x on a clock may take x/(1 − ρ).
 */
import { type Micros, msOf, type NodeId } from '../../core/index.ts'
import { ampleFast, handsOverWithinOf, kappaOf, roundOf, type Timing, timingOf } from './constants.ts'
import { givenBy, type LocalLeaderOptions, votersIn } from './options.ts'
import { timingForLock } from './scaled-timing.ts'

/** The expected value, and the bound. */
export type Expected = { readonly typical: Micros; readonly worst: Micros }

export type Traffic = {
  /** Time between two renewals of the leader, and between two heartbeats of a node. */
  readonly renewalPeriod: Micros
  readonly heartbeatPeriod: Micros
  /** Datagrams per second of the whole group. */
  readonly elections: number
  readonly replies: number
  readonly heartbeats: number
}

export type Guarantees = {
  readonly timing: Timing
  readonly rule: 'quorum' | 'equality'
  readonly voters: number
  /** The nodes that may lead: voters that are not witnesses. */
  readonly eligible: number
  /** The number of voters that must support a leader in majority mode. */
  readonly quorum: number
  /** The number of nodes that may fail, in any combination, while the others still elect a leader. */
  readonly spare: number
  /**
   * From the crash of the leader until another node is a candidate, and until another node leads; null: no node can.
   */
  readonly detection: Expected | null
  readonly failOver: Expected | null
  /** When a leader steps down: from the end of its term to the start of the next. */
  readonly handOver: Expected | null
  /** A leader that is cut off from its supporters has stopped after this time. */
  readonly leaseEnd: Micros
  /** After the loss of a follower, the leader leads again after this time; 0: it never stops. */
  readonly followerLoss: Micros
  /** κ: a stable partition that may have a leader has one within this time, regardless of what happened before. */
  readonly longestGap: Micros
  readonly traffic: Traffic
  /** With this Δ, or a larger one, messages that take δ always count as fast. */
  readonly ampleFast: Micros
}

/** The range of message delays, if it is known better than by δmin and δ. */
export type Delays = { readonly least: Micros; readonly most: Micros }

/** `lock`: of a level, with adaptive timing. Without it, the constants are those of the options. */
export function guaranteesOf(
  chosen: LocalLeaderOptions,
  nodes: readonly NodeId[],
  delays?: Delays,
  lock?: Micros,
): Guarantees {
  const voters = votersIn(chosen, nodes)
  const given = givenBy(chosen, voters.length)
  const timing = lock === undefined ? timingOf(given) : timingForLock(given, lock)
  const eligible = voters.filter((id) => !chosen.witnesses.includes(id)).length
  const isMajority = timing.mode === 'majority'
  const quorum = Math.floor(voters.length / 2) + 1
  const tolerated = isMajority ? voters.length - quorum : voters.length - 1
  const group: Group = {
    timing,
    voters: voters.length,
    answers: chosen.rule === 'quorum' ? quorum - 1 : voters.length,
    usual: delays ?? { least: timing.leastDelay, most: timing.delay },
  }
  return {
    timing,
    rule: chosen.rule,
    voters: voters.length,
    eligible,
    quorum,
    spare: Math.min(tolerated, eligible - 1),
    ...(tolerated === 0 || eligible < 2 ? NO_SUCCESSOR : afterCrash(group)),
    handOver: eligible < 2 ? null : handOver(group),
    leaseEnd: inTrueTime(timing.lease, timing),
    followerLoss: isMajority && chosen.rule === 'quorum' ? 0 : followerLoss(timing),
    longestGap: kappaOf(timing),
    traffic: trafficOf(timing, voters.length, nodes.length),
    ampleFast: ampleFast(timing),
  }
}

const NO_SUCCESSOR = { detection: null, failOver: null }

type Group = {
  readonly timing: Timing
  readonly voters: number
  /** The number of answers that elect a leader; if it exceeds the number of voters, all must answer. */
  readonly answers: number
  readonly usual: Delays
}

/** The longest true time for a duration on a clock. */
function inTrueTime(shown: Micros, { rho }: Timing): Micros {
  return Math.ceil(shown / (1 - rho))
}

/** The longest time from a failed request to the next one. */
function retry(timing: Timing): Micros {
  const { mode, fast, lateness, collection, electionPeriod } = timing
  const pause = mode === 'majority' ? Math.ceil(1.25 * (3 * fast + lateness)) : electionPeriod - lateness
  return inTrueTime(Math.max(pause, collection + lateness), timing) + lateness
}

/** How much longer than `expires` a successor waits, so that the other nodes have given up the leader too. */
function successionDelay({ mode, fast }: Timing): Micros {
  return mode === 'majority' ? 0 : fast
}

/**
 * The last message of the leader reaches every other node within δ. So at `gone` all nodes have given up the leader and
 * are free of its lock, and a node that becomes a candidate from then on wins. The successor becomes a candidate when
 * it has given up the leader itself. That may be earlier, because it may have heard the leader for the last time
 * earlier. Then it may be refused, and its next try succeeds.
 */
function afterCrash(group: Group): Pick<Guarantees, 'detection' | 'failOver'> {
  const { timing, voters, usual } = group
  const { expires } = timing
  const silence = expires + successionDelay(timing) - sinceLastMessage(timing) + mean(usual)
  return {
    detection: { typical: silence, worst: detectsWithin(timing) },
    failOver: { typical: silence + usualRound(group, voters - 2), worst: failsOverWithin(timing) },
  }
}

function detectsWithin(timing: Timing): Micros {
  const { delay, expires, lateness } = timing
  return delay + inTrueTime(expires + successionDelay(timing), timing) + lateness
}

/** From the crash of a leader until another node leads, at most. */
export function failsOverWithin(timing: Timing): Micros {
  const gone = timing.delay + inTrueTime(timing.expires, timing)
  return Math.max(detectsWithin(timing), gone + retry(timing)) + roundOf(timing)
}

function handOver(group: Group): Expected {
  const { timing, voters, usual } = group
  return {
    typical: mean(usual) + usualRound(group, voters - 1),
    worst: handsOverWithinOf(timing),
  }
}

/**
 * Where a leader needs the support of all nodes that it hears, its renewals fail until it has given up the lost node.
 * Then its next try succeeds.
 */
function followerLoss(timing: Timing): Micros {
  return timing.delay + inTrueTime(timing.expires, timing) + retry(timing) + roundOf(timing)
}

function mean({ least, most }: Delays): Micros {
  return (least + most) / 2
}

/**
 * The mean time since the leader last sent something, at a random moment: where it sends heartbeats, renewals and
 * heartbeats interleave.
 */
function sinceLastMessage({ renewalPeriod: renewal, heartbeat, suppression }: Timing): Micros {
  if (suppression !== null) return renewal / 2
  const [shorter, longer] = heartbeat < renewal ? [heartbeat, renewal] : [renewal, heartbeat]
  return shorter / 2 - shorter ** 2 / (6 * longer)
}

function usualRound({ timing, answers, usual }: Group, asked: number): Micros {
  if (timing.mode === 'local' || timing.isTree) return timing.collection
  const needed = Math.min(answers, asked)
  return needed === 0 ? 0 : kthRoundTrip(needed, asked, usual)
}

/** The number of slices in the numeric integration of the round-trip distribution. */
const SLICES = 400

/**
 * The mean of the k-th shortest of n round trips. Each is the sum of two delays, uniformly distributed over the range.
 */
function kthRoundTrip(k: number, n: number, { least, most }: Delays): Micros {
  let sum = 0
  for (let slice = 0; slice < SLICES; slice++) {
    const x = (2 * (slice + 0.5)) / SLICES
    const share = x <= 1 ? x ** 2 / 2 : 1 - (2 - x) ** 2 / 2
    sum += 1 - atLeast(k, n, share)
  }
  return 2 * least + (most - least) * 2 * (sum / SLICES)
}

/** The probability that at least k of n independent events happen, each with this probability. */
function atLeast(k: number, n: number, probability: number): number {
  let term = (1 - probability) ** n
  let below = 0
  for (let i = 0; i < k; i++) {
    below += term
    term *= ((n - i) / (i + 1)) * (probability / (1 - probability))
  }
  return 1 - below
}

/** In a large group only this many nodes send heartbeats. */
const HEARTBEAT_SENDERS = 16

/** Every renewal goes to all nodes, voters answer, and voters send heartbeats unless suppressed. */
function trafficOf(timing: Timing, voters: number, nodes: number): Traffic {
  const { renewalPeriod, heartbeat, suppression, isTree } = timing
  const senders = isTree ? Math.min(voters, HEARTBEAT_SENDERS) : voters
  return {
    renewalPeriod,
    heartbeatPeriod: suppression === null ? heartbeat : suppression.rounds * renewalPeriod,
    elections: (nodes - 1) * perSecond(renewalPeriod),
    replies: (voters - 1) * perSecond(renewalPeriod),
    heartbeats:
      suppression === null
        ? senders * (nodes - 1) * perSecond(heartbeat)
        : (voters - 1) * (nodes - 2) * perSecond(suppression.rounds * renewalPeriod),
  }
}

function perSecond(every: Micros): number {
  return 1_000_000 / every
}

/** Milliseconds for display: to a hundredth, rounded up, so that a bound remains a bound. */
export function shownMs(micros: Micros): number {
  return Math.ceil(msOf(micros) * 100) / 100
}
