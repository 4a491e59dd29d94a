/**
 * The level that the evidence asks for. A leader needs itself and enough voters for a majority, so it counts the best of
 * the other voters: a slow minority does not slow the group down, nor does a voter that reports nonsense. Such a voter
 * has no more weight than a voter that is down.
 */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Timing } from './constants.ts'
import { HIGHEST_LEVEL, type LevelBounds } from './levels.ts'
import { type Measurements, NO_LOSS } from './messages.ts'
import { type Configuration, holdsMajorities } from './voters.ts'

/** The lowest level for which a duration fits; the highest when it fits none. */
export function lowestLevel(fits: (level: number) => boolean): number {
  let least = 0
  let most = HIGHEST_LEVEL
  while (least < most) {
    const middle = (least + most) >> 1
    if (fits(middle)) most = middle
    else least = middle + 1
  }
  return least
}

/** What asks for a level, and on which node. */
export type Need = {
  readonly level: number
  readonly cause: 'late' | 'round' | 'delay' | 'loss' | 'quiet' | 'bounds' | 'inherited'
  readonly by: NodeId | null
}

/** The voters grant no other level that would suit. */
export const boundsNeed = (level: number): Need => ({ level, cause: 'bounds', by: null })
export const QUIET: Need = { level: 0, cause: 'quiet', by: null }
/** The level of the leader before, or of a candidacy that needed more time. */
export const INHERITED: Need = { level: 0, cause: 'inherited', by: null }

/** How late or how slow it was that asks for a level, as an upper bound; null for other causes. */
export function amountOf(
  { level, cause }: Pick<Need, 'level' | 'cause'>,
  timingAt: (level: number) => Timing,
): Micros | null {
  if (cause === 'late' || cause === 'round') return timingAt(level).tryTime
  return cause === 'delay' ? timingAt(level).fast : null
}

export function higherNeed(a: Need, b: Need): Need {
  return b.level > a.level ? b : a
}

/** The evidence of a voter; null while it does not answer. */
export type VoterEvidence = { readonly node: NodeId; readonly evidence: Measurements | null }

/** The level at which enough of the other voters act in time. `self` is in every majority. */
export function quorumNeed(
  { sets }: Configuration,
  self: NodeId,
  voters: readonly VoterEvidence[],
  least: number,
): Need {
  let need: Need = { level: least, cause: 'quiet', by: null }
  for (const set of sets) {
    const needs: Need[] = []
    for (const { node, evidence } of voters)
      if (evidence !== null && node !== self && set.includes(node)) needs.push(needOf(node, evidence))
    needs.sort((a, b) => a.level - b.level)
    const needed = Math.floor(set.length / 2) + (set.includes(self) ? 0 : 1)
    const last = needs[Math.min(needed, needs.length) - 1]
    if (last !== undefined) need = higherNeed(need, last)
  }
  return need
}

function needOf(node: NodeId, { late, delay }: Measurements): Need {
  return late >= delay ? { level: late, cause: 'late', by: node } : { level: delay, cause: 'delay', by: node }
}

const DAY: Micros = 86_400_000_000

/**
 * The lowest level at which lost messages alone end no more leases than allowed. A lease ends when every try to renew it
 * fails, and a try fails when too few of the other voters answer it. Longer leases are renewed less often.
 */
export function lossNeed(
  config: Configuration,
  self: NodeId,
  voters: readonly VoterEvidence[],
  { least, most }: LevelBounds,
  target: { readonly lossPerDay: number; timingAt(level: number): Timing },
): Need {
  const none: Need = { level: least, cause: 'quiet', by: null }
  // The common case, in every round of a leader.
  if (voters.every(({ node, evidence }) => node === self || evidence?.loss === NO_LOSS)) return none
  const failure = tryFailure(config, self, voters)
  if (failure === 0) return none
  const isRare = (level: number): boolean => {
    const { renewalPeriod, tries } = target.timingAt(level)
    return failure ** tries * (DAY / renewalPeriod) <= target.lossPerDay
  }
  let level = least
  while (level < most && !isRare(level)) level += 1
  return level === least ? none : { level, cause: 'loss', by: null }
}

