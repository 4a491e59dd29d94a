/** The configuration that a guarantee card is made for: a file, flags, or both (flags win). */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { explain, type NodeId, type PlainObject, sortIds } from '../../core/index.ts'
import { localLeaderDefinition } from '../../protocols/local-leader/index.ts'
import type { LocalLeaderOptions } from '../../protocols/local-leader/options.ts'
import type { Plan } from '../../workbench/guarantees/plan.ts'
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
  readonly json?: true
}

const SEEDS = 2000
const MOST_NODES = 1000

const ms = z.number().min(0).max(3_600_000)
/** A duration, or a range of them. */
export const span = z.union(
  [
    ms,
    z
      .tuple([ms, ms])
      .refine(([least, most]) => least <= most, { error: 'runs backwards: write [least, most]' }),
  ],
  { error: 'is neither a number of milliseconds nor [least, most]' },
)
const configFile = z.strictObject({
  protocol: z.string().optional(),
  nodes: nodeList().optional(),
  voters: z.array(z.union([z.int(), z.string().min(1)])).optional(),
  observers: z.array(z.union([z.int(), z.string().min(1)])).optional(),
  witnesses: z.array(z.union([z.int(), z.string().min(1)])).optional(),
  options: z.record(z.string(), z.json()).optional(),
  network: z
    .strictObject({
      delayMs: span.optional(),
      loss: z.number().min(0).max(1).optional(),
    })
    .optional(),
  seeds: z.int().min(1).max(1_000_000).optional(),
})

type ConfigFile = z.infer<typeof configFile>

/** Lists of processes that may stand beside `options` as well as in it. */
const LISTS = ['voters', 'observers', 'witnesses'] as const

/** What the file says, whichever protocol it is for; an empty object where there is none. */
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

export type Planned = 'local-leader' | 'epochs' | 'omega'

/** For which protocol a card is asked. */
export function protocolIn(flags: PlanFlags, file: PlainObject): Planned {
  const protocol = flags.protocol ?? file['protocol'] ?? localLeaderDefinition.name
  if (protocol === 'local-leader' || protocol === 'epochs' || protocol === 'omega') return protocol
  const place = flags.protocol === undefined ? 'protocol' : '--protocol'
  throw new UsageError(
    `${place}: ${typeof protocol === 'string' ? protocol : JSON.stringify(protocol)} has no guarantee card; local-leader, epochs and omega have one`,
    place,
  )
}

export function seedsOf(flags: PlanFlags, file: { readonly seeds?: number | undefined }): number {
  return flags.seeds === undefined ? (file.seeds ?? SEEDS) : parseWholeNumber('--seeds', flags.seeds, 1)
}

export function planOf(flags: PlanFlags, said: PlainObject): Plan {
  const file = checked(configFile, said, flags.config ?? '')
  const nodes = nodesOf(flags, file)
  return {
    protocol: 'local-leader',
    nodes,
    options: optionsOf(flags, file, nodes),
    delayMs: file.network?.delayMs ?? null,
    loss: file.network?.loss ?? 0,
    seeds: seedsOf(flags, file),
  }
}

export function checked<T>(schema: z.ZodType<T>, said: PlainObject, file: string): T {
  const result = schema.safeParse(said, { error: explain })
  if (result.success) return result.data
  const { field, problem } = firstProblem(result.error, '')
  throw new UsageError(field === '' ? `${file}: ${problem}` : `${field}: ${problem}`, field)
}

export function nodesOf(
  flags: PlanFlags,
  file: Pick<ConfigFile, 'nodes' | 'voters' | 'observers' | 'witnesses'>,
): readonly NodeId[] {
  const count = flags.nodes === undefined ? null : parseWholeNumber('--nodes', flags.nodes, 1)
  if (count !== null && count > MOST_NODES) {
    throw new UsageError(`--nodes ${count}: at most ${MOST_NODES} are simulated`, '--nodes')
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
  // A card names processes by text, so 1 and "1" would be one.
  for (const list of LISTS) {
    const twin = (file[list] ?? []).find((id) =>
      nodes.some((other) => other !== id && `${other}` === `${id}`),
    )
    if (twin !== undefined) throw new UsageError(`${list}: ${twin} is there as a number and as text`, list)
  }
  return nodes
}

function optionsOf(flags: PlanFlags, file: ConfigFile, nodes: readonly NodeId[]): LocalLeaderOptions {
  const given = file.options ?? {}
  const twice = LISTS.find((list) => file[list] !== undefined && given[list] !== undefined)
  if (twice !== undefined)
    throw new UsageError(`options.${twice}: is given as ${twice} already`, `options.${twice}`)
  // A witness votes, whether it is listed among the voters or not.
  const voters =
    file.voters === undefined
      ? {}
      : { voters: [...file.voters, ...(file.witnesses ?? []).filter((id) => !file.voters?.includes(id))] }
  const chosen = {
    ...given,
    ...voters,
    ...(file.observers === undefined ? {} : { observers: file.observers }),
    ...(file.witnesses === undefined ? {} : { witnesses: file.witnesses }),
    ...parseOptions(flags.option),
    ...(flags.profile === undefined
      ? {}
      : { profile: parseChoice('--profile', flags.profile, ['lan', 'region', 'wan']) }),
    ...(flags.mode === undefined ? {} : { mode: parseChoice('--mode', flags.mode, ['local', 'majority']) }),
  } as PlainObject
  const unreal = (['link', 'requests'] as const).find((name) => (chosen[name] ?? null) !== null)
  if (unreal !== undefined) {
    throw new UsageError(
      `options.${unreal}: is for searches without time, which have no guarantee card`,
      `options.${unreal}`,
    )
  }
  try {
    return checkedOptions(localLeaderDefinition, nodes, chosen) as LocalLeaderOptions
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
