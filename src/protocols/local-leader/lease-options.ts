/** The options of adaptive timing. */
import { z } from 'zod'
import { type JudgedOptions, microsOf, type PlainObject } from '../../core/index.ts'
import { boundsBetween } from './levels.ts'
import type { LocalLeaderOptions } from './options.ts'
import { PROFILES } from './profiles.ts'

/** The least and the largest value of both bounds. */
const SHORTEST_LEASE_MS = 10
export const LONGEST_LEASE_MS = 60_000

/** Bounds this far apart have a level between them (levels.ts). */
export const LEVEL_STEP = 1.25

export const leaseMs = () => z.number().min(SHORTEST_LEASE_MS).max(LONGEST_LEASE_MS)

/** Leases whose length follows from measurements. */
export function adaptiveFields() {
  const bound = (meaning: string) =>
    leaseMs()
      .nullable()
      .default(null)
      .describe(`${meaning}; null: from the profile; only with timing: adaptive`)
  return {
    timing: z
      .enum(['fixed', 'adaptive'])
      .default('fixed')
      .describe('fixed: constants; adaptive: the leader measures delays and chooses the length of leases'),
    leaseMinMs: bound('the shortest lease'),
    leaseMaxMs: bound('the longest lease'),
    leaseLossPerDay: z
      .number()
      .min(0.01)
      .max(100_000)
      .nullable()
      .default(null)
      .describe(
        'how many leases may be lost in a day because a node or a message was late; null: 1; only with timing: adaptive',
      ),
    levels: z
      .enum(['measured', 'drawn'])
      .default('measured')
      .describe('drawn: each request has a random level, for tests; real nodes refuse it'),
  }
}

/** Options that set a constant. They mean what they say only with fixed timing. */
const CONSTANTS = [
  'deltaMs',
  'deltaMinMs',
  'fastMs',
  'sigmaMs',
  'renewalIntervalMs',
  'electionPeriodMs',
  'expiresMs',
] as const

/** Options that are not checked yet. */
type Unchecked = { readonly [option: string]: unknown }

export function constantsIn(given: Unchecked): readonly string[] {
  return CONSTANTS.filter((option) => (given[option] ?? null) !== null)
}

/** Below this number of voters, each voter answers the leader directly. */
export const TREE_FROM = 100

/**
 * The timing of real nodes whose configuration does not say: adaptive where that is possible, unless the options set a
 * constant. It depends on what all nodes of a group have in common, since nodes with other timing do not hear each other.
 * `nodes`: their number.
 */
export function defaultTiming(given: Unchecked, nodes: number): LocalLeaderOptions['timing'] {
  const { mode = 'majority', rule = 'quorum', treeFrom = TREE_FROM } = given
  const canAdapt = mode === 'majority' && rule === 'quorum' && nodes < Number(treeFrom)
  return canAdapt && constantsIn(given).length === 0 ? 'adaptive' : 'fixed'
}

/** An option, and why it cannot be as it is. */
type OptionProblem = readonly [option: string, problem: string]

/** What does not go together with adaptive timing, and what only goes together with it. */
export function adaptiveProblems(chosen: LocalLeaderOptions, voters: number): readonly OptionProblem[] {
  if (chosen.timing === 'fixed') {
    const given = (['leaseMinMs', 'leaseMaxMs', 'leaseLossPerDay'] as const).filter(
      (option) => chosen[option] !== null,
    )
    return given.map((option) => [option, fixedProblem(chosen, voters, option)])
  }
  const problems: [string, string][] = []
  if (chosen.mode === 'local')
    problems.push(['timing', 'adaptive only works with mode: majority; use timing: fixed in local mode'])
  if (chosen.rule === 'equality')
    problems.push(['timing', 'adaptive only works with rule: quorum; use timing: fixed with rule: equality'])
  if (voters >= chosen.treeFrom) {
    problems.push([
      'timing',
      `adaptive only works with fewer than ${chosen.treeFrom} voters (treeFrom); use timing: fixed`,
    ])
  }
  for (const option of ['electionPeriodMs', 'expiresMs'] as const) {
    if (chosen[option] !== null)
      problems.push([
        option,
        'follows from the length of leases with timing: adaptive; remove it, or use timing: fixed',
      ])
  }
  const { leaseMinMs, leaseMaxMs } = leaseBoundsOf(chosen)
  const origin = chosen.leaseMaxMs === null ? ` in the profile ${chosen.profile}` : ''
  const wrong = boundsProblem(leaseMinMs, leaseMaxMs, origin)
  return wrong === null ? problems : [...problems, wrong]
}

