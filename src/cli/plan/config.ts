/** The configuration that a guarantee card is made for: a file, flags, or both (flags win). */
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
  type Plan,
  type PlanAsked,
  type PlanField,
  type PlannedStore,
  type Planning,
  type Problem,
  protocolNamed,
} from '../../protocols/index.ts'
import { assumptionsOf, InvalidStoreError, parseStore } from '../../service/registers/index.ts'
import { nodeList } from '../../workbench/scenario/schema.ts'
import { checkedOptions, firstProblem, InvalidScenarioError } from '../../workbench/sim/index.ts'
import { UsageError } from '../errors.ts'
import { readJsonFile } from '../input-files.ts'
import { parseChoice, parseOptions, parseWholeNumber } from '../values.ts'

export type PlanFlags = {
  readonly config?: string
  readonly protocol?: string
  readonly profile?: string
  readonly mode?: string
  readonly nodes?: string
  readonly option: readonly string[]
  readonly seeds?: string
  readonly workers?: string
  readonly load?: string
  readonly json?: true
}

const PROFILES = ['lan', 'region', 'wan'] as const

const ms = z.number().min(0).max(3_600_000)
/** A duration, or a range of them. */
const span = z.union(
  [
    ms,
    z
      .tuple([ms, ms])
      .refine(([least, most]) => least <= most, { error: 'runs backwards: write [least, most]' }),
  ],
  { error: 'is neither a number of milliseconds nor [least, most]' },
)
const ids = z.array(z.union([z.int(), z.string().min(1)])).optional()

/** Fields that every protocol takes. */
const COMMON = {
  protocol: z.string().optional(),
  nodes: nodeList().optional(),
  options: z.record(z.string(), z.json()).optional(),
  seeds: z.int().min(1).max(1_000_000).optional(),
}

/** Fields that only some protocols take. `group` and `id` may stand there, as in the file of an agent; they mean nothing. */
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

/** Lists of nodes that may stand beside `options` as well as in it. */
const LISTS = ['voters', 'observers', 'witnesses'] as const

/** Reads the file, whichever protocol it is for; an empty object where there is none. */
export function readConfig(flags: PlanFlags): PlainObject {
  if (flags.config === undefined && flags.nodes === undefined) {
    throw new UsageError('plan needs a configuration: --config FILE, or --nodes N with --profile and --mode')
  }
  if (flags.config === undefined) return {}
  const said = /\.ya?ml$/i.test(flags.config) ? readYaml(flags.config) : readJsonFile(flags.config)
  if (typeof said !== 'object' || said === null || Array.isArray(said))
    throw new UsageError(`${flags.config}: is no object`)
  return said as PlainObject
}

function readYaml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(`${file}: ${code === 'ENOENT' ? 'there is no such file' : message.split('\n')[0]}`)
  }
}

/** A protocol and the description of its guarantee card. */
export type Planned = { readonly definition: Definition; readonly planning: Planning }

/** The protocol for which a card is asked. */
export function plannedIn(flags: PlanFlags, file: PlainObject): Planned {
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

export function planOf(flags: PlanFlags, said: PlainObject): Plan & Planned {
  const planned = plannedIn(flags, said)
  const { definition, planning } = planned
  const file = checkedFile(planning, said, flags.config ?? '')
  const asked = askedFor(flags, file, planned)
  const given = planning.optionsFor(asked)
  if ('problems' in given) return refuse(given.problems)
  const options = optionsOf(definition, asked, given.options, file)
  const problems = planning.problemsWith(options, asked)
  return problems.length > 0 ? refuse(problems) : { ...planned, asked, options }
}

function refuse([first]: readonly Problem[]): never {
  const { field, message } = present(first, 'problem')
  throw new UsageError(`${field}: ${message}`, field)
}

function checkedFile({ fields }: Planning, said: PlainObject, file: string): ConfigFile {
  const special = Object.entries(SPECIAL).filter(([field]) => fields.includes(field as PlanField))
  const schema = z.strictObject({ ...COMMON, ...Object.fromEntries(special) })
  const result = schema.safeParse(said, { error: explain })
  if (result.success) return result.data as ConfigFile
  const { field, problem } = firstProblem(result.error, '')
  throw new UsageError(field === '' ? `${file}: ${problem}` : `${field}: ${problem}`, field)
}

function askedFor(flags: PlanFlags, file: ConfigFile, { definition, planning }: Planned): PlanAsked {
  const nodes = nodesOf(flags, file, planning, definition.name)
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
    store: file.store === undefined ? undefined : storeOf(file.store),
  }
  const known = Object.entries(given).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(known) as Partial<PlanAsked>),
    nodes,
    options: (file.options ?? {}) as PlainObject,
    chosen: parseOptions(flags.option),
    seeds,
  }
}

function nodesOf(
  flags: PlanFlags,
  file: ConfigFile,
  { leastNodes, mostNodes }: Planning,
  protocol: string,
): readonly NodeId[] {
  const count = flags.nodes === undefined ? null : parseWholeNumber('--nodes', flags.nodes, leastNodes)
  if (count !== null && count > mostNodes) {
    throw new UsageError(`--nodes ${count}: at most ${mostNodes} are simulated`, '--nodes')
  }
  const listed = [...(file.voters ?? []), ...(file.witnesses ?? []), ...(file.observers ?? [])]
  const nodes =
    count === null ? (file.nodes ?? sortIds(new Set(listed))) : Array.from({ length: count }, (_, i) => i + 1)
  if (nodes.length === 0) {
    throw new UsageError(
      'nodes: is missing: list the processes, as nodes or as voters and observers',
      'nodes',
    )
  }
  if (nodes.length < leastNodes || nodes.length > mostNodes)
    throw new UsageError(
      `nodes: ${protocol} needs ${leastNodes} at least, and ${mostNodes} at most are simulated`,
      'nodes',
    )
  // A card names nodes by text, so 1 and "1" would be one.
  for (const list of LISTS) {
    const twin = (file[list] ?? []).find((id) =>
      nodes.some((other) => other !== id && `${other}` === `${id}`),
    )
    if (twin !== undefined) throw new UsageError(`${list}: ${twin} is there as a number and as text`, list)
  }
  return nodes
}

function storeOf(given: unknown): PlannedStore {
  try {
    const store = parseStore(given)
    const acceptWeak = 'acceptWeak' in store && store.acceptWeak
    return { kind: store.kind, acceptWeak, assumed: assumptionsOf(store) }
  } catch (error) {
    if (error instanceof InvalidStoreError) throw new UsageError(error.message, error.field)
    throw error
  }
}

function optionsOf(
  definition: Definition,
  { nodes }: PlanAsked,
  given: PlainObject,
  file: ConfigFile,
): PlainObject {
  try {
    return checkedOptions(definition, nodes, given)
  } catch (error) {
    if (!(error instanceof InvalidScenarioError)) throw error
    // What stands beside the options in the file is named as it stands there.
    const isListed = LISTS.some(
      (list) => file[list] !== undefined && error.field.startsWith(`options.${list}`),
    )
    if (!isListed) throw new UsageError(error.message, error.field)
    throw new UsageError(error.message.replace(/^options\./, ''), error.field.replace(/^options\./, ''))
  }
}
