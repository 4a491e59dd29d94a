/** Reads the configuration of `conclave plan` from a file and from flags. Flags take precedence. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import {
  type Definition,
  explain,
  type NodeId,
  type PlainObject,
  present,
  sortIds,
} from '../../core/index.ts'
import {
  DEFAULT_PROTOCOL,
  hostedNames,
  hostingOf,
  LEASE_FIELDS,
  type Plan,
  type PlanAsked,
  type PlanField,
  type PlannedStore,
  type Planning,
  type Problem,
  type ProfileName,
  protocolNamed,
} from '../../protocols/index.ts'
import { assumptionsOf, InvalidStoreError, parseStore } from '../../service/registers/index.ts'
import { nodeList } from '../../workbench/scenario/schema.ts'
import { checkedOptions, firstProblem, InvalidScenarioError } from '../../workbench/sim/index.ts'
import type { ConnectionFlags } from '../ask/request.ts'
import { UsageError } from '../errors.ts'
import { readJsonFile } from '../input-files.ts'
import { parseChoice, parseMilliseconds, parseNumber, parseOptions, parseWholeNumber } from '../values.ts'
import { isAgentFile, planOfAgent } from './agent-file.ts'

export type PlanFlags = {
  readonly config?: string
  readonly group?: string
  readonly protocol?: string
  readonly profile?: string
  readonly mode?: string
  readonly timing?: string
  readonly leaseMinMs?: string
  readonly leaseMaxMs?: string
  readonly leaseLossPerDay?: string
  readonly nodes?: string
  readonly option: readonly string[]
  readonly seeds?: string
  readonly workers?: string
  readonly load?: string
  readonly json?: true
  /** The agent whose present level gets a card, and how to reach it. */
  readonly agent?: string
} & ConnectionFlags

const PROFILES = ['fast', 'lan', 'region', 'wan'] as const satisfies readonly ProfileName[]

const ms = z.number().min(0).max(3_600_000)
/** A duration, or a range of them. */
const span = z.union(
  [
    ms,
    z.tuple([ms, ms]).refine(([minimum, maximum]) => minimum <= maximum, {
      error: 'the range is reversed; write [minimum, maximum]',
    }),
  ],
  { error: 'must be a number of milliseconds, or [minimum, maximum]' },
)
const ids = z.array(z.union([z.int(), z.string().min(1)])).optional()

/** The fields of every protocol. */
const COMMON = {
  protocol: z.string().optional(),
  nodes: nodeList().optional(),
  options: z.record(z.string(), z.json()).optional(),
  seeds: z.int().min(1).max(1_000_000).optional(),
}

/** Fields of some protocols only. `group` and `id` are accepted, as in the file of an agent, and ignored. */
const SPECIAL = {
  group: z.string().optional(),
  id: z.string().optional(),
  voters: ids,
  observers: ids,
  witnesses: ids,
  profile: z.enum(PROFILES).optional(),
  network: z.strictObject({ delayMs: span.optional(), loss: z.number().min(0).max(1).optional() }).optional(),
  registers: z.strictObject({ delayMs: span.optional() }).optional(),
  store: z.unknown().optional(),
} satisfies { readonly [field in PlanField]: z.ZodType }

type ConfigFile = z.infer<z.ZodObject<typeof COMMON & typeof SPECIAL>>

/** Lists of nodes that can be given beside `options` or in it. */
const LISTS = ['voters', 'observers', 'witnesses'] as const

/** Reads the file of any protocol; an empty object without --config. */
export function readPlanFile(flags: PlanFlags): PlainObject {
  if (flags.config === undefined && flags.nodes === undefined) {
    throw new UsageError('plan needs a configuration: --config FILE, or --nodes N with --profile and --mode')
  }
  if (flags.config === undefined) return {}
  const content = /\.ya?ml$/i.test(flags.config) ? readYaml(flags.config) : readJsonFile(flags.config)
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new UsageError(`${flags.config}: must be an object`)
  if (isAgentFile(content as PlainObject)) return planOfAgent(flags.config, flags.group ?? null)
  if (flags.group !== undefined && flags.agent === undefined)
    throw new UsageError('--group: needs the configuration file of an agent with several groups', '--group')
  return content as PlainObject
}

function readYaml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(`${file}: ${code === 'ENOENT' ? 'no such file' : message.split('\n')[0]}`)
  }
}

/** A protocol and the description of its guarantee card. */
export type Planned = { readonly definition: Definition; readonly planning: Planning }

/** Finds the protocol that the flags or the file name. */
function findPlanned(flags: PlanFlags, file: PlainObject): Planned {
  const name = flags.protocol ?? file['protocol'] ?? DEFAULT_PROTOCOL
  const planning = typeof name === 'string' ? (hostingOf(name)?.planning ?? null) : null
  if (planning !== null) return { definition: present(protocolNamed(name as string), 'definition'), planning }
  const place = flags.protocol === undefined ? 'protocol' : '--protocol'
  const planned = hostedNames().filter((each) => hostingOf(each)?.planning !== null)
  throw new UsageError(
    `${place}: ${typeof name === 'string' ? name : JSON.stringify(name)} has no guarantee card; use one of ${planned.join(', ')}`,
    place,
  )
}

/** A checked configuration, and how its protocol plans. */
export type ReadyPlan = Plan & Planned

export function readPlan(flags: PlanFlags, content: PlainObject): ReadyPlan {
  const planned = findPlanned(flags, content)
  const { definition, planning } = planned
  const file = checkFile(planning, content, flags.config ?? '')
  const asked = readAsked(flags, file, planned)
  const given = planning.optionsFor(asked)
  if ('problems' in given) return refuse(given.problems)
  const options = checkOptions(definition, asked, given.options, file, flags)
  const problems = planning.problemsWith(options, asked)
  return problems.length > 0 ? refuse(problems) : { ...planned, asked, options }
}

