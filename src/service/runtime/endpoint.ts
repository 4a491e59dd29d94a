/**
 * The endpoint of a process: one socket, one session per peer, and any number of groups over these.
 *
 * An endpoint runs one loop with one protocol, the host: fail-aware datagrams with a bundle of groups on top
 * (protocols/host.ts). Groups are joined and left, and peers added and removed, while it runs. Groups do not affect
 * each other: not even a full disk does, unless both need to write.
 */
import {
  type Command,
  hashPlain,
  type Micros,
  type NodeId,
  type Output,
  type Plain,
  type View,
} from '../../core/index.ts'
import { type Datagram, type Group, isStale, stateInBundle } from '../../links/index.ts'
import {
  type GroupSpec,
  groupFor,
  handOverProblemFor,
  host,
  type Insight,
  insightFor,
  type LeaseInsight,
  leaseInsightFor,
  type Pulse,
  peerHosting,
  pulseFor,
} from '../../protocols/index.ts'
import { ABOUT } from './about.ts'
import type { Abouts } from './abouts.ts'
import { type HostClock, openHostClock } from './clock.ts'
import { Codec } from './codec.ts'
import { type Address, Directory, type Peer, showAddress } from './directory.ts'
import type { ElectionEvents } from './election-events.ts'
import { EndpointObserver } from './endpoint-observer.ts'
import type { EndpointHooks, EndpointSettings } from './endpoint-settings.ts'
import { incarnationOf, roundTripOf, sessionsIn, termTokenIn } from './endpoint-state.ts'
import { InvalidGroupError } from './errors.ts'
import { unresolved } from './explain.ts'
import type { NetworkFaults } from './fault-injection.ts'
import { GroupStorage } from './group-storage.ts'
import { Introductions } from './introductions.ts'
import { Loop } from './loop.ts'
import { OutOfSession } from './out-of-session.ts'
import type { ProcessMeasures } from './process-measures.ts'
import type { DroppedDatagrams } from './refusal-log.ts'
import { type DropReason, Udp } from './udp.ts'

/** A protocol got a message whose content is impossible. */
type ImplausibleEvent = { readonly peer: NodeId; readonly field: string; readonly problem: string }

/** Where the outputs and warnings of one group go. */
type GroupEvents = Pick<ElectionEvents, 'output' | 'warn'>

type Joined = {
  readonly spec: GroupSpec
  readonly group: Group
  readonly events: GroupEvents
}

export class Endpoint {
  readonly self: NodeId
  readonly #codec: Codec
  readonly #storage: GroupStorage
  readonly #observer: EndpointObserver
  readonly #clock: HostClock
  readonly #groups = new Map<string, Joined>()
  readonly #outOfSession = new OutOfSession()
  readonly #udp: Udp
  readonly #directory: Directory
  readonly #introductions: Introductions
  readonly #loop: Loop
  #closed: Promise<void> | null = null

