/** The guarantee card: the configuration it is made for, and what it says. */
import { msOf, type NodeId, type Plain, type PlainObject } from '../../core/index.ts'
import { plural } from '../../core/text.ts'
import type { Chosen, Problem } from '../hosting.ts'
import { hundredth, listedIds } from '../plan-text.ts'
import type {
  LoadCard,
  Plan,
  PlanAsked,
  PlannedFigure,
  PlannedStore,
  PlannedTrial,
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

function optionsFor({ mode, profile = 'lan', options, chosen }: PlanAsked): Chosen {
  if (mode === undefined) return { options: profileOptions(profile, { ...options, ...chosen }) }
  const message = 'epochs has no modes: its leader leads every node that reaches the store'
  return { problems: [{ field: '--mode', message }] }
}

function problemsWith(options: PlainObject): readonly Problem[] {
  if (options['turns'] !== 'none') return problemsInHosted(options)
  const message =
    'none promises no time: elections collide, and chance decides how often; take succession or oracle'
  return [{ field: 'options.turns', message }]
}

function describe({ asked, options }: Plan): TrialPlan {
  const plan = planFor(asked, options as unknown as EpochsOptions)
  const guarantees = guaranteesFor(plan)
  const trials = trialsOf(plan, guarantees)
  const broken = brokenAssumptions(plan)
  const { timing, failOver, leaseEnd } = guarantees
  const { store = null, profile = 'lan' } = asked
  return {
    kind: 'trials',
    card: {
      protocol: 'epochs',
      profile,
      nodes: plan.nodes,
      start: plan.options.start,
      turns: plan.options.turns,
      constantsMs: constantsOf(guarantees),
      driftPpm: plan.options.driftPpm,
      accessesMs: plan.delayMs ?? [0, plan.options.accessMs],
      store: store === null ? null : { kind: store.kind, acceptWeak: store.acceptWeak },
      assumed: store?.assumed ?? [],
      brokenAssumptions: broken,
    },
    tolerance: { spare: plan.nodes.length - 1 },
    trials,
    steady: steadyWorld(plan, guarantees),
    figures: figuresOf(guarantees, trials),
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

function figuresOf(guarantees: EpochsGuarantees, trials: readonly PlannedTrial[]): readonly PlannedFigure[] {
  const { detection, failOver, handOver, leaseEnd, longestGap } = guarantees
  const named = (has: (trial: PlannedTrial) => boolean): readonly string[] =>
    trials.filter(has).map(({ name }) => name)
  const isGap = ({ name, restoredWithin }: PlannedTrial): boolean =>
    typeof restoredWithin === 'number' && restoredWithin > 0 && name !== 'store-back'
  return [
    {
      name: 'detection',
      title: 'leader crashes: another stands',
      computed: detection,
      usual: { trials: ['crash'], of: 'detected' },
      worst: { trials: ['crash-slow'], of: 'detected' },
    },
    {
      name: 'fail-over',
      title: 'leader crashes: another leads',
      computed: failOver,
      usual: { trials: ['crash'], of: 'restored' },
      worst: { trials: ['crash-slow'], of: 'restored' },
    },
    {
      name: 'hand-over',
      title: 'leader steps down: another leads',
      computed: handOver,
      usual: { trials: ['hand-over'], of: 'restored' },
      worst: { trials: ['hand-over-slow'], of: 'restored' },
    },
    {
      name: 'leader stops',
      title: 'leader without store: it has stopped',
      computed: { typical: null, worst: leaseEnd },
      usual: null,
      worst: { trials: named(({ stoppedWithin }) => stoppedWithin !== null), of: 'stopped' },
    },
    {
      name: 'longest gap',
      title: 'no leader though the store answers',
      computed: { typical: null, worst: longestGap },
      usual: null,
      worst: { trials: named(isGap), of: 'restored' },
    },
  ]
}

type OperationsLine = {
  readonly what: string
  readonly computedPerSecond: number
  readonly measuredPerSecond: number
  readonly exceeded: boolean
}

/** One more of each may fall into what is watched, and clocks may be fast. */
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
    computedPerSecond: hundredth(computed),
    measuredPerSecond: hundredth(measured / seconds),
    exceeded: measured / seconds > most * (1 + options.driftPpm / 1_000_000) + 1 / seconds,
  })
  const { leaderWrites, leaderReads, followerReads } = operations
  // A look takes no time at best, where accesses take none.
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
          'acceptWeak: a store that loses an acknowledged write is accepted, and then two may lead in one epoch',
        ]
      : [],
    worlds: ['usual', 'slow'],
    worldsMean: 'usual: accesses take anything up to r. slow: half of the runs take r for each of them.',
    overlap: [
      'zero: at no instant of true time do two lead. Not zero if a clock drifts by more than d, or stands still and the',
      'second clock does too (a paused or copied virtual machine).',
      isWeak
        ? 'One leader per epoch, and one holder per token, as long as the store loses no write: it was accepted as weak.'
        : 'At most one leader per epoch, and one holder per token, even if clocks fail: a resource that checks tokens is safe.',
    ],
    leaderWords: 'a leader within',
    stoppedWords: 'and the one before has stopped after',
    shapesMean: [
      'nodes are cut off from each other: nothing happens, they exchange no messages. Only the connection to the store',
      'counts: a node that loses it looks crashed to the others, and stops leading by itself.',
    ],
    tolerance: [
      nodes.length === 1
        ? 'A single node: when it fails nobody leads until it is back.'
        : `${nodes.length - 1} of ${nodes.length} nodes may fail, whichever they are: nobody votes, one that is left leads.`,
      'The store must live: while it is gone nobody leads. It bears what it is made to bear.',
    ],
    loadTitle: 'Operations a second in the store, while nothing happens',
    loadMeans: [
      'None of it grows with the number of nodes, but for the rows that a read round returns; the group has one leader.',
    ],
  }
}

function headline(
  nodes: readonly NodeId[],
  { turns, start }: EpochsOptions,
  { store, profile }: Where,
): string {
  const where = store === null ? 'any store that is a register' : `a store of kind ${store.kind}`
  const how = [
    ...(turns === 'succession' ? [] : [`turns ${turns}`]),
    ...(start === 'stamps' ? [] : [`start ${start}`]),
  ]
  return `epochs, profile ${profile}${how.map((word) => `, ${word}`).join('')}: ${plural(nodes.length, 'node')} (${listedIds(nodes)}) that meet in ${where}`
}

function assumptions(
  c: { readonly [name: string]: number },
  driftPpm: number,
  store: PlannedStore | null,
): readonly string[] {
  return [
    'the store is a register: reads return the last write, none that was acknowledged is lost, late ones change nothing',
    ...(store === null
      ? ['(name the store, and this card says what of that nobody can find out: docs/explanation/stores.md)']
      : store.assumed.map((line) => `of ${store.kind}, which cannot be found out: ${line}`)),
    `for progress, not for safety: an access takes at most ${c['access']} ms (r)`,
    `for the lease: a clock drifts by at most ${driftPpm} ppm (d); after a sleep of the host a second clock tells how long it was`,
    `from these: lease ${c['lease']} ms, renewed every ${c['period']} (T); followers look every ${c['poll']} and wait ${c['patience']}`,
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
