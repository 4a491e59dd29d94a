/**
 * The guarantee card: what was computed from the constants beside what was measured in simulated worlds, with a mark
 * wherever a measurement exceeds its bound. This is what `conclave plan --json` prints.
 */
import { msOf, type NodeId } from '../../core/index.ts'
import { type Guarantees, shownMs } from '../../protocols/local-leader/guarantees.ts'
import { localLeaderDefinition } from '../../protocols/local-leader/index.ts'
import { votersIn } from '../../protocols/local-leader/options.ts'
import { EMPTY_TRIALS, type Span, type SteadyState, type TrialTally } from '../sim/index.ts'
import { EMPTY_DISTRIBUTION } from '../trace/index.ts'
import {
  type Figure,
  figure,
  hundredth,
  type Shape,
  type SpecLine,
  shapeOf,
  specsOf,
  together,
} from './figures.ts'
import type { Plan } from './plan.ts'
import { brokenAssumptions, type PlanTrial } from './trials.ts'

export type TrafficCard = {
  readonly computed: { readonly datagramsPerSecond: number; readonly bytesPerSecond: number }
  readonly measured: { readonly datagramsPerSecond: number; readonly bytesPerSecond: number }
  readonly kinds: readonly {
    readonly kind: string
    readonly computedPerSecond: number
    readonly measuredPerSecond: number
    readonly bytes: number
  }[]
  readonly exceeded: boolean
}

export type Card = {
  readonly protocol: string
  readonly mode: 'local' | 'majority'
  readonly rule: 'quorum' | 'equality'
  readonly profile: string
  readonly voters: readonly NodeId[]
  readonly observers: readonly NodeId[]
  readonly witnesses: readonly NodeId[]
  readonly constantsMs: { readonly [name: string]: number }
  readonly rhoPpm: number
  readonly network: { readonly delayMs: Span; readonly loss: number }
  /** In what way the simulated network is outside of what the configuration assumes. */
  readonly brokenAssumptions: readonly string[]
  /** What to change about a configuration that is valid but not as good as it looks. */
  readonly advice: readonly string[]
  readonly seeds: number
  readonly runs: number
  /** Runs in which nobody led although nothing had happened yet. */
  readonly idle: number
  readonly figures: readonly Figure[]
  readonly shapes: readonly Shape[]
  readonly traffic: TrafficCard
  readonly tolerance: { readonly spare: number; readonly quorum: number; readonly eligible: number }
  readonly specs: readonly SpecLine[]
  /** Everything that did not keep to what was computed; empty when all is well. */
  readonly exceeded: readonly string[]
}

export function cardOf(
  plan: Plan,
  guarantees: Guarantees,
  trials: readonly PlanTrial[],
  tallies: readonly TrialTally[],
  steady: SteadyState,
): Card {
  const { timing } = guarantees
  const tallyOf = (name: string): TrialTally | null =>
    tallies[trials.findIndex((trial) => trial.name === name)] ?? null
  const figures = figuresOf(guarantees, trials, tallies, tallyOf)
  const shapes = trials.flatMap((trial, index) =>
    trial.share === 1 ? [] : [shapeOf(trial, tallies[index] ?? EMPTY_TRIALS)],
  )
  const traffic = trafficOf(guarantees, steady, plan.options.termMs !== null)
  const specs = specsOf(localLeaderDefinition, plan.options, tallies)
  const idle = tallies.reduce((sum, tally) => sum + tally.idle, 0)
  const isIdle = idle > 0 && plan.options.termMs === null
  return {
    protocol: localLeaderDefinition.name,
    mode: timing.mode,
    rule: guarantees.rule,
    profile: plan.options.profile,
    voters: votersIn(plan.options, plan.nodes),
    observers: plan.options.observers,
    witnesses: plan.options.witnesses,
    constantsMs: constantsOf(guarantees),
    rhoPpm: plan.options.rhoPpm,
    network: { delayMs: plan.delayMs ?? [msOf(timing.leastDelay), msOf(timing.delay)], loss: plan.loss },
    brokenAssumptions: brokenAssumptions(plan, guarantees),
    advice: adviceOn(guarantees),
    seeds: plan.seeds,
    runs: tallies.reduce((sum, { runs }) => sum + runs, 0),
    idle,
    figures,
    shapes,
    traffic,
    tolerance: { spare: guarantees.spare, quorum: guarantees.quorum, eligible: guarantees.eligible },
    specs,
    exceeded: [
      ...(isIdle ? ['no leader to begin with'] : []),
      ...[...figures, ...shapes].flatMap(({ name, exceeded }) => (exceeded ? [name] : [])),
      ...(traffic.exceeded ? ['traffic'] : []),
      ...specs.flatMap(({ name, violations }) => (violations > 0 ? [name] : [])),
    ],
  }
}

