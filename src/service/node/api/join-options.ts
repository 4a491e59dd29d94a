/** What a process says when it joins, checked before anything begins. */
import { type Definition, explain, type NodeId, type PlainObject, present } from '../../../core/index.ts'
import {
  brokenBound,
  profileOptions,
  protocolNamed,
  RUNNABLE,
  type RunnableProtocol,
} from '../../../protocols/index.ts'
import { type Address, sealer } from '../../runtime/index.ts'
import type { NetworkElectionSettings } from '../election/election.ts'
import { addressOf, peerOf, whyApart } from './address.ts'
import { InvalidOptionsError } from './errors.ts'
import type { HealthCheck } from './health.ts'

/** What a member does with its lead, wherever its election runs. */
export type WorkOptions = {
  /** Whether the application is fit to lead, asked again and again: while it is not, this process does not lead. */
  readonly healthy?: HealthCheck
  /** How often `healthy` is asked, and how long it may take to answer; 1000 each unless told otherwise. */
  readonly healthIntervalMs?: number
  readonly healthTimeoutMs?: number
  /** How long work that was told to end may take, before its lease is no longer renewed; 5000 unless told otherwise. */
  readonly drainMs?: number
}

export type JoinOptions = WorkOptions & {
  readonly group: string
  readonly id: string
  /** Where this process listens, HOST:PORT. */
  readonly listen: string
  /**
   * All others, each as ID=HOST:PORT, or as HOST:PORT: then it is asked for its id, and joining waits until every one
   * of them has answered. A host may be a name; it is resolved again when it falls silent.
   */
  readonly peers: readonly string[]
  /** The cluster's key, or several: the first seals, all open. */
  readonly key: Uint8Array | readonly Uint8Array[]
  /** Encrypts as well as authenticates. */
  readonly secrecy?: boolean
  /** The folder of what must survive a crash. Without one, see docs/reference/library.md on what a restart then costs. */
  readonly data?: string
  /** local-leader, unless told otherwise: leases. omega: numbered views of the living, without leases; needs `data`. */
  readonly protocol?: RunnableProtocol
  readonly mode?: 'local' | 'majority'
  readonly profile?: 'lan' | 'region' | 'wan'
  /** Whether a leader is deposed only by a higher priority; true unless told otherwise. */
  readonly sticky?: boolean
  readonly priority?: number
  /** Learns who leads, never votes and never leads. The others must name it in `options.observers`. */
  readonly observer?: boolean
  /** Votes and never leads. */
  readonly witness?: boolean
  /** Where the election runs: in a thread of its own (`worker`, unless told otherwise), or in this one (`thread`). */
  readonly isolation?: 'worker' | 'thread'
  /** How long this thread may be blocked before its lease is no longer renewed; 2000 unless told otherwise. */
  readonly maxStallMs?: number
  /** How many of its last steps are kept for `trace`; none unless told. */
  readonly traceSteps?: number
  /** Anything else that the protocol may be told. */
  readonly options?: { readonly [name: string]: unknown }
  readonly signal?: AbortSignal
}

/**
 * Longer than what happens to a healthy process now and then (a large collection of garbage, a long parse: some hundred
 * milliseconds); and whoever hangs for good is replaced after about two seconds.
 */
const MAX_STALL_MS = 2000
const HEALTH_MS = 1000
const DRAIN_MS = 5000

export type WorkSettings = {
  readonly healthy: HealthCheck | null
  readonly healthIntervalMs: number
  readonly healthTimeoutMs: number
  readonly drainMs: number
}

export function workOf(options: WorkOptions): WorkSettings {
  const { healthy = null, healthIntervalMs, healthTimeoutMs, drainMs } = options
  if (healthy !== null && typeof healthy !== 'function')
    throw new InvalidOptionsError(
      'healthy',
      'is no function: give one that says whether this process should lead',
    )
  return {
    healthy,
    healthIntervalMs: durationOf('healthIntervalMs', healthIntervalMs, HEALTH_MS, 1),
    healthTimeoutMs: durationOf('healthTimeoutMs', healthTimeoutMs, HEALTH_MS, 1),
    drainMs: durationOf('drainMs', drainMs, DRAIN_MS, 0),
  }
}

