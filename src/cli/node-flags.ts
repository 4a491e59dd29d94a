/**
 * The flags that describe a node, the same for every command that runs one. Each can also be set in the environment or
 * in a file. src/service/config validates the values.
 */
import { Command, Option } from 'commander'
import { hostedNames, hostingOf } from '../protocols/index.ts'
import { type Config, configFrom, flagOf, type GivenValue, variableOf } from '../service/config/index.ts'
import type { JoinOptions, StoreJoinOptions } from '../service/node/index.ts'
import { UsageError } from './errors.ts'
import { loadProtocols } from './load.ts'
import { collect, parseOptions } from './values.ts'

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
  readonly timing?: string
  readonly leaseMinMs?: string
  readonly leaseMaxMs?: string
  readonly leaseLossPerDay?: string
  readonly priority?: string
  readonly observer?: boolean
  readonly witness?: boolean
  readonly option: readonly string[]
  readonly config?: string
  /** A module with a protocol of the user's own. */
  readonly load?: string
}

/** The additional flags of an agent. */
export type ServiceFlags = {
  readonly http?: string
  readonly httpName?: readonly string[]
  readonly adminTokenFile?: string
  readonly readTokenFile?: string
  readonly httpCert?: string
  readonly httpKey?: string
  readonly httpClientCa?: string
  readonly logLevel?: string
  readonly logFormat?: string
  readonly otlp?: string
}

const splitList = (text: string): readonly string[] => text.split(/[\s,]+/).filter(Boolean)

/** Adds the variable to the help. Commander must not read it itself, so that `CONCLAVE_OBSERVER=false` means no. */
const createFlag = (flags: string, meaning: string): Option => {
  const field = flags.slice(2).split(' ')[0] ?? ''
  return new Option(flags, `${meaning} (env: CONCLAVE_${field.toUpperCase().replaceAll('-', '_')})`)
}

const createRepeatedFlag = (flags: string, meaning: string): Option =>
  createFlag(flags, meaning).argParser(collect).default([], '')

/** The protocols that real processes can run, each with a few words. */
export function describeProtocols(): string {
  const all = hostedNames().map((name) => `${name} (${hostingOf(name)?.summary ?? ''})`)
  return `protocol: ${all.join(', ')}`
}

export const TIMING_HELP =
  'adaptive: the leader measures, and chooses the length of leases; fixed: constants of the profile'

export function addNodeFlags(command: Command): Command {
  return command
    .addOption(createFlag('--config <file>', 'configuration file (YAML or JSON); flags take precedence'))
    .addOption(createFlag('--group <name>', 'name of the group'))
    .addOption(createFlag('--id <id>', 'id of this node in the group'))
    .addOption(createFlag('--listen <host:port>', 'address for messages between nodes (UDP)'))
    .addOption(createRepeatedFlag('--peer <id=host:port>', 'another node of the group (repeat for each)'))
    .addOption(
      createRepeatedFlag(
        '--key-file <file>',
        "file with the group's key, at least 16 bytes (repeat to accept several; messages are sent with the first)",
      ),
    )
    .addOption(createFlag('--data <folder>', 'folder for the data that must survive a crash'))
    .addOption(createFlag('--protocol <name>', describeProtocols()))
    .addOption(
      createFlag(
        '--store <url>',
        `with ${hostedNames('store').join(', ')}: file:/folder, postgres://…, redis://…, etcd://…, nats://…, s3://…`,
      ),
    )
    .addOption(createFlag('--load <file>', 'module with a protocol of your own'))
    .addOption(createFlag('--mode <mode>', 'majority: one leader; local: one leader per partition'))
    .addOption(createFlag('--profile <profile>', 'fast, lan, region or wan'))
    .addOption(createFlag('--timing <timing>', TIMING_HELP))
    .addOption(
      createFlag('--lease-min-ms <n>', 'adaptive timing: the shortest lease (default: of the profile)'),
    )
    .addOption(
      createFlag('--lease-max-ms <n>', 'adaptive timing: the longest lease (default: of the profile)'),
    )
    .addOption(
      createFlag(
        '--lease-loss-per-day <n>',
        'adaptive timing: leases that may be lost in a day to late nodes or messages (default: 1)',
      ),
    )
    .addOption(createFlag('--priority <n>', 'nodes with a higher priority are preferred as leader'))
    .addOption(createFlag('--observer', 'never vote and never lead'))
    .addOption(createFlag('--witness', 'vote but never lead'))
    .addOption(createRepeatedFlag('--option <name=value>', 'set an option of the protocol (repeat for more)'))
}

/** The flags of a node that runs jobs: its protocol is fixed. */
export function addJobNodeFlags(command: Command): Command {
  const names = ['config', 'group', 'id', 'listen', 'peer', 'key-file', 'data', 'profile', 'option']
  const flags = addNodeFlags(new Command()).options.filter(({ long }) => names.includes(long?.slice(2) ?? ''))
  for (const flag of flags) command.addOption(flag)
  return addServiceFlags(command)
}

