/** `conclave plan --protocol omega`: its card, computed from the times of its links and checked by simulating them. */
import { z } from 'zod'
import type { PlainObject } from '../../core/index.ts'
import { plural } from '../../core/text.ts'
import type { HistoryOptions } from '../../links/index.ts'
import { brokenBound, PROFILES, profileOptions } from '../../protocols/index.ts'
import { type Figure, type OmegaGuarantees, omegaGuarantees } from '../../protocols/omega/guarantees.ts'
import { omegaDefinition } from '../../protocols/omega/index.ts'
import type { OmegaSettings } from '../../protocols/omega/settings.ts'
import { nodeList } from '../../workbench/scenario/schema.ts'
import {
  checkedOptions,
  InvalidScenarioError,
  parseScenario,
  runScenario,
} from '../../workbench/sim/index.ts'
import { EXIT, UsageError } from '../errors.ts'
import { formatTable, paint, print, printJson } from '../output.ts'
import { parseChoice, parseOptions, parseWholeNumber } from '../values.ts'
import { checked, type PlanFlags } from './config.ts'

const SEEDS = 200
const MOST_NODES = 50
const NAMES = ['lan', 'region', 'wan'] as const

/** `group` and `id` may stand there, as in the file of an agent; they mean nothing here. */
const configFile = z.strictObject({
  protocol: z.string().optional(),
  group: z.string().optional(),
  id: z.string().optional(),
  nodes: nodeList().optional(),
  options: z.record(z.string(), z.json()).optional(),
  profile: z.enum(NAMES).optional(),
  seeds: z.int().min(1).max(1_000_000).optional(),
})
type OmegaPlan = {
  readonly nodes: number
  readonly profile: (typeof NAMES)[number]
  readonly options: HistoryOptions & Pick<OmegaSettings, 'quorum'>
  readonly seeds: number
}

export function omegaPlanOf(flags: PlanFlags, said: PlainObject): OmegaPlan {
  const file = checked(configFile, said, flags.config ?? '')
  const nodes =
    flags.nodes === undefined ? (file.nodes?.length ?? 0) : parseWholeNumber('--nodes', flags.nodes, 2)
  if (nodes < 2 || nodes > MOST_NODES)
    throw new UsageError(`nodes: omega needs two at least, and ${MOST_NODES} at most are simulated`, 'nodes')
  const profile =
    flags.profile === undefined ? (file.profile ?? 'lan') : parseChoice('--profile', flags.profile, NAMES)
  const given: PlainObject = { ...file.options, ...parseOptions(flags.option) }
  if (given['links'] !== undefined && given['links'] !== 'datagrams')
    throw new UsageError(
      'options.links: the card is that of real processes, whose links go over datagrams: take it out',
      'options.links',
    )
  const chosen = { quorum: quorumOf(flags, given), ...given, ...profileOptions(profile, given) }
  const settings = checkedFor(nodes, chosen)
  const broken = brokenBound(profile, settings)
  if (broken !== null)
    throw new UsageError(`options.${broken.field}: ${broken.problem}`, `options.${broken.field}`)
  const seeds =
    flags.seeds === undefined ? (file.seeds ?? SEEDS) : parseWholeNumber('--seeds', flags.seeds, 1)
  return { nodes, profile, options: settings, seeds }
}

function quorumOf(flags: PlanFlags, given: PlainObject): OmegaSettings['quorum'] {
  if (flags.mode === undefined) return 'dynamic'
  const isLocal = parseChoice('--mode', flags.mode, ['local', 'majority']) === 'local'
  const { quorum } = given
  if (quorum !== undefined && isLocal !== (quorum === 'none'))
    throw new UsageError(
      `--mode ${flags.mode}: options.quorum says otherwise: leave one of them out`,
      '--mode',
    )
  return isLocal ? 'none' : 'dynamic'
}

function checkedFor(nodes: number, chosen: PlainObject): OmegaPlan['options'] {
  try {
    return checkedOptions(omegaDefinition, idsOf(nodes), chosen) as unknown as OmegaPlan['options']
  } catch (error) {
    if (error instanceof InvalidScenarioError) throw new UsageError(error.message, error.field)
    throw error
  }
}

const idsOf = (nodes: number): readonly number[] => Array.from({ length: nodes }, (_, place) => place + 1)

type Measured = { readonly runs: number; readonly median: number; readonly most: number }
type Row = Figure & Measured & { readonly name: string; readonly exceeded: boolean }

/** Milliseconds from the death of the leader; 0 when that never came. */
type Trial = {
  readonly promised: number
  readonly installed: number
  readonly acting: number
  readonly violated: boolean
}

/** The leader dies at some moment of its period; delays and lateness come from the seed. */
function trial(plan: OmegaPlan, seed: number): Trial {
  const { deltaMinMs, deltaMs, sigmaMs } = PROFILES[plan.profile]
  const { pingMs, timeoutMs } = plan.options
  const nodes = idsOf(plan.nodes)
  const crashMs = Math.round(4 * timeoutMs + pingMs * ((seed * 0.618_034) % 1))
  let promised = 0
  let installed = 0
  let acting = 0
  const scenario = parseScenario(
    {
      protocol: 'omega',
      nodes,
      initial: { leader: 1 },
      options: plan.options,
      seed,
      network: { delayMs: [deltaMinMs, deltaMs] },
      clocks: { lateMs: [0, sigmaMs] },
      events: [{ atMs: crashMs, crash: 1 }],
      untilMs: crashMs + 4 * timeoutMs + 20 * deltaMs,
    },
    { names: ['omega'], find: () => omegaDefinition },
  )
  const { specs } = runScenario(omegaDefinition, scenario, {
    observe(seen) {
      if (seen.type !== 'output' || seen.at < crashMs * 1000) return
      const afterMs = seen.at / 1000 - crashMs
      if (seen.event.type === 'promise') promised = afterMs
      if (seen.event.type === 'view') installed = afterMs
      if (seen.event.type === 'elected') acting = afterMs
    },
  })
  return { promised, installed, acting, violated: specs.some(({ verdict }) => verdict === 'violated') }
}

