/** An election backend in the thread of the caller. It is late whenever this thread is blocked. */
import {
  type Command,
  type Micros,
  microsOf,
  msOf,
  type NodeId,
  type Output,
  type Plain,
  present,
  sortIds,
} from '../../../core/index.ts'
import { type GroupSpec, type Pulse, peerHosting } from '../../../protocols/index.ts'
import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import {
  type Endpoint,
  type Explanation,
  type HostClock,
  InvalidGroupError,
  type LateEpisode,
  memoryStorage,
  type NetworkFaults,
  openHostClock,
  openStorage,
  probeTimers,
  type SlowEpisode,
  type Storage,
  showMs,
} from '../../runtime/index.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import {
  type CoreStatus,
  type ElectionBackend,
  type ElectionEvents,
  type ElectionStatus,
  type Lease,
  type News,
  NO_VIEW,
  type NodeView,
  nodeReachOf,
  ownReach,
  type PeerCommand,
  viewOf,
} from './election.ts'
import { GroupObserver } from './group-observer.ts'
import { type Observed, withObserved } from './observed.ts'
import { openSharedEndpoint, type SharedEndpoint } from './shared-endpoint.ts'

/** A backend that runs in this thread. */
export type LocalElection = ElectionBackend & {
  /** When each node was last heard, on the clock of this process. */
  readonly heard: ReadonlyMap<NodeId, number>
  /** When the current term ends. Undefined: it changes rarely, and the status tells it. */
  leadUntil?(): Micros | null | undefined
  /** What changes with every renewal. Undefined: the status tells it. */
  pulse?(): Pulse | undefined
  /** The part of the status that is cheap to compute, and the rest. */
  coreStatus(): CoreStatus
  observed(): Observed
  /** When the lease was last renewed. */
  readonly renewedAt: Micros | null
}

/** Events of an election in its own thread. */
export type LocalEvents = ElectionEvents & {
  /** An assumption was broken just now. */
  noted?(late: LateEpisode | null, slow: SlowEpisode | null): void
}

/** `openClock` is called when the endpoint is not open yet; the endpoint closes the clock. */
export async function openElectionInThread(
  settings: NetworkElectionSettings,
  events: LocalEvents,
  openClock: () => HostClock = openHostClock,
): Promise<LocalElection> {
  const election = new ElectionInThread(settings, events)
  await election.open(openClock)
  return election
}

/** Why leases do not become as short as configured. */
export function describeCoarseTimers(lateness: Micros, shortest: Micros, possible: Micros): string {
  return `timers of this host fire at least ${showMs(lateness)} late, so leases last ${showMs(possible)} or longer (leaseMinMs is ${msOf(shortest)}); set leaseMinMs: ${Math.ceil(msOf(possible))}, or use a host with finer timers`
}

class ElectionInThread implements LocalElection {
  readonly #settings: NetworkElectionSettings
  readonly #events: LocalEvents
  #spec: GroupSpec
  #shared: SharedEndpoint | null = null
  #observer: GroupObserver | null = null
  #refusal: string | null = null
  /** As configured; null where the timing is fixed. */
  #longestLease: Micros | null = null
  /** The status at the time of closing. */
  #last: ElectionStatus | null = null

  constructor(settings: NetworkElectionSettings, events: LocalEvents) {
    const { protocol, nodes, options } = settings
    this.#settings = settings
    this.#events = events
    this.#spec = { protocol, nodes, options }
  }