export function maxStallOf({ maxStallMs }: Pick<JoinOptions, 'maxStallMs'>): number {
  // Less would take the ordinary lateness of timers for a stall.
  return durationOf('maxStallMs', maxStallMs, MAX_STALL_MS, 50)
}

export function isolationOf({ isolation = 'worker' }: Pick<JoinOptions, 'isolation'>): 'worker' | 'thread' {
  if (isolation === 'worker' || isolation === 'thread') return isolation
  throw new InvalidOptionsError('isolation', `${JSON.stringify(isolation)} is neither "worker" nor "thread"`)
}

const LONGEST_MS = 3_600_000

function durationOf(field: string, given: number | undefined, otherwise: number, least: number): number {
  const ms = given ?? otherwise
  if (typeof ms === 'number' && ms >= least && ms <= LONGEST_MS) return ms
  throw new InvalidOptionsError(
    field,
    `${String(ms)} is not a number of milliseconds from ${least} to ${LONGEST_MS}`,
  )
}

/** Where a process listens. */
export function listenOf({ listen }: JoinOptions): Address {
  return addressOf(listen, 'listen')
}

export function settingsOf(options: JoinOptions): NetworkElectionSettings {
  const { group, id, secrecy = false } = options
  const protocol = protocolOf(options)
  for (const field of ['store', 'fencing'] as const) {
    if ((options as { readonly [field: string]: unknown })[field] !== undefined)
      throw new InvalidOptionsError(
        field,
        "has no meaning without the protocol epochs: take it out, or add protocol: 'epochs'",
      )
  }
  if (typeof group !== 'string' || group === '')
    throw new InvalidOptionsError('group', 'is empty: name the group')
  if (typeof id !== 'string' || id === '') throw new InvalidOptionsError('id', 'is empty: name this process')
  if (/[=,\s]/.test(id))
    throw new InvalidOptionsError(
      'id',
      `${JSON.stringify(id)} has a space, a comma or an =, which no list of peers can hold`,
    )
  const listen = listenOf(options)
  const peers = options.peers.map((text, index) => {
    const { id: peer, address } = peerOf(text, `peers[${index}]`)
    if (peer === null)
      throw new InvalidOptionsError(`peers[${index}]`, `${JSON.stringify(text)} has no id: give ID=HOST:PORT`)
    const apart = whyApart(listen, address)
    if (apart !== null) throw new InvalidOptionsError(`peers[${index}]`, apart)
    return { id: peer, address }
  })
  const nodes = [id, ...peers.map((peer) => peer.id)].sort()
  const twice = nodes.find((each, index) => nodes.indexOf(each) !== index)
  if (twice !== undefined) throw new InvalidOptionsError('peers', `${twice} is named twice`)
  const places = peers.map(({ address: { host, port } }) => `${host}:${port}`)
  const shared = places.findIndex((place, index) => places.indexOf(place) !== index)
  if (shared >= 0)
    throw new InvalidOptionsError(`peers[${shared}]`, `${places[shared]} is the address of another peer too`)
  const keys = options.key instanceof Uint8Array ? [options.key] : options.key
  if (!Array.isArray(keys) || !keys.every((key) => key instanceof Uint8Array))
    throw new InvalidOptionsError(
      'key',
      'is missing or no bytes: give a Uint8Array, such as readFileSync(FILE)',
    )
  sealer(keys, secrecy)
  return {
    group,
    id,
    listen,
    peers,
    nodes,
    keys,
    secrecy,
    data: options.data ?? null,
    protocol,
    options: protocolOptions(present(protocolNamed(protocol), protocol), nodes, options),
    traceSteps: options.traceSteps ?? 0,
  }
}

function protocolOf({ protocol = 'local-leader' }: JoinOptions): RunnableProtocol {
  if (RUNNABLE.includes(protocol)) return protocol
  const why = protocolNamed(protocol) === null ? 'is not known' : 'runs in the workbench only'
  throw new InvalidOptionsError(
    'protocol',
    `${protocol} ${why}; ${RUNNABLE.join(' and ')} run here, and epochs with a store`,
  )
}

