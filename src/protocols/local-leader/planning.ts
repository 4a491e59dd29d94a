/** The guarantee card: its configuration, and its text. */
import { type Micros, msOf, type NodeId, type PlainObject } from '../../core/index.ts'
import { plural } from '../../core/text.ts'
import type { Chosen } from '../hosting.ts'
import { type FigureNames, leaseFigures } from '../lease-figures.ts'
import { formatIds, roundUpMs } from '../plan-text.ts'
import type { Plan, PlanAsked, PlanField, Planning, TrialPlan, TrialText } from '../planning.ts'
import { type Guarantees, guaranteesOf } from './guarantees.ts'
import { defaultTiming } from './lease-options.ts'
import { lockAt } from './levels.ts'
import { type LocalLeaderOptions, votersIn } from './options.ts'
import { atWorstLevel, plannedLevels } from './plan-levels.ts'
import { trafficOf } from './plan-traffic.ts'
import {
  brokenAssumptions,
  type LocalLeaderPlan,
  planFor,
  spanMicros,
  steadyWorld,
  trialsOf,
} from './trials.ts'

/** Lists of nodes that may be given beside `options` or in it. */
const LISTS = ['voters', 'observers', 'witnesses'] as const satisfies readonly PlanField[]

function optionsFor(asked: PlanAsked): Chosen {
  const twice = LISTS.find((list) => asked[list] !== undefined && asked.options[list] !== undefined)
  if (twice !== undefined)
    return {
      problems: [{ field: `options.${twice}`, message: `is also given as ${twice}; remove one of them` }],
    }
  const { voters, observers, witnesses = [], profile, mode } = asked
  const options: PlainObject = {
    ...asked.options,
    // A witness votes, whether it is listed among the voters or not.
    ...(voters === undefined
      ? {}
      : { voters: [...voters, ...witnesses.filter((id) => !voters.includes(id))] }),
    ...(observers === undefined ? {} : { observers }),
    ...(asked.witnesses === undefined ? {} : { witnesses }),
    ...asked.chosen,
    ...(profile === undefined ? {} : { profile }),
    ...(mode === undefined ? {} : { mode }),
  }
  const unreal = (['link', 'requests'] as const).find((name) => (options[name] ?? null) !== null)
  // As real nodes choose it.
  if (unreal === undefined)
    return { options: { timing: defaultTiming(options, asked.nodes.length), ...options } }
  const message = 'is for searches without time, which have no guarantee card'
  return { problems: [{ field: `options.${unreal}`, message }] }
}

/** The computed guarantees. Typical values use the given delays, if those are within the assumptions. */
function guaranteesFor(plan: LocalLeaderPlan, lock: Micros | undefined): Guarantees {
  const assumed = guaranteesOf(plan.options, plan.nodes, undefined, lock)
  if (plan.delayMs === null || brokenAssumptions(plan, assumed).length > 0) return assumed
  const [least, most] = spanMicros(plan.delayMs)
  return guaranteesOf(plan.options, plan.nodes, { least, most }, lock)
}

function describe(whole: Plan): TrialPlan {
  const { asked, options, level } = atWorstLevel(whole)
  const plan = planFor(asked, options as unknown as LocalLeaderOptions)
  const guarantees = guaranteesFor(plan, level === null ? undefined : lockAt(level))
  const trials = trialsOf(plan, guarantees)
  const broken = brokenAssumptions(plan, guarantees)
  const advice = adviceOn(guarantees)
  const { timing, failOver, leaseEnd, spare, quorum, eligible } = guarantees
  const rotates = plan.options.termMs !== null
  return {
    kind: 'trials',
    card: {
      protocol: 'local-leader',
      mode: timing.mode,
      rule: guarantees.rule,
      profile: plan.options.profile,
      ...(level === null ? {} : { timing: 'adaptive', level }),
      voters: votersIn(plan.options, plan.nodes),
      observers: plan.options.observers,
      witnesses: plan.options.witnesses,
      constantsMs: constantsOf(guarantees),
      rhoPpm: plan.options.rhoPpm,
      network: { delayMs: plan.delayMs ?? [msOf(timing.leastDelay), msOf(timing.delay)], loss: plan.loss },
      brokenAssumptions: broken,
      advice,
    },
    tolerance: { spare, quorum, eligible },
    trials,
    steady: steadyWorld(plan, guarantees),
    figures: leaseFigures(guarantees, trials, FIGURE_NAMES),
    mayBeIdle: rotates,
    bounds: { failOver: failOver?.worst ?? null, leaseEnd, silence: timing.lockTime },
    load: { field: 'traffic', measure: (steady) => trafficOf(guarantees, steady, rotates) },
    text: textOf(plan, guarantees, broken, advice),
  }
}

function adviceOn({ timing, ampleFast }: Guarantees): readonly string[] {
  if (timing.fast >= ampleFast) return []
  return [
    `messages that take ${msOf(timing.delay)} ms (δ) may count as slow, because clocks drift: set fastMs to ${roundUpMs(ampleFast)} or more`,
  ]
}

