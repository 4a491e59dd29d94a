/** The guarantee card: its configuration, and its text. */
import { msOf, type NodeId, type Plain, type PlainObject } from '../../core/index.ts'
import { plural } from '../../core/text.ts'
import { type Chosen, NO_FAST_PROFILE, networkOf, type Problem } from '../hosting.ts'
import { type FigureNames, leaseFigures } from '../lease-figures.ts'
import { formatIds, roundToHundredth } from '../plan-text.ts'
import type {
  LoadCard,
  Plan,
  PlanAsked,
  PlannedStore,
  Planning,
  SteadyLoad,
  TrialPlan,
  TrialText,
} from '../planning.ts'
import type { EpochsGuarantees } from './guarantees.ts'
import type { EpochsOptions } from './options.ts'
import { problemsInHosted, profileOptions } from './profiles.ts'
import {
  brokenAssumptions,
  type EpochsPlan,
  guaranteesFor,
  planFor,
  steadyWorld,
  trialsOf,
} from './trials.ts'

function optionsFor({ mode, profile, options, chosen }: PlanAsked): Chosen {
  const network = networkOf(profile)
  if (network === null) return { problems: [NO_FAST_PROFILE] }
  if (mode === undefined) return { options: profileOptions(network, { ...options, ...chosen }) }
  const message = 'epochs has no modes: one node leads all nodes that reach the store; remove it'
  return { problems: [{ field: '--mode', message }] }
}

function problemsWith(options: PlainObject): readonly Problem[] {
  if (options['turns'] !== 'none') return problemsInHosted(options)
  const message = 'none guarantees no times, because elections collide at random; use succession or oracle'
  return [{ field: 'options.turns', message }]
}

function describe({ asked, options }: Plan): TrialPlan {
  const plan = planFor(asked, options as unknown as EpochsOptions)
  const guarantees = guaranteesFor(plan)
  const trials = trialsOf(plan, guarantees)
  const broken = brokenAssumptions(plan)
  const { timing, failOver, leaseEnd } = guarantees
  const { store = null, profile = 'lan' } = asked
  const { start, turns, driftPpm, accessMs } = plan.options
  return {
    kind: 'trials',
    card: {
      protocol: 'epochs',
      profile,
      nodes: plan.nodes,
      start,
      turns,
      constantsMs: constantsOf(guarantees),
      driftPpm,
      accessesMs: plan.delayMs ?? [0, accessMs],
      store: store === null ? null : { kind: store.kind, acceptWeak: store.acceptWeak },
      assumed: store?.assumed ?? [],
      brokenAssumptions: broken,
    },
    tolerance: { spare: plan.nodes.length - 1 },
    trials,
    steady: steadyWorld(plan, guarantees),
    figures: leaseFigures(guarantees, trials, FIGURE_NAMES),
    mayBeIdle: false,
    bounds: { failOver: failOver?.worst ?? null, leaseEnd, silence: timing.wait },
    load: { field: 'operations', measure: (steady) => operationsOf(guarantees, plan, steady) },
    text: textOf(plan, guarantees, broken, { store, profile }),
  }
}

function constantsOf({ timing }: EpochsGuarantees): { readonly [name: string]: number } {
  return {
    period: msOf(timing.period),
    access: msOf(timing.access),
    lease: msOf(timing.lease),
    wait: msOf(timing.wait),
    poll: msOf(timing.poll),
    patience: msOf(timing.patience),
    stagger: msOf(timing.stagger),
  }
}

const FIGURE_NAMES: FigureNames = {
  worstSuffix: 'slow',
  leaderStops: { name: 'leader stops', title: 'leader loses the store: it has stopped' },
  longestGapTitle: 'no leader although the store works',
  notGaps: ['store-back'],
}

type OperationsLine = {
  readonly what: string
  readonly computedPerSecond: number
  readonly measuredPerSecond: number
  readonly exceeded: boolean
}

