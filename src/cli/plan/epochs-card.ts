/** The guarantee card of `epochs`: computed beside measured. This is what `conclave plan --json` prints. */
import { msOf, type NodeId } from '../../core/index.ts'
import type { EpochsGuarantees } from '../../protocols/epochs/guarantees.ts'
import { epochsDefinition } from '../../protocols/epochs/index.ts'
import { assumedOf, type StoreConfig } from '../../service/registers/index.ts'
import {
  type Figure,
  figure,
  hundredth,
  type Shape,
  type SpecLine,
  shapeOf,
  specsOf,
  together,
} from '../../workbench/guarantees/figures.ts'
import type { PlanTrial } from '../../workbench/guarantees/trials.ts'
import { EMPTY_TRIALS, type Span, type SteadyState, type TrialTally } from '../../workbench/sim/index.ts'
import { EMPTY_DISTRIBUTION } from '../../workbench/trace/index.ts'
import { brokenIn, type EpochsPlan } from './epochs.ts'

export type OperationsLine = {
  readonly what: string
  readonly computedPerSecond: number
  readonly measuredPerSecond: number
  readonly exceeded: boolean
}

export type EpochsCard = {
  readonly protocol: 'epochs'
  readonly profile: string
  readonly nodes: readonly NodeId[]
  readonly start: string
  readonly turns: string
  readonly constantsMs: { readonly [name: string]: number }
  readonly driftPpm: number
  readonly accessesMs: Span
  /** What the chosen store cannot show and must be so; and whether a weak one was accepted. */
  readonly store: { readonly kind: StoreConfig['kind']; readonly acceptWeak: boolean } | null
  readonly assumed: readonly string[]
  readonly brokenAssumptions: readonly string[]
  readonly seeds: number
  readonly runs: number
  readonly idle: number
  readonly figures: readonly Figure[]
  readonly shapes: readonly Shape[]
  readonly operations: readonly OperationsLine[]
  readonly tolerance: { readonly spare: number }
  readonly specs: readonly SpecLine[]
  readonly exceeded: readonly string[]
}

export function epochsCard(
  plan: EpochsPlan,
  guarantees: EpochsGuarantees,
  trials: readonly PlanTrial[],
  tallies: readonly TrialTally[],
  steady: SteadyState,
): EpochsCard {
  const { timing } = guarantees
  const { store } = plan
  const figures = figuresOf(guarantees, trials, tallies)
  const shapes = trials.flatMap((trial, index) =>
    trial.share === 1 ? [] : [shapeOf(trial, tallies[index] ?? EMPTY_TRIALS)],
  )
  const operations = operationsOf(guarantees, plan, steady)
  const specs = specsOf(epochsDefinition, plan.options, tallies)
  const idle = tallies.reduce((sum, tally) => sum + tally.idle, 0)
  return {
    protocol: 'epochs',
    profile: plan.profile,
    nodes: plan.nodes,
    start: plan.options.start,
    turns: plan.options.turns,
    constantsMs: {
      period: msOf(timing.period),
      access: msOf(timing.access),
      lease: msOf(timing.lease),
      wait: msOf(timing.wait),
      poll: msOf(timing.poll),
      patience: msOf(timing.patience),
      stagger: msOf(timing.stagger),
    },
    driftPpm: plan.options.driftPpm,
    accessesMs: plan.delayMs ?? [0, plan.options.accessMs],
    store:
      store === null ? null : { kind: store.kind, acceptWeak: 'acceptWeak' in store && store.acceptWeak },
    assumed: store === null ? [] : assumedOf(store),
    brokenAssumptions: brokenIn(plan),
    seeds: plan.seeds,
    runs: tallies.reduce((sum, { runs }) => sum + runs, 0),
    idle,
    figures,
    shapes,
    operations,
    tolerance: { spare: plan.nodes.length - 1 },
    specs,
    exceeded: [
      ...(idle > 0 ? ['no leader to begin with'] : []),
      ...[...figures, ...shapes].flatMap(({ name, exceeded }) => (exceeded ? [name] : [])),
      ...operations.flatMap(({ what, exceeded }) => (exceeded ? [what] : [])),
      ...specs.flatMap(({ name, violations }) => (violations > 0 ? [name] : [])),
    ],
  }
}

function figuresOf(
  guarantees: EpochsGuarantees,
  trials: readonly PlanTrial[],
  tallies: readonly TrialTally[],
): readonly Figure[] {
  const { detection, failOver, handOver, leaseEnd, longestGap } = guarantees
  const tallyOf = (name: string): TrialTally | undefined =>
    tallies[trials.findIndex((trial) => trial.name === name)]
  const gaps = trials.map((trial, index) =>
    typeof trial.restoredWithin === 'number' && trial.restoredWithin > 0 && trial.name !== 'store-back'
      ? (tallies[index] ?? EMPTY_TRIALS).restored
      : EMPTY_DISTRIBUTION,
  )
  const stopping = trials.map((trial, index) =>
    trial.stoppedWithin === null ? EMPTY_DISTRIBUTION : (tallies[index] ?? EMPTY_TRIALS).stopped,
  )
  return [
    ...figure('detection', detection, tallyOf('crash')?.detected, tallyOf('crash-slow')?.detected),
    ...figure('fail-over', failOver, tallyOf('crash')?.restored, tallyOf('crash-slow')?.restored),
    ...figure('hand-over', handOver, tallyOf('hand-over')?.restored, tallyOf('hand-over-slow')?.restored),
    ...figure('leader stops', { typical: null, worst: leaseEnd }, undefined, together(stopping)),
    ...figure('longest gap', { typical: null, worst: longestGap }, undefined, together(gaps)),
  ]
}

/** One more of each may fall into what is watched, and clocks may be fast. */
function operationsOf(
  { operations, timing }: EpochsGuarantees,
  { nodes, options }: EpochsPlan,
  { micros, accesses }: SteadyState,
): readonly OperationsLine[] {
  const seconds = micros / 1_000_000
  const all = nodes.map((id) => accesses.get(id) ?? { writes: 0, rounds: 0 })
  // Whoever writes leads.
  const leader = all.reduce((most, each) => (each.writes > most.writes ? each : most))
  const others = all.filter((each) => each !== leader)
  const mean = (of: (each: (typeof all)[number]) => number): number =>
    others.length === 0 ? 0 : others.reduce((sum, each) => sum + of(each), 0) / others.length
  const line = (what: string, computed: number, count: number, most: number): OperationsLine => ({
    what,
    computedPerSecond: hundredth(computed),
    measuredPerSecond: hundredth(count / seconds),
    exceeded: count / seconds > most * (1 + options.driftPpm / 1_000_000) + 1 / seconds,
  })
  // A look takes no time at best, where accesses take none.
  const mostLooks = 1_000_000 / timing.poll
  return [
    line('leader: writes', operations.leaderWrites, leader.writes, operations.leaderWrites),
    line('leader: read rounds', operations.leaderReads, leader.rounds, operations.leaderReads),
    ...(others.length === 0
      ? []
      : [
          line(
            'each follower: writes',
            0,
            mean(({ writes }) => writes),
            0,
          ),
          line(
            'each follower: read rounds',
            operations.followerReads,
            mean(({ rounds }) => rounds),
            mostLooks,
          ),
        ]),
  ]
}
