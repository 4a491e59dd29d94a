/** The options: a network profile or single constants, the voters, and the preferred leaders. */
import { z } from 'zod'
import { microsOf, milliseconds, type NodeId, nodeAmong, perNode } from '../../core/index.ts'
import { brokenBounds, type Given } from './constants.ts'
import { MISREADINGS } from './defects.ts'
import { adaptiveFields, adaptiveProblems, TREE_FROM } from './lease-options.ts'
import { PROFILES } from './profiles.ts'

const priority = z.int().min(-1_000_000).max(1_000_000)

/** The mode, and the constants of the network and of the election. */
function timingFields() {
  const own = (meaning: string) =>
    milliseconds().nullable().default(null).describe(`${meaning}; null: from the profile`)
  return {
    mode: z
      .enum(['local', 'majority'])
      .default('majority')
      .describe('local: one leader per partition; majority: one leader in all, with tokens'),
    profile: z
      .enum(['fast', 'lan', 'region', 'wan'])
      .default('lan')
      .describe('the network that the constants and the bounds of leases are for'),
    deltaMs: own('δ: messages delivered within this time are timely'),
    deltaMinMs: z
      .number()
      .min(0)
      .max(1000)
      .nullable()
      .default(null)
      .describe('δmin: the least delay of a message; null: from the profile'),
    fastMs: own('Δ: messages that provably took at most this time are fast'),
    sigmaMs: own('σ: the scheduling delay of a timely node'),
    rhoPpm: z.number().min(0.1).max(50_000).default(100).describe('ρ: clock drift, in parts per million'),
    renewalIntervalMs: own('time between renewals of the lease'),
    renewalTries: z.int().min(1).max(10).default(2).describe('K: tries per renewal'),
    electionPeriodMs: milliseconds()
      .nullable()
      .default(null)
      .describe('EP: time between candidacies; null: derived'),
    expiresMs: milliseconds()
      .nullable()
      .default(null)
      .describe('silence after which a node counts as unreachable; null: derived'),
  }
}

/** The nodes that vote, and the nodes that are preferred as leaders. */
function groupFields(nodes: readonly NodeId[]) {
  const node = nodeAmong(nodes)
  return {
    rule: z
      .enum(['quorum', 'equality'])
      .default('quorum')
      .describe(
        'majority mode: quorum: a majority is enough; equality: all reachable nodes must support, as in the paper',
      ),
    sticky: z.boolean().default(false).describe('whether only a node of higher priority deposes a leader'),
    priorities: perNode(nodes, priority)
      .default({})
      .describe('preferred leaders: the highest priority, then the lowest id'),
    holdDownMs: z
      .number()
      .min(0)
      .max(3_600_000)
      .default(0)
      .describe('hold-down before a node deposes a leader'),
    termMs: milliseconds()
      .nullable()
      .default(null)
      .describe('rotation: how long a node leads before it hands over; null: no rotation'),
    treeFrom: z
      .int()
      .min(2)
      .max(100_000)
      .default(TREE_FROM)
      .describe('number of voters from which a tree gathers the answers'),
    treeFanout: z.int().min(2).max(1000).default(16).describe('children per node in that tree'),
    voters: z
      .array(node)
      .nullable()
      .default(null)
      .describe('the nodes that vote; null: all except observers'),
    observers: z.array(node).default([]).describe('nodes that follow but never vote'),
    witnesses: z.array(node).default([]).describe('nodes that vote but never lead'),
    yieldWhenTold: z
      .boolean()
      .default(false)
      .describe('whether a leader that should yield only announces it, until it receives stepDown'),
  }
}

export function localLeaderOptions(nodes: readonly NodeId[]) {
  const fields = z.strictObject({
    ...timingFields(),
    ...adaptiveFields(),
    ...groupFields(nodes),
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
      .describe('for searches: no heartbeats, and at most this many requests per node'),
    link: z
      .enum(['fail-aware', 'none', 'hosted'])
      .default('fail-aware')
      .describe(
        'none: every message counts as fast, for searches without time; hosted: as real nodes run it, among other groups',
      ),
    hostedGroup: z.string().nullable().default(null).describe('with link hosted: the name of this group'),
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
    if (voters.length === 0) issue(['voters'], 'is empty: without voters no node can lead')
    else if (voters.every((id) => chosen.witnesses.includes(id))) {
      issue(['witnesses'], 'every voter is a witness: no node could lead')
    }
    const stranger = chosen.witnesses.find((id) => !voters.includes(id))
    if (stranger !== undefined) issue(['witnesses'], `${stranger} is not a voter: witnesses must be voters`)
    for (const [option, problem] of adaptiveProblems(chosen, voters.length)) issue([option], problem)
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