export function rowOf(
  name: string,
  figure: Figure,
  trials: readonly Trial[],
  field: 'promised' | 'installed' | 'acting',
): Row {
  const sorted = trials.map((each) => each[field]).sort((a, b) => a - b)
  const most = sorted.at(-1) ?? 0
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  const exceeded = most > figure.worst || sorted[0] === 0
  return { name, ...figure, runs: sorted.length, median, most, exceeded }
}

/** Datagrams of all links while nothing happens. */
function idleRate({ nodes, options: { pingMs }, options: settings }: OmegaPlan): number {
  const sent = (untilMs: number): number => {
    const scenario = { protocol: 'omega', nodes: idsOf(nodes), initial: { leader: 1 }, options: settings }
    const parsed = parseScenario(
      { ...scenario, events: [], untilMs },
      {
        names: ['omega'],
        find: () => omegaDefinition,
      },
    )
    return runScenario(omegaDefinition, parsed, {}).linkMessages.total
  }
  const periods = 20
  const pairs = (nodes * (nodes - 1)) / 2
  return (sent(2 * periods * pingMs) - sent(periods * pingMs)) / ((periods * pingMs) / 1000) / pairs
}

export function runOmegaPlan(plan: OmegaPlan, isJson: boolean): number {
  const { deltaMs, deltaMinMs, sigmaMs } = PROFILES[plan.profile]
  const assumed = { deltaMs, deltaMinMs, sigmaMs }
  const guarantees = omegaGuarantees(plan.nodes, plan.options, plan.options, assumed)
  const trials = Array.from({ length: plan.seeds }, (_, place) => trial(plan, place + 1))
  const canLead = guarantees.atOnce > 0
  const rows = canLead
    ? [
        rowOf('leader dies: all others see it, and promise', guarantees.promisedMs, trials, 'promised'),
        rowOf('leader dies: all others have the next view', guarantees.installedMs, trials, 'installed'),
        rowOf('leader dies: the next one acts', guarantees.actingMs, trials, 'acting'),
      ]
    : []
  const idle = idleRate(plan)
  const violations = trials.filter(({ violated }) => violated).length
  const isKept =
    violations === 0 &&
    rows.every(({ exceeded }) => !exceeded) &&
    idle <= guarantees.datagramsPerSecondPerPair * 1.001
  if (isJson)
    printJson({
      protocol: 'omega',
      ...plan,
      assumed,
      guarantees,
      measured: { rows, idle, violations },
      isKept,
    })
  else tell(plan, guarantees, rows, idle, isKept)
  return isKept ? EXIT.ok : EXIT.violated
}

function tell(
  { nodes, profile, options: chosen, seeds }: OmegaPlan,
  { datagramsPerSecondPerPair: rate, atOnce, inTurn }: OmegaGuarantees,
  rows: readonly Row[],
  idle: number,
  isKept: boolean,
): void {
  const { deltaMs, sigmaMs } = PROFILES[profile]
  const { quorum, pingMs, alphaMs, timeoutMs, retransmitMs } = chosen
  print(paint('bold', `omega, quorum ${quorum}, profile ${profile}: ${plural(nodes, 'node')}`))
  print('')
  print(paint('bold', 'It assumes'))
  print(`  messages take no longer than δ = ${deltaMs} ms, timers fire no later than σ = ${sigmaMs} ms;`)
  print(
    `  pings every ${pingMs} ms, waited for ${alphaMs} ms, silence borne for ${timeoutMs} ms, frames again after ${retransmitMs} ms.`,
  )
  print('')
  print(paint('bold', 'Times in ms: computed, and measured in simulated worlds of this very configuration'))
  const figure = (value: number): string => value.toFixed(1)
  const head = ['', 'typical', 'worst', 'median', 'most']
  const lines = rows.map(({ name, typical, worst, median, most, exceeded }) => [
    name,
    figure(typical),
    figure(worst),
    figure(median),
    `${figure(most)}${exceeded ? ' BEYOND' : ''}`,
  ])
  print(formatTable([head, ...lines].map(([name = '', ...figures]) => [`  ${name}`, ...figures])))
  print('')
  print(paint('bold', 'Fault tolerance'))
  print(`  ${atOnce} of ${nodes} may fail at once, ${inTurn} one after another (${ruleOf(quorum)}).`)
  print('')
  print(paint('bold', 'While nothing happens'))
  print(`  ${rate.toFixed(2)} datagrams a second a pair, measured ${idle.toFixed(2)}.`)
  print('')
  print(
    `${plural(seeds, 'run')}: ${isKept ? 'everything kept to what was computed' : paint('red', 'NOT everything kept to what was computed')}`,
  )
}

function ruleOf(quorum: OmegaSettings['quorum']): string {
  if (quorum === 'none') return 'every part that is all linked has its own view and leader'
  return quorum === 'static'
    ? 'a view needs a majority of all nodes'
    : 'a view needs a majority of the view before it'
}