/** What to do about an option of adaptive timing, given that the timing is fixed. */
function fixedProblem({ mode, rule, treeFrom }: LocalLeaderOptions, voters: number, option: string): string {
  if (mode === 'local')
    return 'does not apply to local mode, whose timing is fixed; remove it, or use mode: majority'
  if (rule === 'equality')
    return 'does not apply with rule: equality, whose timing is fixed; remove it, or use rule: quorum'
  if (voters >= treeFrom)
    return `does not apply to ${treeFrom} voters or more (treeFrom), whose timing is fixed; remove it`
  return `only works with timing: adaptive; set that, or remove ${option}`
}

/**
 * Why leases cannot have these bounds, and what to do; null if they can. `origin` says where the longest lease comes
 * from. A bound outside the limits of both is another problem.
 */
export function boundsProblem(leaseMinMs: number, leaseMaxMs: number, origin = ''): OptionProblem | null {
  if (![leaseMinMs, leaseMaxMs].every((ms) => ms >= SHORTEST_LEASE_MS && ms <= LONGEST_LEASE_MS)) return null
  const nextMs = Math.ceil(leaseMinMs * LEVEL_STEP)
  const isPossible = nextMs <= LONGEST_LEASE_MS
  if (leaseMinMs > leaseMaxMs) {
    const least = isPossible ? '' : `leaseMinMs to ${LONGEST_LEASE_MS / LEVEL_STEP} or less and `
    const advice = `set both, ${least}leaseMaxMs at least ${LEVEL_STEP} times leaseMinMs`
    return ['leaseMinMs', `${leaseMinMs} is above leaseMaxMs, which is ${leaseMaxMs}${origin}; ${advice}`]
  }
  if (boundsBetween(microsOf(leaseMinMs), microsOf(leaseMaxMs)) !== null) return null
  if (isPossible) return ['leaseMaxMs', `${leaseMaxMs} is too close to leaseMinMs; use ${nextMs} or more`]
  const most = Math.floor(leaseMaxMs / LEVEL_STEP)
  return [
    'leaseMinMs',
    `${leaseMinMs} is too close to leaseMaxMs, which is at most ${LONGEST_LEASE_MS}; set leaseMinMs to ${most} or less`,
  ]
}

/** The bounds of leases: from the options, or from the profile. */
export function leaseBoundsOf({
  profile,
  leaseMinMs,
  leaseMaxMs,
}: Pick<LocalLeaderOptions, 'profile' | 'leaseMinMs' | 'leaseMaxMs'>): {
  readonly leaseMinMs: number
  readonly leaseMaxMs: number
} {
  const bounds = PROFILES[profile]
  return { leaseMinMs: leaseMinMs ?? bounds.leaseMinMs, leaseMaxMs: leaseMaxMs ?? bounds.leaseMaxMs }
}

/** Nodes may have other bounds of leases, and change them. */
export function judgedByLeases(
  options: LocalLeaderOptions,
  changes: readonly PlainObject[],
): JudgedOptions<LocalLeaderOptions> {
  const others = changes.flatMap(({ leaseMaxMs }) => (typeof leaseMaxMs === 'number' ? [leaseMaxMs] : []))
  if (options.timing === 'fixed' || others.length === 0) return { slowest: options, strictest: options }
  const { leaseMinMs, leaseMaxMs } = leaseBoundsOf(options)
  const least = Math.min(leaseMaxMs, ...others)
  return {
    slowest: { ...options, leaseMaxMs: Math.max(leaseMaxMs, ...others) },
    strictest: { ...options, leaseMinMs: Math.min(leaseMinMs, least / LEVEL_STEP), leaseMaxMs: least },
  }
}