export function addServiceFlags(command: Command): Command {
  return command
    .addOption(createFlag('--http <host:port>', 'address for HTTP (default: 127.0.0.1:7480)'))
    .addOption(
      createRepeatedFlag('--http-name <name>', 'accept HTTP requests for this host name (repeat for each)'),
    )
    .addOption(createFlag('--admin-token-file <file>', 'file with the token that authorizes admin requests'))
}

/** The flags of an agent that other services do not have. */
export function addAgentFlags(command: Command): Command {
  return addLogFlags(addAgentHttpFlags(command), 'json').addOption(
    createFlag('--otlp <url>', 'send metrics and traces to this OpenTelemetry collector (OTLP over HTTP)'),
  )
}

/** How an agent serves HTTP. */
export function addAgentHttpFlags(command: Command): Command {
  return addServiceFlags(command)
    .addOption(
      createFlag(
        '--read-token-file <file>',
        'file with a token that reading the state needs (default: none)',
      ),
    )
    .addOption(createFlag('--http-cert <file>', 'certificate for HTTPS, PEM'))
    .addOption(createFlag('--http-key <file>', 'private key of the certificate, PEM'))
    .addOption(
      createFlag('--http-client-ca <file>', 'require client certificates that this authority signed, PEM'),
    )
}

export function addLogFlags(command: Command, format: 'json' | 'text'): Command {
  return command
    .addOption(createFlag('--log-level <level>', 'error, warning or info (default: info)'))
    .addOption(createFlag('--log-format <format>', `json or text (default: ${format})`))
}

type Reader = (text: string) => unknown

const asText: Reader = (text) => text
/** The schema says what is wrong with a text that it cannot use, together with all other problems. */
const asNumber: Reader = (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text)

const YES = ['true', 'yes', '1']
const NO = ['false', 'no', '0']
const asBoolean: Reader = (text) => (YES.includes(text) ? true : NO.includes(text) ? false : text)

/** Converts the text of a variable to a value. The schema validates the value. */
const READERS: { readonly [field: string]: Reader } = {
  group: asText,
  id: asText,
  listen: asText,
  peers: splitList,
  keyFile: (text) => text.split(',').filter(Boolean),
  data: asText,
  protocol: asText,
  store: asText,
  mode: asText,
  profile: asText,
  timing: asText,
  leaseMinMs: asNumber,
  leaseMaxMs: asNumber,
  leaseLossPerDay: asNumber,
  priority: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
  observer: asBoolean,
  witness: asBoolean,
  options: (text) => parseOptions(splitList(text)),
  http: asText,
  httpNames: splitList,
  adminTokenFile: asText,
  readTokenFile: asText,
  httpCert: asText,
  httpKey: asText,
  httpClientCa: asText,
  logLevel: asText,
  logFormat: asText,
  otlp: asText,
}

/** Loads the module of `--load` or CONCLAVE_LOAD: before the configuration is read, which may name its protocol. */
export async function loadOwnProtocol(
  { load }: NodeFlags,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const file = load ?? env['CONCLAVE_LOAD'] ?? ''
  await loadProtocols(file === '' ? undefined : file)
}

export function readConfig(flags: NodeFlags & ServiceFlags, env: NodeJS.ProcessEnv = process.env): Config {
  const environment: { [field: string]: GivenValue } = {}
  for (const [field, read] of Object.entries(READERS)) {
    const by = variableOf(field)
    const text = env[by]
    if (text !== undefined && text !== '') environment[field] = { value: read(text), by }
  }
  const given: { [field: string]: GivenValue } = {}
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
  const asGiven = (text: string | undefined): unknown => (text === undefined ? undefined : asNumber(text))
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
    timing: flags.timing,
    leaseMinMs: asGiven(flags.leaseMinMs),
    leaseMaxMs: asGiven(flags.leaseMaxMs),
    leaseLossPerDay: asGiven(flags.leaseLossPerDay),
    priority: flags.priority === undefined ? undefined : READERS['priority']?.(flags.priority),
    observer,
    witness,
    options: flags.option.length > 0 ? parseOptions(flags.option) : undefined,
    http,
    httpNames: some(flags.httpName ?? []),
    adminTokenFile,
    readTokenFile: flags.readTokenFile,
    httpCert: flags.httpCert,
    httpKey: flags.httpKey,
    httpClientCa: flags.httpClientCa,
    logLevel: flags.logLevel,
    logFormat: flags.logFormat,
    otlp: flags.otlp,
  }
}

/** The command-line arguments that set these flags. */
export function formatArguments(flags: NodeFlags & ServiceFlags): readonly string[] {
  type Value = string | boolean | readonly string[] | undefined
  return Object.entries<Value>(flags).flatMap(([field, value]) => {
    const flag = flagOf(field)
    if (value === true) return [flag]
    if (value === undefined || value === false) return []
    return typeof value === 'string' ? [flag, value] : value.flatMap((each) => [flag, each])
  })
}

/** Reads the options of a command that runs one node. */
export function readJoinOptions(
  flags: NodeFlags,
  warn: (text: string) => void,
): JoinOptions | StoreJoinOptions {
  const { groups, warnings } = readConfig(flags)
  const [first, second] = groups
  if (first === undefined || second !== undefined)
    throw new UsageError('the configuration file has several groups; choose one with --group', '--group')
  for (const { field, message } of warnings) warn(`${field}: ${message}`)
  return first.join
}
