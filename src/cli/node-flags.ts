/**
 * How a node is described: by flags, in the environment or in a file, the same for every command that runs one. What
 * each means and what is wrong with it is said in one place, src/service/config.
 */
import { type Command, Option } from 'commander'
import { type Config, configFrom, flagOf, type Said, variableOf } from '../service/config/index.ts'
import type { JoinOptions, StoreJoinOptions } from '../service/node/index.ts'
import { UsageError } from './errors.ts'
import { printNote } from './output.ts'
import { parseOptions } from './values.ts'

export type NodeFlags = {
  readonly group?: string
  readonly id?: string
  readonly listen?: string
  readonly peer: readonly string[]
  readonly keyFile: readonly string[]
  readonly data?: string
  readonly protocol?: string
  readonly store?: string
  readonly mode?: string
  readonly profile?: string
  readonly priority?: string
  readonly observer?: boolean
  readonly witness?: boolean
  readonly option: readonly string[]
  readonly config?: string
}

/** Of an agent, besides. */
export type ServiceFlags = {
  readonly http?: string
  readonly httpName?: readonly string[]
  readonly adminTokenFile?: string
}

const separated = (text: string): readonly string[] => text.split(/[\s,]+/).filter(Boolean)
const collect = (text: string, before: readonly string[]): readonly string[] => [...before, text]

/** For the help; commander does not read it, so that `CONCLAVE_OBSERVER=false` can mean no. */
const shownWith = (flags: string, meaning: string): Option => {
  const field = flags.slice(2).split(' ')[0] ?? ''
  return new Option(flags, `${meaning} (env: CONCLAVE_${field.toUpperCase().replaceAll('-', '_')})`)
}

const repeated = (flags: string, meaning: string): Option =>
  shownWith(flags, meaning).argParser(collect).default([], '')

export function addNodeFlags(command: Command): Command {
  return command
    .addOption(shownWith('--config <file>', 'a file, YAML or JSON, that says any of this; flags win'))
    .addOption(shownWith('--group <name>', 'the group that this node belongs to'))
    .addOption(shownWith('--id <id>', 'the name of this node in the group'))
    .addOption(shownWith('--listen <host:port>', 'where it listens, UDP'))
    .addOption(repeated('--peer <id=host:port>', 'another node of the group; repeat for each'))
    .addOption(
      repeated('--key-file <file>', "the cluster's key, at least 16 bytes; of several the first seals"),
    )
    .addOption(shownWith('--data <folder>', 'what must survive a crash is kept here'))
    .addOption(
      shownWith('--protocol <name>', 'local-leader; omega: views of the living; epochs: election in a store'),
    )
    .addOption(
      shownWith(
        '--store <url>',
        'with epochs: file:/folder, postgres://…, redis://…, etcd://…, nats://…, s3://…',
      ),
    )
    .addOption(shownWith('--mode <mode>', 'majority: one leader in all; local: one in each partition'))
    .addOption(shownWith('--profile <profile>', 'lan, region or wan'))
    .addOption(shownWith('--priority <n>', 'higher is preferred'))
    .addOption(shownWith('--observer', 'learn, but never vote'))
    .addOption(shownWith('--witness', 'vote, but never lead'))
    .addOption(repeated('--option <name=value>', "set one of the protocol's options; repeat for more"))
}

export function addServiceFlags(command: Command): Command {
  return command
    .addOption(shownWith('--http <host:port>', 'where it answers HTTP: 127.0.0.1:7480 unless told'))
    .addOption(
      repeated('--http-name <name>', 'a host name under which requests may ask for it; repeat for each'),
    )
    .addOption(shownWith('--admin-token-file <file>', 'whoever knows what is in it may give orders'))
}

type Reader = (text: string, by: string) => unknown

const asText: Reader = (text) => text

/** How the text of a flag or variable is read; what is wrong with the value is the schema's affair. */
const READERS: { readonly [field: string]: Reader } = {
  group: asText,
  id: asText,
  listen: asText,
  peers: separated,
  keyFile: (text) => text.split(',').filter(Boolean),
  data: asText,
  protocol: asText,
  store: asText,
  mode: asText,
  profile: asText,
  priority: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
  observer: yesOrNo,
  witness: yesOrNo,
  options: (text) => parseOptions(separated(text)),
  http: asText,
  httpNames: separated,
  adminTokenFile: asText,
}

function yesOrNo(text: string, by: string): boolean {
  if (['true', 'yes', '1'].includes(text)) return true
  if (['false', 'no', '0'].includes(text)) return false
  throw new UsageError(`${by} ${text}: write true or false`, by)
}

export function readConfig(flags: NodeFlags & ServiceFlags, env: NodeJS.ProcessEnv = process.env): Config {
  const environment: { [field: string]: Said } = {}
  for (const [field, read] of Object.entries(READERS)) {
    const by = variableOf(field)
    const text = env[by]
    if (text !== undefined && text !== '') environment[field] = { value: read(text, by), by }
  }
  const given: { [field: string]: Said } = {}
  for (const [field, value] of Object.entries(fromFlags(flags))) {
    if (value !== undefined) given[field] = { value, by: flagOf(field) }
  }
  const file = flags.config ?? env['CONCLAVE_CONFIG'] ?? ''
  return configFrom({ file: file === '' ? null : file, flags: given, environment })
}

function fromFlags(flags: NodeFlags & ServiceFlags): { readonly [field: string]: unknown } {
  const { group, id, listen, data, protocol, store, mode, profile, observer, witness, http, adminTokenFile } =
    flags
  const some = (list: readonly string[]): readonly string[] | undefined =>
    list.length > 0 ? list : undefined
  return {
    group,
    id,
    listen,
    peers: some(flags.peer),
    keyFile: some(flags.keyFile),
    data,
    protocol,
    store,
    mode,
    profile,
    priority: flags.priority === undefined ? undefined : READERS['priority']?.(flags.priority, '--priority'),
    observer,
    witness,
    options: flags.option.length > 0 ? parseOptions(flags.option) : undefined,
    http,
    httpNames: some(flags.httpName ?? []),
    adminTokenFile,
  }
}

/** The words of a command line that says the same. */
export function formatArguments(flags: NodeFlags & ServiceFlags): readonly string[] {
  type Value = string | boolean | readonly string[] | undefined
  return Object.entries<Value>(flags).flatMap(([field, value]) => {
    const flag = flagOf(field)
    if (value === true) return [flag]
    if (value === undefined || value === false) return []
    return typeof value === 'string' ? [flag, value] : value.flatMap((each) => [flag, each])
  })
}

/** For a command that runs one node. */
export function readJoinOptions(flags: NodeFlags): JoinOptions | StoreJoinOptions {
  const { groups, warnings } = readConfig(flags)
  const [first, second] = groups
  if (first === undefined || second !== undefined)
    throw new UsageError('the file has several groups: choose one with --group', '--group')
  for (const { field, message } of warnings) printNote(`warning: ${field}: ${message}`)
  return first.join
}