/** The probability that a request does not get the votes of a majority of every set. */
function tryFailure({ sets }: Configuration, self: NodeId, voters: readonly VoterEvidence[]): number {
  let worst = 0
  for (const set of sets) {
    const answers = set
      .filter((node) => node !== self)
      .map((node) => answerProbability(voters.find((each) => each.node === node)?.evidence ?? null))
    const needed = Math.floor(set.length / 2) + (set.includes(self) ? 0 : 1)
    worst = Math.max(worst, fewerThan(needed, answers))
  }
  return worst
}

/** A request and its answer must both arrive. */
function answerProbability(evidence: Measurements | null): number {
  if (evidence === null) return 0
  return evidence.loss === NO_LOSS ? 1 : (1 - 2 ** -evidence.loss) ** 2
}

/** The probability that fewer than `needed` of independent events happen. */
function fewerThan(needed: number, probabilities: readonly number[]): number {
  // `counts[n]`: the probability that exactly n of the events so far happened.
  let counts: readonly number[] = [1]
  for (const probability of probabilities) {
    const next = Array.from({ length: counts.length + 1 }, () => 0)
    for (const [count, share] of counts.entries()) {
      next[count] = (next[count] as number) + share * (1 - probability)
      next[count + 1] = (next[count + 1] as number) + share * probability
    }
    counts = next
  }
  let sum = 0
  for (const share of counts.slice(0, needed)) sum += share
  return needed > probabilities.length ? 0 : sum
}

/**
 * The levels that a voter grants, according to an answer of it, and whether it has answered lately; null when nothing is
 * known.
 */
export type VoterGrants = {
  readonly node: NodeId
  readonly grants: { readonly least: number; readonly most: number; readonly isRecent: boolean } | null
}

/**
 * Whether a majority grants locks of a level. The voters that have answered lately decide: a voter that is down, or cannot
 * store its vote, grants nothing. If they grant no level, perhaps because they are too few, a voter of which nothing is
 * known may grant every level. `isFirst`: the same in a first try, so that a voter which answered early does not choose the
 * level.
 */
export function grantedLevels(
  { least, most }: LevelBounds,
  config: Configuration,
  voters: readonly VoterGrants[],
  isFirst = false,
): (level: number) => boolean {
  // As a rule, a majority has lately granted all levels of this node.
  const all: NodeId[] = []
  for (const { node, grants } of voters) {
    if (grants?.isRecent === true && grants.least <= least && grants.most >= most) all.push(node)
  }
  if (holdsMajorities(config, all)) return (level) => level >= least && level <= most
  const isGranted = (level: number, isLenient: boolean): boolean => {
    if (level < least || level > most) return false
    const supporters = voters.flatMap(({ node, grants }) => {
      if (grants === null) return isLenient ? [node] : []
      return (isLenient || grants.isRecent) && level >= grants.least && level <= grants.most ? [node] : []
    })
    return holdsMajorities(config, supporters)
  }
  let isLenient = true
  for (let level = least; !isFirst && isLenient && level <= most; level++)
    isLenient = !isGranted(level, false)
  return (level) => isGranted(level, isLenient)
}

/**
 * The levels from `needed` on that all voters grant which have answered lately. A candidate that keeps failing
 * prefers them: a voter that refuses it for another reason may grant what a voter that it needs does not. Otherwise a
 * single voter with other bounds would choose the lease of a new leader.
 */
export function commonLevels(voters: readonly VoterGrants[], needed: number): (level: number) => boolean {
  return (level) =>
    level >= needed &&
    voters.every(({ grants }) => grants?.isRecent !== true || (level >= grants.least && level <= grants.most))
}

/** The nearest granted level that suits; if none does, the nearest granted level; if none is granted, the wanted level. */
export function nearestGranted(
  wanted: number,
  bounds: LevelBounds,
  isLevelGranted: (level: number) => boolean,
  suits: (level: number) => boolean = () => true,
): number {
  const nearest = (counts: (level: number) => boolean): number | null => {
    for (let distance = 0; distance <= bounds.most - bounds.least; distance++) {
      if (counts(wanted + distance)) return wanted + distance
      if (counts(wanted - distance)) return wanted - distance
    }
    return null
  }
  return nearest((level) => isLevelGranted(level) && suits(level)) ?? nearest(isLevelGranted) ?? wanted
}

/** The highest level that a node can use; the highest of its own if a majority grants none. */
export function highestGranted(
  { least, most }: LevelBounds,
  isLevelGranted: (level: number) => boolean,
): number {
  for (let level = most; level >= least; level--) if (isLevelGranted(level)) return level
  return most
}