/** What is promised: one leader in all, or one in each partition. */
export function modeOf({ protocol, options }: NetworkElectionSettings): 'local' | 'majority' {
  if (protocol === 'omega') return options['quorum'] === 'none' ? 'local' : 'majority'
  return options['mode'] === 'local' ? 'local' : 'majority'
}

/** What the protocol is told, checked; whoever only checks a configuration asks too. */
export function protocolOptions(
  definition: Definition,
  ids: readonly NodeId[],
  options: JoinOptions,
): PlainObject {
  const given = definition.name === 'omega' ? omegaOptions(options, ids.length) : localLeaderOptions(options)
  const result = definition.options(ids).safeParse(given, { error: explain })
  if (result.success) {
    if (definition.name === 'omega') checkLinkTimes(options, result.data)
    return result.data
  }
  const issue = result.error.issues[0]
  if (issue?.code === 'unrecognized_keys')
    throw new InvalidOptionsError(
      ['options', ...issue.path, issue.keys[0]].join('.'),
      `there is no such option: "conclave protocols" lists those of ${definition.name}`,
    )
  throw new InvalidOptionsError(`options.${issue?.path.join('.') ?? ''}`, issue?.message ?? 'cannot work')
}

/** What has a field of its own in what a process says, as an option would go unheard, or is for the workbench. */
const OWN_FIELDS: { readonly [option: string]: string } = {
  mode: 'give `mode` instead',
  profile: 'give `profile` instead',
  sticky: 'give `sticky` instead',
  priorities: 'give `priority` instead, on each node its own',
  yieldWhenTold: 'real processes always do: take it out',
  requests: 'is for searches of every interleaving: take it out',
  link: 'real processes have fail-aware datagrams: take it out',
  hostedGroup: 'is how a recording names its group: take it out',
}

function localLeaderOptions(options: JoinOptions): object {
  for (const [option, instead] of Object.entries(OWN_FIELDS)) {
    if (options.options?.[option] !== undefined) throw new InvalidOptionsError(`options.${option}`, instead)
  }
  const { id, mode = 'majority', profile = 'lan', sticky = true, priority = 0 } = options
  return {
    ...options.options,
    mode,
    profile,
    sticky,
    // Work comes to its end before the lead is let go.
    yieldWhenTold: true,
    priorities: { [id]: priority },
    ...(options.observer === true ? { observers: withName(options.options?.['observers'], id) } : {}),
    ...(options.witness === true ? { witnesses: withName(options.options?.['witnesses'], id) } : {}),
  }
}

function omegaOptions(options: JoinOptions, nodes: number): object {
  const { mode = 'majority', profile = 'lan', priority = 0, data } = options
  if (data === undefined)
    throw new InvalidOptionsError('data', 'is needed with omega: what it has promised must survive a crash')
  if (nodes < 2)
    throw new InvalidOptionsError(
      'peers',
      'is empty: omega needs two nodes at least, for nobody is in a view alone',
    )
  if (priority !== 0)
    throw new InvalidOptionsError(
      'priority',
      'omega compares weights that all nodes know: set options.weights on all',
    )
  for (const part of ['observer', 'witness'] as const) {
    if (options[part] === true) throw new InvalidOptionsError(part, `omega has none: leave it out`)
  }
  const quorum = mode === 'local' ? 'none' : 'dynamic'
  return { quorum, ...options.options, ...profileOptions(profile, options.options), links: 'datagrams' }
}

/** Single times may be given, but not such as the network of the profile does not bear. */
function checkLinkTimes({ profile = 'lan' }: JoinOptions, checked: PlainObject): void {
  const broken = brokenBound(profile, checked as unknown as Parameters<typeof brokenBound>[1])
  if (broken !== null) throw new InvalidOptionsError(`options.${broken.field}`, broken.problem)
}

function withName(list: unknown, id: string): unknown {
  if (list === undefined) return [id]
  return Array.isArray(list) && !list.includes(id) ? [...(list as unknown[]), id] : list
}