/** The measured time may include one more operation of each kind, and clocks may be fast. */
function operationsOf(
  { operations, timing }: EpochsGuarantees,
  { nodes, options }: EpochsPlan,
  { micros, accesses }: SteadyLoad,
): LoadCard {
  const seconds = micros / 1_000_000
  const all = nodes.map((id) => accesses.get(id) ?? { writes: 0, rounds: 0 })
  // The node that writes most is the leader.
  const leader = all.reduce((most, each) => (each.writes > most.writes ? each : most))
  const others = all.filter((each) => each !== leader)
  const mean = (of: (each: (typeof all)[number]) => number): number =>
    others.reduce((sum, each) => sum + of(each), 0) / others.length
  const line = (what: string, computed: number, measured: number, most: number): OperationsLine => ({
    what,
    computedPerSecond: roundToHundredth(computed),
    measuredPerSecond: roundToHundredth(measured / seconds),
    exceeded: measured / seconds > most * (1 + options.driftPpm / 1_000_000) + 1 / seconds,
  })
  const { leaderWrites, leaderReads, followerReads } = operations
  // At best, accesses and so looks take no time.
  const mostLooks = 1_000_000 / timing.poll
  const followers =
    others.length === 0
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
            followerReads,
            mean(({ rounds }) => rounds),
            mostLooks,
          ),
        ]
  const lines = [
    line('leader: writes', leaderWrites, leader.writes, leaderWrites),
    line('leader: read rounds', leaderReads, leader.rounds, leaderReads),
    ...followers,
  ]
  return {
    card: lines satisfies Plain,
    exceeded: lines.flatMap(({ what, exceeded }) => (exceeded ? [what] : [])),
    rows: [
      { cells: ['', 'computed /s', 'measured /s'], exceeded: false },
      ...lines.map(({ what, computedPerSecond, measuredPerSecond, exceeded }) => ({
        cells: [what, computedPerSecond.toFixed(2), measuredPerSecond.toFixed(2)],
        exceeded,
      })),
    ],
  }
}

type Where = { readonly store: PlannedStore | null; readonly profile: string }

function textOf(
  { nodes, options }: EpochsPlan,
  guarantees: EpochsGuarantees,
  broken: readonly string[],
  { store, profile }: Where,
): TrialText {
  const isWeak = store?.acceptWeak === true
  return {
    headline: headline(nodes, options, { store, profile }),
    assumes: assumptions(constantsOf(guarantees), options.driftPpm, store),
    broken,
    advice: isWeak
      ? [
          'acceptWeak: a store that loses an acknowledged write is accepted; two nodes may then lead in one epoch',
        ]
      : [],
    worlds: ['usual', 'slow'],
    worldsMean: 'usual: accesses take up to r. slow: in half of the runs every access takes r.',
    overlap: [
      'zero: at no instant of true time do two nodes lead. Not zero if a clock drifts by more than d, or stops together',
      'with the second clock (a paused or copied virtual machine).',
      isWeak
        ? 'At most one leader per epoch, and one holder per token, as long as the store loses no write: it was accepted as weak.'
        : 'At most one leader per epoch, and one holder per token, even if clocks fail: a resource that checks tokens is safe.',
    ],
    leaderWords: 'a leader within',
    stoppedWords: 'and the old leader has stopped after',
    shapesMean: [
      'Nodes exchange no messages, so partitions between nodes have no effect. Only the connection to the store counts: a',
      'node that loses it looks crashed to the other nodes, and stops leading by itself.',
    ],
    tolerance: [
      nodes.length === 1
        ? 'A single node: if it fails, no node leads until it is back.'
        : `${nodes.length - 1} of ${nodes.length} nodes may fail, in any combination: a single remaining node can lead.`,
      'No node leads while the store is down. How many failures the store tolerates depends on its own setup.',
    ],
    loadTitle: 'Store operations per second in the steady state',
    loadMeans: [
      'Per node, these rates do not depend on the number of nodes. A read round returns one row per node.',
    ],
  }
}

function headline(
  nodes: readonly NodeId[],
  { turns, start }: EpochsOptions,
  { store, profile }: Where,
): string {
  const where = store === null ? 'any suitable store' : `a store of kind ${store.kind}`
  const how = [
    ...(turns === 'succession' ? [] : [`turns ${turns}`]),
    ...(start === 'stamps' ? [] : [`start ${start}`]),
  ]
  return `epochs, profile ${profile}${how.map((word) => `, ${word}`).join('')}: ${plural(nodes.length, 'node')} (${formatIds(nodes)}) in ${where}`
}

function assumptions(
  c: { readonly [name: string]: number },
  driftPpm: number,
  store: PlannedStore | null,
): readonly string[] {
  return [
    'the store behaves like a register: reads return the last write, acknowledged writes are not lost, late writes have no effect',
    ...(store === null
      ? ['(name the store to list what conclave cannot check about it: docs/explanation/stores.md)']
      : store.assumed.map((line) => `of ${store.kind}, which conclave cannot check: ${line}`)),
    `for progress, not for safety: an access takes at most ${c['access']} ms (r)`,
    `for the lease: a clock drifts by at most ${driftPpm} ppm (d); when the host sleeps, a second clock measures how long`,
    `derived: lease ${c['lease']} ms, renewed every ${c['period']} (T); followers poll every ${c['poll']} and start an election after ${c['patience']} without progress`,
  ]
}

export const epochsPlanning: Planning = {
  fields: ['group', 'id', 'profile', 'store', 'registers'],
  leastNodes: 1,
  mostNodes: 1000,
  seeds: 2000,
  optionsFor,
  problemsWith,
  describe,
}