function refuse([first]: readonly Problem[]): never {
  const { field, message } = present(first, 'problem')
  throw new UsageError(`${field}: ${message}`, field)
}

function checkFile({ fields }: Planning, content: PlainObject, file: string): ConfigFile {
  const special = Object.entries(SPECIAL).filter(([field]) => fields.includes(field as PlanField))
  const schema = z.strictObject({ ...COMMON, ...Object.fromEntries(special) })
  const result = schema.safeParse(content, { error: explain })
  if (result.success) return result.data
  const { field, problem } = firstProblem(result.error, '')
  throw new UsageError(field === '' ? `${file}: ${problem}` : `${field}: ${problem}`, field)
}

function readAsked(flags: PlanFlags, file: ConfigFile, { definition, planning }: Planned): PlanAsked {
  const nodes = readNodes(flags, file, planning, definition.name)
  const profile =
    flags.profile === undefined ? file.profile : parseChoice('--profile', flags.profile, PROFILES)
  const mode = flags.mode === undefined ? undefined : parseChoice('--mode', flags.mode, ['local', 'majority'])
  const seeds =
    flags.seeds === undefined ? (file.seeds ?? planning.seeds) : parseWholeNumber('--seeds', flags.seeds, 1)
  const given = {
    voters: file.voters,
    observers: file.observers,
    witnesses: file.witnesses,
    profile,
    mode,
    network: file.network,
    registers: file.registers,
    store: file.store === undefined ? undefined : readStore(file.store),
  }
  const known = Object.entries(given).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(known) as Partial<PlanAsked>),
    nodes,
    options: file.options ?? {},
    chosen: { ...parseOptions(flags.option), ...readTiming(flags) },
    seeds,
  }
}

/** The flags of adaptive timing. Each is the option of the same name. */
const TIMING_FLAGS = {
  timing: '--timing',
  leaseMinMs: '--lease-min-ms',
  leaseMaxMs: '--lease-max-ms',
  leaseLossPerDay: '--lease-loss-per-day',
} as const satisfies { readonly [field in LeaseField]: string }

type LeaseField = (typeof LEASE_FIELDS)[number]

function readTiming(flags: PlanFlags): PlainObject {
  const given = LEASE_FIELDS.flatMap((field) => {
    const text = flags[field]
    return text === undefined ? [] : [[field, parseTiming(field, text)] as const]
  })
  return Object.fromEntries(given)
}

function parseTiming(field: LeaseField, text: string): string | number {
  const flag = TIMING_FLAGS[field]
  if (field === 'timing') return parseChoice(flag, text, ['fixed', 'adaptive'])
  return field === 'leaseLossPerDay' ? parseNumber(flag, text) : parseMilliseconds(flag, text)
}

function readNodes(
  flags: PlanFlags,
  file: ConfigFile,
  { leastNodes, mostNodes }: Planning,
  protocol: string,
): readonly NodeId[] {
  const count = flags.nodes === undefined ? null : parseWholeNumber('--nodes', flags.nodes, leastNodes)
  if (count !== null && count > mostNodes) {
    throw new UsageError(`--nodes ${count}: at most ${mostNodes} nodes can be simulated`, '--nodes')
  }
  const listed = [...(file.voters ?? []), ...(file.witnesses ?? []), ...(file.observers ?? [])]
  const nodes =
    count === null ? (file.nodes ?? sortIds(new Set(listed))) : Array.from({ length: count }, (_, i) => i + 1)
  if (nodes.length === 0) {
    throw new UsageError('nodes: is missing; list the nodes, as nodes or as voters and observers', 'nodes')
  }
  if (nodes.length < leastNodes || nodes.length > mostNodes)
    throw new UsageError(
      `nodes: ${protocol} needs at least ${leastNodes} nodes, and at most ${mostNodes} can be simulated`,
      'nodes',
    )
  // A card names nodes by strings, so 1 and "1" would be the same.
  for (const list of LISTS) {
    const twin = (file[list] ?? []).find((id) =>
      nodes.some((other) => other !== id && `${other}` === `${id}`),
    )
    if (twin !== undefined)
      throw new UsageError(`${list}: ${twin} is given both as a number and as a string; use one form`, list)
  }
  return nodes
}

function readStore(given: unknown): PlannedStore {
  try {
    const store = parseStore(given)
    const acceptWeak = 'acceptWeak' in store && store.acceptWeak
    return { kind: store.kind, acceptWeak, assumed: assumptionsOf(store) }
  } catch (error) {
    if (error instanceof InvalidStoreError) throw new UsageError(error.message, error.field)
    throw error
  }
}

function checkOptions(
  definition: Definition,
  { nodes }: PlanAsked,
  given: PlainObject,
  file: ConfigFile,
  flags: PlanFlags,
): PlainObject {
  try {
    return checkedOptions(definition, nodes, given)
  } catch (error) {
    if (!(error instanceof InvalidScenarioError)) throw error
    const { field, problem } = present(error.problems[0], 'problem')
    const name = nameOption(field, file, flags)
    throw new UsageError(`${name}: ${problem}`, name)
  }
}

/** Names an option as the user wrote it: as a flag, or as a field of the file. */
function nameOption(field: string, file: ConfigFile, flags: PlanFlags): string {
  const option = field.replace(/^options\./, '')
  const lease = LEASE_FIELDS.find((each) => each === option && flags[each] !== undefined)
  if (lease !== undefined) return TIMING_FLAGS[lease]
  return LISTS.some((list) => file[list] !== undefined && option.startsWith(list)) ? option : field
}
