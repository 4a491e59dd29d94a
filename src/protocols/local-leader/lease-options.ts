/** The options of adaptive timing. */
import { z } from 'zod'
import { microsOf } from '../../core/index.ts'
import { boundsBetween } from './levels.ts'
import type { LocalLeaderOptions } from './options.ts'
import { PROFILES } from './profiles.ts'

/** The least and the largest value of both bounds. */
const SHORTEST_LEASE_MS = 10
const LONGEST_LEASE_MS = 60_000

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
      .default(1)
      .describe('how many leases may be lost in a day because a node or a message was late'),
    levels: z
      .enum(['measured', 'drawn'])
      .default('measured')
      .describe('drawn: each request has a random level, for tests; real nodes refuse it'),
  }
}

/** What does not go together with adaptive timing, and what only goes together with it. */
export function adaptiveProblems(
  chosen: LocalLeaderOptions,
  voters: number,
): readonly (readonly [option: string, problem: string])[] {
  if (chosen.timing === 'fixed') {
    const given = (['leaseMinMs', 'leaseMaxMs'] as const).filter((option) => chosen[option] !== null)
    return given.map((option) => [option, 'only works with timing: adaptive'])
  }
  const problems: [string, string][] = []
  if (chosen.mode === 'local') problems.push(['timing', 'adaptive only works in majority mode'])
  if (chosen.rule === 'equality') problems.push(['timing', 'adaptive only works with rule: quorum'])
  if (voters >= chosen.treeFrom) {
    problems.push(['timing', `adaptive only works with fewer than ${chosen.treeFrom} voters (treeFrom)`])
  }
  for (const option of ['electionPeriodMs', 'expiresMs'] as const) {
    if (chosen[option] !== null) problems.push([option, 'follows from the level with timing: adaptive'])
  }
  const { leaseMinMs, leaseMaxMs } = leaseBoundsOf(chosen)
  if (leaseMinMs > leaseMaxMs) {
    problems.push(['leaseMinMs', `${leaseMinMs} is above leaseMaxMs (${leaseMaxMs})`])
  } else if (boundsBetween(microsOf(leaseMinMs), microsOf(leaseMaxMs)) === null) {
    problems.push([
      'leaseMaxMs',
      `${leaseMaxMs} is too close to leaseMinMs; use ${leaseMinMs * 1.25} or more`,
    ])
  }
  return problems
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