function adviceOn({ timing, ampleFast }: Guarantees): readonly string[] {
  if (timing.fast >= ampleFast) return []
  return [
    `messages that take ${msOf(timing.delay)} ms (δ) may count as slow, as clocks drift: set fastMs to ${shownMs(ampleFast)} or more`,
  ]
}

function constantsOf({ timing, traffic }: Guarantees): Card['constantsMs'] {
  return {
    delta: msOf(timing.delay),
    deltaMin: msOf(timing.leastDelay),
    fast: msOf(timing.fast),
    sigma: msOf(timing.lateness),
    lockTime: msOf(timing.lockTime),
    lease: msOf(timing.lease),
    electionPeriod: msOf(timing.electionPeriod),
    expires: msOf(timing.expires),
    heartbeat: msOf(timing.heartbeat),
    renewal: msOf(traffic.renewalPeriod),
  }
}

function figuresOf(
  guarantees: Guarantees,
  trials: readonly PlanTrial[],
  tallies: readonly TrialTally[],
  tallyOf: (name: string) => TrialTally | null,
): readonly Figure[] {
  const { detection, failOver, handOver, leaseEnd, longestGap } = guarantees
  const crash = tallyOf('crash')
  const late = tallyOf('crash-late')
  const promised = trials.map((trial, index) => {
    const isPromised = typeof trial.restoredWithin === 'number' && trial.restoredWithin > 0
    return isPromised ? (tallies[index] ?? EMPTY_TRIALS).restored : EMPTY_DISTRIBUTION
  })
  const stopping = trials.map((trial, index) =>
    trial.stoppedWithin === null ? EMPTY_DISTRIBUTION : (tallies[index] ?? EMPTY_TRIALS).stopped,
  )
  return [
    ...figure('detection', detection, crash?.detected, late?.detected),
    ...figure('fail-over', failOver, crash?.restored, late?.restored),
    ...figure('hand-over', handOver, tallyOf('hand-over')?.restored, tallyOf('hand-over-late')?.restored),
    ...figure('isolated leader stops', { typical: null, worst: leaseEnd }, undefined, together(stopping)),
    ...figure('longest gap', { typical: null, worst: longestGap }, undefined, together(promised)),
  ]
}

/** Sizes are those of the canonical texts; kinds that are not computed are those of the layer below. */
function trafficOf(
  { traffic, timing }: Guarantees,
  { micros, kinds }: SteadyState,
  takesTurns: boolean,
): TrafficCard {
  const computed: { readonly [kind: string]: number } = {
    Election: traffic.elections,
    Reply: traffic.replies,
    Heartbeat: traffic.heartbeats,
  }
  const seconds = micros / 1_000_000
  const names = [...new Set([...Object.keys(computed), ...Object.keys(kinds)])]
  const rows = names.map((kind) => {
    const { count, bytes } = kinds[kind] ?? { count: 0, bytes: 0 }
    return {
      kind,
      computedPerSecond: hundredth(computed[kind] ?? 0),
      measuredPerSecond: hundredth(count / seconds),
      bytes: count === 0 ? 0 : Math.round(bytes / count),
    }
  })
  const sum = (of: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + of(row), 0)
  const perSecond = traffic.elections + traffic.replies + traffic.heartbeats
  // Clocks may be fast, and where the watching begins and ends may catch one more of each.
  const once = (perSecond * Math.max(traffic.renewalPeriod, traffic.heartbeatPeriod)) / micros
  // On a tree a vote that comes too late to be gathered is passed on by itself. Where leaders take turns each
  // hand-over adds a Release and a round: less than a renewal more for every renewal.
  const beside =
    (timing.isTree ? traffic.replies : 0) + (takesTurns ? traffic.elections + traffic.replies : 0)
  return {
    computed: {
      datagramsPerSecond: hundredth(perSecond),
      bytesPerSecond: Math.round(sum((row) => row.computedPerSecond * row.bytes)),
    },
    measured: {
      datagramsPerSecond: hundredth(sum((row) => row.measuredPerSecond)),
      bytesPerSecond: Math.round(sum((row) => row.measuredPerSecond * row.bytes)),
    },
    kinds: rows,
    exceeded: sum((row) => row.measuredPerSecond) > perSecond * (1 + timing.rho) + once + beside,
  }
}
