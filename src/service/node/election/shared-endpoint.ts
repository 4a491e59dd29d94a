/**
 * One endpoint for all groups that a thread has joined at one address: a socket, a session with each peer, a loop, and
 * a black box. The first group opens it and the last closes it. Each group has its own storage and its own peers. A peer
 * of several groups is one peer, and must have one address.
 */
import { randomBytes } from 'node:crypto'
import type { NodeId, Plain } from '../../../core/index.ts'
import { type GroupSpec, host, peerHosting } from '../../../protocols/index.ts'
import type { TraceHeader } from '../../../workbench/trace/index.ts'
import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import {
  type Address,
  BlackBox,
  clockName,
  DividedStorage,
  dropWarning,
  type ElectionEvents,
  Endpoint,
  type HostClock,
  InvalidGroupError,
  LaterIncarnationError,
  type LoopRecord,
  type Peer,
  type Storage,
  sealer,
  showAddress,
  writeBlackBox,
} from '../../runtime/index.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import { DataCheck } from './data-check.ts'
import { packageVersion } from './version.ts'

type Tenant = {
  readonly events: ElectionEvents
  /** The group's data directory; null where it has none. */
  readonly data: string | null
  readonly peers: Set<NodeId>
  readonly dataCheck: DataCheck | null
  /** The state of its group at the last report. */
  mark: unknown
}

/** By address. An endpoint that is closing must be closed before the next can listen there. */
const opened = new Map<string, SharedEndpoint>()
const closing = new Map<string, Promise<void>>()

/** Groups share an endpoint if they have the same address; null when the system chooses a port for each. */
export function addressKey(listen: Address): string | null {
  return listen.port === 0 ? null : showAddress(listen)
}

/** Joins a group at the endpoint of its address. The storage is closed with the group, or when joining fails. */
export async function openSharedEndpoint(
  settings: NetworkElectionSettings,
  storage: Storage,
  openClock: () => HostClock,
  events: ElectionEvents,
): Promise<{ readonly shared: SharedEndpoint; readonly stable: Plain }> {
  const place = addressKey(settings.listen)
  if (place !== null) await closing.get(place)
  const there = place === null ? undefined : opened.get(place)
  if (there !== undefined) return { shared: there, stable: await there.admit(settings, storage, events) }
  const shared = new SharedEndpoint(settings, place)
  if (place !== null) opened.set(place, shared)
  return { shared, stable: await shared.begin(settings, storage, openClock, events) }
}

export class SharedEndpoint {
  readonly #id: NodeId
  readonly #place: string | null
  readonly #storage = new DividedStorage()
  readonly #tenants = new Map<string, Tenant>()
  /** The address of each peer, and the number of groups that use it. */
  readonly #peers = new Map<NodeId, { readonly address: string; groups: number }>()
  readonly #run = randomBytes(6).toString('hex')
  #box: BlackBox | null = null
  #steps = 0
  #isDue = false
  /** The number of groups that listen for changes. */
  #watchers = 0
  #clock: HostClock | null = null
  #opening: Promise<Endpoint> | null = null
  #endpoint: Endpoint | null = null

  constructor({ id }: NetworkElectionSettings, place: string | null) {
    this.#id = id
    this.#place = place
  }

