/** What may be set: a profile of the network, or each constant by itself; who votes; who should lead. */
import { z } from 'zod'
import { microsOf, milliseconds, type NodeId, nodeAmong, perNode } from '../../core/index.ts'
import { brokenBounds, type Given } from './constants.ts'
import { MISREADINGS } from './defects.ts'

type Profile = {
  readonly deltaMs: number
  readonly deltaMinMs: number
  readonly fastMs: number
  readonly sigmaMs: number
  readonly renewalIntervalMs: number
}

/** Networks that people have. σ = 10 ms is for a process of its own; a busy one needs more. */
export const PROFILES: { readonly [name in 'lan' | 'region' | 'wan']: Profile } = {
  lan: { deltaMs: 5, deltaMinMs: 0.02, fastMs: 10.1, sigmaMs: 10, renewalIntervalMs: 40 },
  region: { deltaMs: 15, deltaMinMs: 0.2, fastMs: 30, sigmaMs: 20, renewalIntervalMs: 100 },
  wan: { deltaMs: 150, deltaMinMs: 10, fastMs: 291, sigmaMs: 25, renewalIntervalMs: 300 },
}

const priority = z.int().min(-1_000_000).max(1_000_000)

export function localLeaderOptions(nodes: readonly NodeId[]) {
  const node = nodeAmong(nodes)
  const own = (meaning: string) =>
    milliseconds().nullable().default(null).describe(`${meaning}; null: as in the profile`)
  const fields = z.strictObject({
    mode: z
      .enum(['local', 'majority'])
      .default('majority')
      .describe('local: one leader in each partition; majority: one in all, with tokens'),
    profile: z.enum(['lan', 'region', 'wan']).default('lan').describe('where the constants come from'),
    deltaMs: own('δ: a message that takes no longer is timely'),
    deltaMinMs: z
      .number()
      .min(0)
      .max(1000)
      .nullable()
      .default(null)
      .describe('δmin: no message takes less; null: as in the profile'),
    fastMs: own('Δ: a message is fast when it provably took no longer'),
    sigmaMs: own('σ: a process is timely that acts no later'),
    rhoPpm: z.number().min(0.1).max(50_000).default(100).describe('ρ: how far clocks drift, in millionths'),
    renewalIntervalMs: own('how often a leader renews'),
    renewalTries: z.int().min(1).max(10).default(2).describe('K: how many tries a renewal has'),
    electionPeriodMs: milliseconds()
      .nullable()
      .default(null)
      .describe('EP: time between tries to be elected; null: derived'),
    expiresMs: milliseconds()
      .nullable()
      .default(null)
      .describe('silence after which a process counts as gone; null: derived'),
    rule: z
      .enum(['quorum', 'equality'])
      .default('quorum')
      .describe('majority mode: a majority is enough, or all that are heard must support, as in the paper'),
    sticky: z.boolean().default(false).describe('whether a leader is deposed only by a higher priority'),
    priorities: perNode(nodes, priority)
      .default({})
      .describe('who should lead: higher first, then the lower id'),
    holdDownMs: z.number().min(0).max(3_600_000).default(0).describe('waited before deposing a leader'),
    termMs: milliseconds()
      .nullable()
      .default(null)
      .describe('how long one leads before it is another’s turn; null: no rotation'),
    treeFrom: z
      .int()
      .min(2)
      .max(100_000)
      .default(100)
      .describe('number of voters from which answers are gathered along a tree'),
    treeFanout: z.int().min(2).max(1000).default(16).describe('children of a process in that tree'),
    voters: z.array(node).nullable().default(null).describe('whose votes count; null: all but the observers'),
    observers: z.array(node).default([]).describe('who learns but never votes'),
    witnesses: z.array(node).default([]).describe('who votes but never leads'),
    yieldWhenTold: z
      .boolean()
      .default(false)
      .describe('whether a leader that should give way only says so, until it is told to step down'),
    misreading: z
      .enum(MISREADINGS)
      .default('none')
      .describe('runs the protocol with a known defect, so that tests can catch it; real nodes refuse it'),
    requests: z
      .int()
      .min(1)
      .max(1000)
      .nullable()
      .default(null)
      .describe(
        'without heartbeats, and with so many requests of a process at most; for searches of every interleaving',
      ),
    link: z
      .enum(['fail-aware', 'none', 'hosted'])
      .default('fail-aware')
      .describe(
        'none: takes every message for fast, for searches without time; hosted: as real processes run it, among other groups',
      ),
    hostedGroup: z
      .string()
      .nullable()
      .default(null)
      .describe('with link hosted: by which name this group is known among the others'),
  })
  return fields.superRefine((chosen, context) => {
    const issue = (path: PropertyKey[], message: string): void =>
      context.addIssue({ code: 'custom', path, message })
    for (const list of ['voters', 'observers', 'witnesses'] as const) {
      const ids = chosen[list] ?? []
      const twice = ids.findIndex((id, place) => ids.indexOf(id) !== place)
      if (twice >= 0) issue([list, twice], `${ids[twice]} is listed twice`)
    }
    const both = (chosen.voters ?? []).find((id) => chosen.observers.includes(id))
    if (both !== undefined) issue(['observers'], `${both} is a voter too: an observer never votes`)
    const voters = votersIn(chosen, nodes)
    if (voters.length === 0) issue(['voters'], 'is empty: without a voter nobody can ever lead')
    else if (voters.every((id) => chosen.witnesses.includes(id))) {
      issue(['witnesses'], 'every voter is a witness: nobody could ever lead')
    }
    const stranger = chosen.witnesses.find((id) => !voters.includes(id))
    if (stranger !== undefined) issue(['witnesses'], `${stranger} is not a voter: a witness votes`)
    const broken = brokenBounds(givenBy(chosen, voters.length))[0]
    if (broken !== undefined) {
      const { option, bound, left, right, nearest } = broken
      issue(
        [option],
        `breaks the bound ${bound}: ${left} ms is below ${right} ms; the nearest valid value is ${nearest}`,
      )
    }
  })
}

