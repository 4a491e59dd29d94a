/** The options of `join`: their types, and the settings of the election that follow from them. */
import { present } from '../../core/index.ts'
import { DEFAULT_PROTOCOL, type ProfileName, peerHosting } from '../../protocols/index.ts'
import { sealer } from '../runtime/index.ts'
import { parseAddress, parsePeer } from './address.ts'
import type { NetworkElectionSettings } from './election-settings.ts'
import { DEFAULT_TRACE_STEPS } from './fields.ts'
import { peerListProblems } from './peer-list.ts'
import { rejectOptions } from './problems.ts'
import { protocolOptions } from './protocol-options.ts'

/** Tells whether the application is fit to lead. The signal is aborted when the answer comes too late to count. */
export type HealthCheck = (request: { readonly signal: AbortSignal }) => boolean | Promise<boolean>

/** How a node handles its terms, wherever its election runs. */
export type WorkOptions = {
  /** Asked periodically. While it does not answer true, this node does not lead. */
  readonly healthy?: HealthCheck
  /** How often `healthy` is called; 1000 by default. */
  readonly healthIntervalMs?: number
  /** How long `healthy` may take to answer; 1000 by default. */
  readonly healthTimeoutMs?: number
  /** How long the lease is renewed after its work was asked to stop; 5000 by default. Afterwards the lease expires. */
  readonly drainMs?: number
}

export type JoinOptions = WorkOptions & {
  readonly group: string
  readonly id: string
  /** The address on which this node listens, HOST:PORT. */
  readonly listen: string
  /**
   * All other nodes, each as ID=HOST:PORT, or as HOST:PORT: then `join` asks the node there for its id, and waits until
   * all have answered. A host may be a name. It is resolved again when the peer stops answering.
   */
  readonly peers: readonly string[]
  /** The group's key, or several: the first seals, all open. */
  readonly key: Uint8Array | readonly Uint8Array[]
  /** Encrypts datagrams as well as authenticating them. */
  readonly secrecy?: boolean
  /** The data directory. docs/reference/library.md says what a restart without one costs. */
  readonly data?: string
  /** A protocol whose nodes exchange messages: docs/explanation/choosing-a-protocol.md. `loadProtocol` adds your own. */
  readonly protocol?: string
  readonly mode?: 'local' | 'majority'
  /** The network between the nodes: the bounds of leases, or the constants. */
  readonly profile?: ProfileName
  /**
   * `adaptive`: the leader measures how late nodes and messages are, and chooses the length of leases between
   * `leaseMinMs` and `leaseMaxMs`. `fixed`: constants, which must be the same on all nodes.
   */
  readonly timing?: 'fixed' | 'adaptive'
  /** With adaptive timing: the shortest and the longest lease; from the profile by default. */
  readonly leaseMinMs?: number
  readonly leaseMaxMs?: number
  /** With adaptive timing: how many leases may be lost in a day because a node or a message was late; 1 by default. */
  readonly leaseLossPerDay?: number
  /** Whether only a node with a higher priority replaces a leader; true by default. */
  readonly sticky?: boolean
  readonly priority?: number
  /** Learns who leads, never votes and never leads. The other nodes must name it in `options.observers`. */
  readonly observer?: boolean
  /** Votes and never leads. */
  readonly witness?: boolean
  /** Where the election runs: in a worker thread (`worker`, the default) or in this thread (`thread`). */
  readonly isolation?: 'worker' | 'thread'
  /** How long this thread may be blocked before the lease is no longer renewed; 2000 by default. */
  readonly maxStallMs?: number
  /** How many of its last steps the node keeps for `trace`, and leaves as a file when it fails; 256 by default. */
  readonly traceSteps?: number
  /** Other options of the protocol, by name. */
  readonly options?: { readonly [name: string]: unknown }
  /** Aborts joining; later it closes the node. */
  readonly signal?: AbortSignal
}

/**
 * Longer than a healthy process blocks now and then (a large garbage collection, a long parse: some hundred
 * milliseconds). A process that hangs for good is replaced after about two seconds.
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

/** Fills the defaults in. The options have been checked. */
export function workSettings(options: WorkOptions): WorkSettings {
  return {
    healthy: options.healthy ?? null,
    healthIntervalMs: options.healthIntervalMs ?? HEALTH_MS,
    healthTimeoutMs: options.healthTimeoutMs ?? HEALTH_MS,
    drainMs: options.drainMs ?? DRAIN_MS,
  }
}

export function maxStallOf({ maxStallMs }: Pick<JoinOptions, 'maxStallMs'>): number {
  return maxStallMs ?? MAX_STALL_MS
}

/** The settings of a network election, all of whose peers have ids. The single options have been checked. */
export function networkSettings(options: JoinOptions): NetworkElectionSettings {
  const { group, id, secrecy = false, protocol = DEFAULT_PROTOCOL } = options
  const listen = parseAddress(options.listen)
  const listed = options.peers.map((text) => {
    const { id: peer, address } = parsePeer(text)
    return { id: present(peer, `the id of ${text}`), address }
  })
  rejectOptions(peerListProblems({ id, listen }, listed))
  const peers = listed.filter((peer) => peer.id !== id)
  const keys = options.key instanceof Uint8Array ? [options.key] : options.key
  sealer(keys, secrecy)
  const nodes = [id, ...peers.map((peer) => peer.id)].sort()
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
    options: protocolOptions(protocol, nodes, options),
    traceSteps: options.traceSteps ?? DEFAULT_TRACE_STEPS,
  }
}

/** What is promised: one leader overall, or one in each partition. */
export function modeOf({ protocol, options }: NetworkElectionSettings): 'local' | 'majority' {
  return peerHosting(protocol).modeOf(options)
}