  get endpoint(): Endpoint {
    if (this.#endpoint === null) throw new Error('the endpoint is not open')
    return this.#endpoint
  }

  /** Opens it for its first group. */
  async begin(
    settings: NetworkElectionSettings,
    storage: Storage,
    openClock: () => HostClock,
    events: ElectionEvents,
  ): Promise<Plain> {
    const { group, listen, keys, secrecy } = settings
    this.#take(settings, events)
    try {
      this.#keepSteps(settings.traceSteps)
      const stable = this.#storage.add(group, storage)
      this.#clock = openClock()
      const { id: self } = settings
      this.#opening = Endpoint.open(
        {
          self,
          listen,
          peers: [],
          sealer: sealer(keys, secrecy),
          storage: this.#storage,
          clock: this.#clock,
          name: { run: this.#run, version: packageVersion() },
        },
        {
          dropped: (refused, peer) => this.#warn(...dropWarning(refused, self, peer), peer),
          warning: (what, detail, peer) => this.#warn(what, detail, peer),
          failed: (error) => this.#fail(error),
          record: (record, before) => this.#record(record, before),
        },
      )
      this.#endpoint = await this.#opening
      await Promise.all(settings.peers.map((peer) => this.claim(group, peer)))
      return stable
    } catch (error) {
      await this.leave(group)
      const { syscall } = error as NodeJS.ErrnoException
      throw syscall === 'bind' || syscall === 'getaddrinfo'
        ? cannotListen(listen, error as NodeJS.ErrnoException)
        : error
    }
  }

  /** Adds another group. */
  async admit(settings: NetworkElectionSettings, storage: Storage, events: ElectionEvents): Promise<Plain> {
    const { group } = settings
    if (this.#tenants.has(group)) {
      storage.close()
      throw new InvalidOptionsError('group', `this process has already joined ${JSON.stringify(group)}`)
    }
    this.#take(settings, events)
    try {
      // An error while opening is reported to the first group and to this one.
      await this.#opening?.catch((error: unknown) => {
        storage.close()
        throw error
      })
      const stable = this.#storage.add(group, storage)
      this.#keepSteps(settings.traceSteps)
      await Promise.all(settings.peers.map((peer) => this.claim(group, peer)))
      return stable
    } catch (error) {
      await this.leave(group)
      if (error instanceof InvalidGroupError) throw new InvalidOptionsError(error.field, error.problem)
      if (error instanceof LaterIncarnationError) throw new InvalidOptionsError('data', error.message)
      throw error
    }
  }

  /**
   * Adds a peer for the group. Resolves after the first lookup of its name. Throws InvalidGroupError if another group
   * has it at another address.
   */
  async claim(group: string, { id, address }: Peer & { readonly id: NodeId }): Promise<void> {
    const at = showAddress(address)
    const known = this.#peers.get(id)
    if (known !== undefined && known.address !== at) {
      const problem = `${id} is at ${known.address} for another group of this process, not at ${at}: a process listens at one address for all its groups`
      throw new InvalidGroupError('peers', problem)
    }
    const adding = known === undefined ? this.endpoint.addPeer({ id, address }) : null
    this.#tenants.get(group)?.peers.add(id)
    if (known === undefined) this.#peers.set(id, { address: at, groups: 1 })
    else known.groups += 1
    await adding
  }

  /** Removes a peer for the group. */
  release(group: string, id: NodeId): void {
    const known = this.#peers.get(id)
    if (known === undefined || this.#tenants.get(group)?.peers.delete(id) !== true) return
    known.groups -= 1
    if (known.groups > 0) return
    this.#peers.delete(id)
    this.#endpoint?.removePeer(id)
  }

  /** Leaves without releasing a lease. The last group closes the endpoint. */
  async leave(group: string): Promise<void> {
    const tenant = this.#tenants.get(group)
    if (tenant === undefined) return
    if (this.#tenants.size > 1) {
      if (this.#endpoint?.has(group) === true) this.#endpoint.leave(group)
      for (const id of tenant.peers) this.release(group, id)
      this.#storage.remove(group)
      this.#drop(group)
      return
    }
    this.#drop(group)
    const place = this.#place
    if (place !== null && opened.get(place) === this) opened.delete(place)
    const closed = this.#close()
    if (place !== null) {
      const gone = closed.finally(() => closing.delete(place))
      closing.set(place, gone)
    }
    await closed
  }

  /** The black box, as the trace of one of its groups. */
  async *trace(group: string, spec: GroupSpec): AsyncGenerator<string, void, void> {
    if (this.#box !== null) yield* this.#box.text(this.#header(group, spec))
  }

  #header(group: string, { protocol, nodes, options }: GroupSpec): (skipped: number) => TraceHeader {
    return (skipped) => {
      const takenAt = this.endpoint.now()
      const wallAhead = Date.now() * 1000 - takenAt
      const recording = {
        group,
        node: this.#id,
        run: this.#run,
        skipped,
        clock: clockName(),
        takenAt,
        wallAhead,
      }
      const shown = { ...options, ...peerHosting(protocol).recordedOptions(group) }
      return { trace: 1, protocol, nodes, options: shown, seed: 0, recording, hosted: group }
    }
  }

  /** The largest number of steps that a group asks for. */
  #keepSteps(steps: number): void {
    if (steps === 0) return
    if (this.#box === null)
      this.#box = new BlackBox(this.#id, host({ self: this.#id, groups: {} }), steps, this.#steps)
    else this.#box.keepAtLeast(steps)
  }

  #take({ group, data }: NetworkElectionSettings, events: ElectionEvents): void {
    const dataCheck = data === null ? null : new DataCheck(data, (detail) => events.warn('storage', detail))
    this.#tenants.set(group, { events, data, peers: new Set(), dataCheck, mark: null })
    if (events.stepped !== undefined) this.#watchers += 1
  }

  /** Whether a vote of this node in the group could be stored when that was last checked. */
  canStore(group: string): boolean {
    return this.#tenants.get(group)?.dataCheck?.isWritable ?? true
  }

  #drop(group: string): void {
    const tenant = this.#tenants.get(group)
    if (tenant === undefined) return
    this.#tenants.delete(group)
    tenant.dataCheck?.close()
    if (tenant.events.stepped !== undefined) this.#watchers -= 1
  }

  #record(record: LoopRecord, before: Plain): void {
    this.#steps += 1
    this.#box?.record(record, before)
    if (this.#isDue || this.#watchers === 0) return
    this.#isDue = true
    queueMicrotask(() => this.#tell())
  }

  /** Reports once for all steps of an iteration of the event loop, to the groups that have changed. */
  #tell(): void {
    this.#isDue = false
    const endpoint = this.#endpoint
    if (endpoint === null) return
    for (const [group, tenant] of this.#tenants) {
      const { stepped } = tenant.events
      const mark = stepped === undefined ? null : endpoint.mark(group)
      if (stepped === undefined || mark === tenant.mark) continue
      tenant.mark = mark
      stepped()
    }
  }

  /** The endpoint has already ended its terms. It writes its black box, and then the nodes of all groups end. */
  #fail(error: Error): void {
    for (const [group, { events, data }] of this.#tenants) {
      const file = this.#writeBlackBox(group, data)
      if (file !== null) events.warn('black box', `the last steps are in ${file}: conclave replay ${file}`)
    }
    for (const { events } of this.#tenants.values()) events.failed(error)
  }

  #writeBlackBox(group: string, data: string | null): string | null {
    const endpoint = this.#endpoint
    if (this.#box === null || endpoint === null || !endpoint.has(group)) return null
    const header = this.#header(group, endpoint.spec(group))
    const owner = { group, node: String(this.#id), run: this.#run, data }
    return writeBlackBox(owner, this.#box.textAtOnce(header))
  }

  /** A warning about a peer is for the groups with that peer. A warning that concerns no group in particular is reported once. */
  #warn(what: string, detail: string, peer: NodeId | null): void {
    const all = [...this.#tenants.values()]
    const concerned = peer === null ? [] : all.filter(({ peers }) => peers.has(peer))
    for (const { events } of concerned.length > 0 ? concerned : all.slice(0, 1)) events.warn(what, detail)
  }

  async #close(): Promise<void> {
    if (this.#endpoint !== null) await this.#endpoint.close()
    else if (this.#opening === null) {
      this.#storage.close()
      this.#clock?.close()
    }
    this.#endpoint = null
  }
}

function cannotListen(
  { host: name, port }: Address,
  { code, message }: NodeJS.ErrnoException,
): InvalidOptionsError {
  const why =
    code === 'EADDRINUSE'
      ? 'another process uses the address'
      : code === 'ENOTFOUND' || code === 'EAI_AGAIN'
        ? 'the name cannot be resolved'
        : message
  return new InvalidOptionsError('listen', `cannot listen at ${name}:${port}: ${why}; choose another`)
}