  private constructor(settings: EndpointSettings, hooks: EndpointHooks, udp: Udp, codec: Codec) {
    this.self = settings.self
    this.#codec = codec
    this.#clock = settings.clock ?? openHostClock()
    this.#storage = new GroupStorage(settings.storage, {
      warn: (group, detail) => this.#groups.get(group)?.events.warn('storage', detail),
      recovered: () => hooks.warning('storage', 'stable data can be written again', null),
    })
    this.#udp = udp
    this.#directory = new Directory({
      family: udp.family,
      ...(settings.lookup === undefined ? {} : { lookup: settings.lookup }),
      lookupFailed: (id, address, problem) => hooks.warning('peers', unresolved(id, address, problem), id),
      looked: () => this.#tick(),
    })
    this.#introductions = new Introductions(this.self, this.#directory, {
      send: (to, address, body) => udp.send(to, address, body),
      conflict: (problem) => hooks.warning('conflict', problem, null),
    })
    this.#observer = new EndpointObserver({
      self: this.self,
      name: settings.name ?? { run: '', version: null },
      directory: this.#directory,
      now: () => this.#clock.now(),
      send: (to, body) => this.#send(to, body),
      warn: (what, detail, peer) => hooks.warning(what, detail, peer),
      incarnation: () => sessionsIn(this.#loop.state).incarnation,
      incarnationOf: (peer) => incarnationOf(sessionsIn(this.#loop.state), peer),
    })
    const protocol = host({ self: this.self, groups: {} })
    this.#loop = new Loop(protocol, this.#clock, this.#storage, {
      send: (to, body) => {
        this.#observer.noteSent(to)
        this.#send(to, body)
      },
      output: (event) => this.#handleOutput(event),
      storageFailed: (error) => this.#storage.noteFailure(error),
      failed: (error) => {
        this.#endTerms()
        hooks.failed(error)
      },
      messageDropped: (from, error) => udp.refuse('unusable', from, error.message),
      excludeGroups: (input, stable) => this.#storage.excludeGroups(input, stable),
      late: (by, now) => this.#observer.measures.noteLateness(by, now),
      slept: (by) => this.#observer.noteSleep(by),
      ...(hooks.record === undefined ? {} : { record: hooks.record }),
    })
  }

  /**
   * Opens the socket and starts sessions with the peers. If that fails, it closes the storage and the clock, and
   * rejects. Closing the endpoint closes them too.
   */
  static async open(settings: EndpointSettings, hooks: EndpointHooks): Promise<Endpoint> {
    const codec = new Codec()
    let endpoint: Endpoint | null = null
    const { self, listen, sealer, lookup } = settings
    const udp = await Udp.open(
      { self, listen, sealer, codec, ...(lookup === undefined ? {} : { lookup }) },
      {
        isPeer: (at, port) => endpoint !== null && endpoint.#directory.entryAt(at, port) !== null,
        message: (from, to, body, at) => (endpoint === null ? null : endpoint.#receive(from, to, body, at)),
        dropped: (refused) =>
          endpoint === null ? hooks.dropped(refused, null) : endpoint.#handleDropped(refused, hooks),
      },
    ).catch((error: unknown) => {
      settings.storage.close()
      settings.clock?.close()
      throw error
    })
    const opened = new Endpoint(settings, hooks, udp, codec)
    endpoint = opened
    try {
      opened.#loop.start()
      await Promise.all(settings.peers.map((peer) => opened.addPeer(peer)))
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  get port(): number {
    return this.#udp.port
  }

  /** Numbers of datagrams, sessions and groups. */
  get counts() {
    const sessions = this.#loop.inspect(
      (state) => sessionsIn(state).sessions.filter((session) => session !== null).length,
    )
    return { ...this.#udp.counts, sessions, groups: this.#groups.size }
  }

  now(): Micros {
    return this.#clock.now()
  }

  /** Injects faults into the datagrams that arrive from peers, for tests of a group. */
  injectFaults(faults: NetworkFaults): void {
    this.#udp.network.set(faults)
  }

  /** When the last datagram came from each peer, on the clock of this process. */
  get heard(): ReadonlyMap<NodeId, Micros> {
    return this.#observer.heard
  }

  /** What this process measures for all of its groups. */
  get measures(): ProcessMeasures {
    return this.#observer.measures
  }

  /** What this process and its peers tell each other. */
  get abouts(): Abouts {
    return this.#observer.abouts
  }

  // ---- Peers ----

  /** Resolves after the first lookup of its name, successful or not. Lookups are repeated. */
  addPeer(peer: Peer): Promise<void> {
    if (peer.id === this.self) throw new InvalidGroupError('peers', `${peer.id} is the id of this process`)
    if (peer.id !== null && this.#directory.entryOf(peer.id) !== null) {
      throw new InvalidGroupError('peers', `${peer.id} is listed twice`)
    }
    return this.#directory.add(peer)
  }

  /** Stops exchanging datagrams with a peer. In groups that name it, it stays unreachable. */
  removePeer(id: NodeId): void {
    this.#directory.remove(id)
    this.#observer.forget(id)
    this.#outOfSession.forget(id)
  }

  /** The configured address of a peer. */
  addressOf(id: NodeId): string | null {
    const entry = this.#directory.entryOf(id)
    return entry === null ? null : showAddress(entry.address)
  }

  /** Where datagrams for a peer are sent; null while its name is not resolved. */
  resolvedAddressOf(id: NodeId): string | null {
    return this.#directory.resolvedAddressOf(id)
  }

  /** The ids of all peers; null while a peer that was given without an id has not answered. */
  peerIds(): readonly NodeId[] | null {
    const ids = [...this.#directory.entries].map(({ id }) => id)
    return ids.includes(null) ? null : (ids as NodeId[])
  }

  /** Resolves to the ids by address when the id of every peer is known; to null if the signal is aborted first. */
  async introduced(signal?: AbortSignal): Promise<ReadonlyMap<string, NodeId> | null> {
    if (!(await this.#introductions.complete(signal))) return null
    return new Map(
      [...this.#directory.entries].map(({ address, id }) => [showAddress(address), id as NodeId]),
    )
  }

  /** Addresses whose node has not answered with its id yet. */
  unknown(): readonly Address[] {
    return this.#introductions.unknown()
  }

  // ---- Groups ----

  /**
   * Joins a group. Its stable data is `stable`, or else what the storage had for a group of this name when the endpoint
   * was opened.
   */
  join(name: string, spec: GroupSpec, events: GroupEvents, stable?: Plain): void {
    if (this.#groups.has(name))
      throw new InvalidGroupError('group', `this process has already joined ${JSON.stringify(name)}`)
    if (!spec.nodes.includes(this.self))
      throw new InvalidGroupError('nodes', `must include this process, ${this.self}`)
    const group = groupFor(this.self, spec)
    if (!this.#codec.learn(name, peerHosting(spec.protocol).wire, hashPlain(group.agreed))) {
      throw new InvalidGroupError(
        'group',
        `${JSON.stringify(name)} has the same digest as another group: rename it`,
      )
    }
    this.#groups.set(name, { spec, group, events })
    this.#storage.begin(name, stable)
    try {
      // Invalid data concerns this group alone, so it is detected before anything happens.
      group.protocol.start(this.#storage.storedFor(name), this.now())
      this.#loop.command({ do: 'join', group: name, spec, ...(stable === undefined ? {} : { stable }) })
      const failure = this.#loop.inspect((state) => stateInBundle(state, name) === null)
        ? this.#storage.failure
        : null
      if (failure !== null) throw failure
    } catch (error) {
      this.#groups.delete(name)
      this.#codec.forget(name)
      throw error
    }
  }

  /** Changes the nodes of the group. In majority mode the voters stay the same: see addVoter. */
  regroup(name: string, spec: GroupSpec): void {
    const joined = this.#joined(name)
    const { fixedNodes, modeOf } = peerHosting(spec.protocol)
    if (fixedNodes !== null) throw new InvalidGroupError('nodes', fixedNodes)
    const lost = this.insight(name).named.find((voter) => !spec.nodes.includes(voter))
    if (lost !== undefined && modeOf(spec.options) === 'majority') {
      throw new InvalidGroupError(
        'nodes',
        `${lost} is a voter: remove its vote first (removeVoter), then remove it`,
      )
    }
    const group = groupFor(this.self, spec)
    this.#codec.learn(name, peerHosting(spec.protocol).wire, hashPlain(group.agreed))
    this.#groups.set(name, { ...joined, spec, group })
    this.#loop.command({ do: 'regroup', group: name, spec })
  }

  /** Leaves the group. A leader should step down first; otherwise its lease has to expire. */
  leave(name: string): void {
    this.#joined(name)
    this.#loop.command({ do: 'leave', group: name })
    this.#groups.delete(name)
    this.#codec.forget(name)
  }

  /** The group as it was joined, with the changes since. */
  spec(name: string): GroupSpec {
    return this.#joined(name).spec
  }

  has(name: string): boolean {
    return this.#groups.has(name)
  }

  command(name: string, command: Command): void {
    if (this.#groups.has(name)) this.#loop.command({ do: 'tell', group: name, command })
  }

  view(name: string): View {
    const { group } = this.#joined(name)
    return this.#loop.inspect((state, now) => group.protocol.view(stateInBundle(state, name), now))
  }

  /** Changes whenever the state of the group does. Compare it by identity; never read it. */
  mark(name: string): unknown {
    return stateInBundle(this.#loop.state, name)
  }

  /** The sets of voters. It may be called within a step. */
  votersOf(name: string): Insight['voters'] {
    return insightFor(this.self, this.spec(name), stateInBundle(this.#loop.state, name), this.now()).voters
  }

  /** Why the leader of the group cannot hand over to a node; null if it can. */
  handOverProblem(name: string, to: NodeId): string | null {
    const { spec } = this.#joined(name)
    return this.#loop.inspect((state, now) =>
      handOverProblemFor(this.self, spec, stateInBundle(state, name), to, now),
    )
  }

  /** The present length of leases in the group, and why; null where the timing is fixed. */
  leaseInsight(name: string): LeaseInsight | null {
    const { spec } = this.#joined(name)
    return this.#loop.inspect((state) => leaseInsightFor(this.self, spec, stateInBundle(state, name)))
  }

  /** When the current term ends, as far as this node knows. Undefined: the protocol tells it in `insight` only. */
  leadUntil(name: string): Micros | null | undefined {
    const { leadUntil } = peerHosting(this.spec(name).protocol)
    return leadUntil?.(stateInBundle(this.#loop.state, name), this.now())
  }

  pulse(name: string): Pulse | undefined {
    return pulseFor(this.self, this.spec(name), stateInBundle(this.#loop.state, name), this.now())
  }

  insight(name: string): Insight {
    const { spec } = this.#joined(name)
    return this.#loop.inspect((state, now) => insightFor(this.self, spec, stateInBundle(state, name), now))
  }

  /** Stops the loop and closes socket, storage and clock. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#loop.stop()
    this.#directory.close()
    await this.#udp.close()
    this.#storage.close()
    this.#observer.close()
    this.#clock.close()
  }

  #joined(name: string): Joined {
    const joined = this.#groups.get(name)
    if (joined === undefined)
      throw new InvalidGroupError('group', `this process has not joined ${JSON.stringify(name)}`)
    return joined
  }

  // ---- Between the network, the loop and the groups ----

  /** About twice a second. */
  #tick(): void {
    this.#introductions.ask()
    this.#observer.tick()
  }

  #send(to: NodeId, body: Parameters<Udp['send']>[2]): void {
    const entry = this.#directory.entryOf(to)
    if (entry === null || entry.current === null) return
    this.#udp.send(to, { host: entry.current, port: entry.address.port }, body)
  }

  #receive(from: NodeId, to: NodeId, body: Parameters<Udp['send']>[2], at: Address): DropReason | null {
    if (this.#introductions.handle(from, to, body, at)) return null
    const entry = this.#directory.entryOf(from)
    if (to !== this.self || entry === null) {
      if (from === this.self && to === this.self) this.#observer.noteOwnId(at)
      return 'unknown sender'
    }
    this.#observer.noteSender(entry, at)
    if (body.kind === ABOUT) return this.#observer.abouts.receive(from, body, this.#clock.now())
    if (body.kind !== 'datagram') return 'unreadable'
    const datagram = body as unknown as Datagram
    const sessions = sessionsIn(this.#loop.state)
    // The session would ignore it, but in a flood each step would cost time, and displace other steps from the black
    // box.
    if (isStale(sessions, from, datagram)) return 'heard before'
    if (datagram.for !== sessions.incarnation) {
      const { drop, isAnswered } = this.#outOfSession.receive(from, datagram, this.#clock.now())
      if (drop !== 'heard before') this.#observer.noteDatagram(from, false, this.#clock.now())
      if (isAnswered) this.#loop.message(from, body)
      return drop
    }
    const now = this.#clock.now()
    const trip = roundTripOf(sessions, datagram, now)
    this.#observer.noteDatagram(from, true, now)
    this.#directory.heard(from)
    this.#loop.message(from, body)
    // Afterwards, so that it is known whether this process was late itself.
    if (trip !== null) this.#observer.measures.noteRoundTrip(from, trip, now)
    return null
  }

  /** What another warning has explained is not reported once more. */
  #handleDropped(refused: DroppedDatagrams, hooks: EndpointHooks): void {
    const peer = this.#directory.idAt(refused.from)
    if (peer !== null) this.#observer.noteDropped(peer)
    if (peer !== null || !this.#observer.isExplained(refused)) hooks.dropped(refused, peer)
  }

  #handleOutput({ group, ...event }: Output): void {
    if (typeof group !== 'string') return
    if (event.type === 'implausible') {
      const { peer, field, problem } = event as unknown as ImplausibleEvent
      this.#udp.refuse('implausible', peer, `${group}: ${field} ${problem}`)
    } else this.#groups.get(group)?.events.output(event)
  }

  /** The loop has failed: a leader stops leading before anything else happens. */
  #endTerms(): void {
    for (const [name, { group, events }] of this.#groups) {
      const token = termTokenIn(() => group.protocol.view(stateInBundle(this.#loop.state, name), this.now()))
      if (token !== undefined) events.output({ type: 'demoted', token, cause: 'failed' })
    }
  }
}