  async open(openClock: () => HostClock): Promise<void> {
    const events = this.#events
    const { group } = this.#settings
    this.#shared = await startElection(this.#settings, this.#spec, openClock, {
      ...events,
      output: (event) => this.#handleOutput(event),
      stepped: () => this.#stepped(),
    })
    this.#observer = new GroupObserver(group, this.#endpoint, {
      spec: () => this.#spec,
      canStore: () => present(this.#shared, 'the endpoint').canStore(group),
      warn: (what, detail) => events.warn(what, detail),
      noted: (late, slow) => events.noted?.(late, slow),
    })
    const bounds = this.#endpoint.leaseInsight(group)?.bounds ?? null
    if (bounds === null) return
    const [shortest, longest] = bounds
    this.#longestLease = longest
    void this.#checkTimers(shortest)
  }

  /** Leases that tune themselves become no shorter than timers allow; the operator learns why. */
  async #checkTimers(shortest: Micros): Promise<void> {
    const lateness = await probeTimers()
    const { protocol, options, nodes } = this.#spec
    const possible = peerHosting(protocol).leaseForLateness?.(options, nodes, lateness) ?? 0
    if (possible > shortest && !this.#isClosed)
      this.#events.warn('timers', describeCoarseTimers(lateness, shortest, possible))
  }

  get heard(): ReadonlyMap<NodeId, number> {
    return this.#endpoint.heard
  }

  get renewedAt(): Micros | null {
    return this.#observer?.renewedAt ?? null
  }

  view(): NodeView {
    return this.#last?.view ?? viewOf(this.#endpoint.view(this.#settings.group))
  }

  lease(): Lease {
    const endpoint = this.#endpoint
    if (this.#isClosed) return { until: null, now: endpoint.now(), token: null, reason: null }
    const { role, until, token } = endpoint.view(this.#settings.group)
    const now = endpoint.now()
    const ends = role === 'leader' ? until : null
    this.#observer?.noteLease(ends, now)
    return { until: ends, now, token, reason: null }
  }

  status(): ElectionStatus {
    return this.#last ?? withObserved(this.coreStatus(), this.observed())
  }

  observed(): Observed {
    if (this.#observer === null) throw new Error('the election has not started')
    return this.#observer.observed()
  }

  leadUntil(): Micros | null | undefined {
    return this.#isClosed ? null : this.#endpoint.leadUntil(this.#settings.group)
  }

  pulse(): Pulse | undefined {
    return this.#isClosed ? undefined : this.#endpoint.pulse(this.#settings.group)
  }

  coreStatus(): CoreStatus {
    if (this.#last !== null) return this.#last
    const endpoint = this.#endpoint
    const { group, id: self } = this.#settings
    const shown = endpoint.view(group)
    const view = viewOf(shown)
    const now = endpoint.now()
    const insight = endpoint.insight(group)
    const evidence = new Map(insight.evidence?.of.map(({ id, at }) => [id, at]))
    const evidenceFor = insight.evidence?.lasts ?? null
    const isLed = view.leader !== null && insight.leadUntil !== null
    const { sent, received, dropped } = endpoint.counts
    return {
      view: isLed ? view : { ...view, leader: null },
      leadUntil: isLed ? insight.leadUntil : null,
      membersUntil: shown.until,
      now,
      voters: insight.voters,
      nodes: this.#spec.nodes.map((id) => {
        if (id === self) return ownReach(id, true)
        return nodeReachOf(id, {
          heardAt: endpoint.heard.get(id) ?? null,
          evidenceAt: evidence.get(id) ?? null,
          evidenceFor,
          isReachable: insight.heard.includes(id),
          now,
        })
      }),
      evidenceFor,
      isSilent: insight.silentUntil !== null,
      membership: insight.membership,
      primary: null,
      datagrams: { sent, received, dropped },
    }
  }

  async command(command: Command): Promise<string | null> {
    if (this.#isClosed) return 'this node is closed'
    if (command.do === 'addPeer' || command.do === 'removePeer')
      return this.#changePeers(command as unknown as PeerCommand)
    const problem = command.do === 'setLeaseBounds' ? this.#forgetfulProblem(command) : null
    if (problem !== null) return problem
    this.#refusal = null
    this.#endpoint.command(this.#settings.group, command)
    if (command.do === 'setLeaseBounds') this.#observer?.noteTiming()
    if (command.do === 'setPriority' && this.#refusal === null && this.#observer !== null)
      this.#observer.priority = command['priority'] as number
    return this.#refusal
  }

  /** A node that stores nothing is silent after a restart for as long as its configuration says. */
  #forgetfulProblem({ leaseMaxMs }: Command): string | null {
    const longest = this.#longestLease
    if (this.#settings.data !== null || longest === null || microsOf(leaseMaxMs as number) <= longest)
      return null
    return `leaseMaxMs: must be at most ${msOf(longest)}, as configured, because without a data directory a restarted node does not know how long its leases were; restart it with a larger leaseMaxMs`
  }

  async handOverProblem(to: NodeId): Promise<string | null> {
    if (this.#isClosed) return 'this node is closed'
    return this.#endpoint.handOverProblem(this.#settings.group, to)
  }

  async stepDown(token: number | null, to?: NodeId): Promise<void> {
    if (this.#isClosed) return
    const { group } = this.#settings
    const view = this.#endpoint.view(group)
    if (view.role !== 'leader' || view.token !== token) return
    this.#refusal = null
    if (to !== undefined) this.#endpoint.command(group, { do: 'stepDown', to })
    // If the chosen node has become unreachable meanwhile, any other may lead.
    if (to === undefined || this.#refusal !== null) this.#endpoint.command(group, { do: 'stepDown' })
  }

  injectFaults(faults: NetworkFaults): void {
    this.#endpoint.injectFaults(faults)
  }

  /** The events of this thread are never late: what they say is all that is known. */
  explain(): Explanation | null {
    return this.#isClosed ? null : (this.#observer?.explainNow() ?? null)
  }

  announce({ page, ended }: News): void {
    if (this.#isClosed) return
    if (page !== undefined) this.#endpoint.abouts.page = page
    if (ended !== undefined) this.#observer?.noteEnd(ended)
  }

  trace(): AsyncGenerator<string, void, void> {
    return present(this.#shared, 'the endpoint').trace(this.#settings.group, this.#spec)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    const current = this.status()
    this.#last = {
      ...current,
      view: NO_VIEW,
      leadUntil: null,
      membersUntil: null,
      nodes: current.nodes.map((node) =>
        node.id === this.#settings.id ? { ...node, reachable: false } : node,
      ),
    }
    this.#observer?.close()
    await this.#shared?.leave(this.#settings.group)
  }

  get #isClosed(): boolean {
    return this.#last !== null
  }

  get #endpoint(): Endpoint {
    return present(this.#shared, 'the endpoint').endpoint
  }

  #handleOutput(event: Output): void {
    if (event.type === 'refused') this.#refusal = event['why'] as string
    this.#events.output(this.#observer?.explain(event) ?? event)
    queueMicrotask(() => {
      if (this.#shared !== null && !this.#isClosed) this.#events.changed(this.view())
    })
  }

  #stepped(): void {
    if (this.#events.stepped !== undefined) this.#events.stepped()
    else if (this.#observer?.isLeading === true && !this.#isClosed) this.lease()
  }

  /** The protocol does not know addresses: the endpoint adds and removes peers. */
  async #changePeers(command: PeerCommand): Promise<string | null> {
    const { group } = this.#settings
    const shared = present(this.#shared, 'the endpoint')
    try {
      if (command.do === 'addPeer') {
        const { id, address } = command
        const { fixedNodes } = peerHosting(this.#spec.protocol)
        if (fixedNodes !== null) return fixedNodes
        if (this.#spec.nodes.includes(id)) return `${id} is already in the group`
        await shared.claim(group, { id, address })
        this.#regroup([...this.#spec.nodes, id])
      } else {
        this.#regroup(this.#spec.nodes.filter((node) => node !== command.id))
        shared.release(group, command.id)
      }
      return null
    } catch (error) {
      if (error instanceof InvalidGroupError) return error.message
      throw error
    }
  }

  #regroup(nodes: readonly NodeId[]): void {
    const next: GroupSpec = { ...this.#spec, nodes: sortIds(nodes) }
    this.#endpoint.regroup(this.#settings.group, next)
    this.#spec = next
  }
}

/** Joins the group at the endpoint of its address. */
async function startElection(
  settings: NetworkElectionSettings,
  spec: GroupSpec,
  openClock: () => HostClock,
  events: ElectionEvents,
): Promise<SharedEndpoint> {
  const { group } = settings
  const { shared, stable } = await openSharedEndpoint(settings, await storageFor(settings), openClock, events)
  try {
    shared.endpoint.join(group, spec, events, stable)
    // A node does not become a candidate until `lead` is called.
    shared.endpoint.command(group, { do: 'campaign', willing: false, lapse: false })
    return shared
  } catch (error) {
    await shared.leave(group)
    throw error instanceof InvalidGroupError ? new InvalidOptionsError(error.field, error.problem) : error
  }
}

/** A node without a data directory starts as if it had restarted and had promised every epoch up to now. */
async function storageFor({ data, protocol, id, nodes, options }: NetworkElectionSettings): Promise<Storage> {
  if (data !== null) return openStorage(data)
  const storage = memoryStorage()
  const upper = peerHosting(protocol).forgetfulStable({ self: id, nodes }, options, Date.now())
  storage.save({ layer: 0, upper } satisfies Plain)
  return storage
}