function constantsOf({ timing, traffic }: Guarantees): { readonly [name: string]: number } {
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

const FIGURE_NAMES: FigureNames = {
  worstSuffix: 'late',
  leaderStops: { name: 'isolated leader stops', title: 'leader cut off: it has stopped' },
  longestGapTitle: 'stable partition without leader (κ)',
  notGaps: [],
}

function textOf(
  plan: LocalLeaderPlan,
  guarantees: Guarantees,
  broken: readonly string[],
  advice: readonly string[],
): TrialText {
  const { mode } = guarantees.timing
  return {
    headline: headline(plan, guarantees),
    assumes: assumptions(constantsOf(guarantees), plan.options.rhoPpm, mode),
    broken,
    advice: advice.map((line) => `advice: ${line}`),
    worlds: ['punctual', 'late'],
    worldsMean:
      'punctual: timers fire when due. late: up to σ later, half of the crashes in the middle of a step.',
    overlap: mode === 'majority' ? OVERLAP : LOCAL_OVERLAP,
    leaderWords: mode === 'local' ? 'a leader of its own within' : 'a leader within',
    stoppedWords: 'and none on the other side after',
    shapesMean: [],
    tolerance: tolerance(plan, guarantees),
    loadTitle: 'Steady state, the whole group',
    loadMeans: [
      'bytes: the size of a message as canonical JSON. A wire format may be smaller; headers come on top.',
    ],
  }
}

function headline({ nodes, options }: LocalLeaderPlan, { timing: { mode }, rule }: Guarantees): string {
  const { observers, witnesses, profile } = options
  const voters = votersIn(options, nodes)
  const among = (ids: readonly NodeId[], what: string): string =>
    `${plural(ids.length, what)} (${formatIds(ids)})`
  const parts = [
    among(voters, 'voter'),
    ...(witnesses.length === 0 ? [] : [`of which ${among(witnesses, 'witness')}`]),
    ...(observers.length === 0 ? [] : [among(observers, 'observer')]),
  ]
  const how = mode === 'majority' && rule === 'equality' ? 'majority mode, rule equality' : `${mode} mode`
  const timing = options.timing === 'fixed' ? '' : ', adaptive timing'
  return `local-leader, ${how}, profile ${profile}${timing}: ${parts.join(', ')}`
}

function assumptions(
  c: { readonly [name: string]: number },
  rhoPpm: number,
  mode: 'local' | 'majority',
): readonly string[] {
  return [
    `a message takes ${c['deltaMin']} to ${c['delta']} ms (δmin, δ); a message that provably took at most ${c['fast']} ms is fast (Δ)`,
    `a node acts at most ${c['sigma']} ms late (σ: scheduling, garbage collection)`,
    `a clock drifts by at most ${rhoPpm} ppm (ρ); when the host sleeps, a second clock measures how long`,
    mode === 'majority'
      ? 'stored data survives a crash; a voter that lost its disk returns under a new id'
      : 'stored data survives a crash; a node that lost its disk returns under a new id',
    `derived: lease ${c['lease']} ms, renewed every ${c['renewal']}; unreachable after ${c['expires']} ms of silence; heartbeat every ${c['heartbeat']}`,
  ]
}

const OVERLAP = [
  'zero: at no instant of true time do two nodes lead, and every term has a larger token than all terms before.',
  'Not zero if a clock drifts by more than ρ, or stops together with the second clock (a paused or copied',
  'virtual machine). Even then tokens only grow: a resource that checks them refuses the older leader.',
  'Neither holds if a voter loses its disk and returns under its old id.',
]

const LOCAL_OVERLAP = [
  'zero within a partition: no node supports two leaders at the same instant of true time.',
  'Each partition has its own leader, so a split network has two or more. Local mode has no tokens.',
  'Not zero if a clock drifts by more than ρ, or stops together with the second clock.',
]

function tolerance(
  { nodes, options: { observers, witnesses }, options }: LocalLeaderPlan,
  { timing: { mode }, spare, quorum, eligible }: Guarantees,
): readonly string[] {
  const voters = votersIn(options, nodes)
  const fail = `${spare} of ${plural(voters.length, 'voter')} may fail, in any combination`
  const lines =
    mode === 'majority'
      ? [
          `${fail}: a leader needs ${quorum}.`,
          ...(voters.length % 2 === 0
            ? [
                `An even number: ${voters.length - 1} voters would tolerate as many failures, ${voters.length + 1} one more.`,
              ]
            : []),
        ]
      : [`${fail}: the remaining nodes have a leader.`]
  if (witnesses.length > 0) {
    lines.push(`Witnesses vote but never lead: ${eligible} of ${voters.length} can lead.`)
  }
  if (observers.length > 0)
    lines.push(
      'Observers follow the leader and never vote: their failures do no harm, and they add no tolerance.',
    )
  return lines
}

export const localLeaderPlanning: Planning = {
  fields: [...LISTS, 'network'],
  leastNodes: 1,
  mostNodes: 1000,
  seeds: 2000,
  optionsFor,
  problemsWith: () => [],
  describe,
  levels: plannedLevels,
}