export type LocalLeaderOptions = z.infer<ReturnType<typeof localLeaderOptions>>

type Choices = Pick<LocalLeaderOptions, 'voters' | 'observers'>

export function votersIn(chosen: Choices, nodes: readonly NodeId[]): readonly NodeId[] {
  return chosen.voters ?? nodes.filter((id) => !chosen.observers.includes(id))
}

type Constants = Pick<
  LocalLeaderOptions,
  | 'mode'
  | 'rule'
  | 'profile'
  | 'deltaMs'
  | 'deltaMinMs'
  | 'fastMs'
  | 'sigmaMs'
  | 'rhoPpm'
  | 'renewalIntervalMs'
  | 'renewalTries'
  | 'electionPeriodMs'
  | 'expiresMs'
  | 'treeFrom'
>

export function givenBy(chosen: Constants, voters: number): Given {
  const profile = PROFILES[chosen.profile]
  return {
    mode: chosen.mode,
    rule: chosen.rule,
    delay: microsOf(chosen.deltaMs ?? profile.deltaMs),
    leastDelay: microsOf(chosen.deltaMinMs ?? profile.deltaMinMs),
    fast: microsOf(chosen.fastMs ?? profile.fastMs),
    lateness: microsOf(chosen.sigmaMs ?? profile.sigmaMs),
    rho: chosen.rhoPpm / 1_000_000,
    renewalInterval: microsOf(chosen.renewalIntervalMs ?? profile.renewalIntervalMs),
    tries: chosen.renewalTries,
    isTree: voters >= chosen.treeFrom,
    electionPeriod: chosen.electionPeriodMs === null ? null : microsOf(chosen.electionPeriodMs),
    expires: chosen.expiresMs === null ? null : microsOf(chosen.expiresMs),
  }
}
