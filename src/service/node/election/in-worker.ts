/**
 * An election backend in a worker thread, seen from the application's thread, which may be blocked for a while without
 * delaying the election.
 *
 * The lease must be right at any moment: it is read from shared memory and the clock. The rest of the status comes as
 * messages. A question is answered after the messages that have arrived were handled.
 */
import { MessageChannel } from 'node:worker_threads'
import type { Command, Micros, NodeId, Output } from '../../../core/index.ts'
import { addedModules } from '../../../protocols/index.ts'
import type { NetworkElectionSettings, StoreElectionSettings } from '../../config/election-settings.ts'
import {
  type Explanation,
  explainExpiry,
  explainStoreExpiry,
  type HostClock,
  type LateEpisode,
  monotonicNow,
  type NetworkFaults,
  NOTHING_MEASURED,
  openHostClock,
  silenceOf,
} from '../../runtime/index.ts'
import { WorkerLostError } from '../api/errors.ts'
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
} from './election.ts'
import { deserializeError } from './error-transfer.ts'
import { OF_THIS_LEASE } from './group-observer.ts'
import { assumedBy } from './lease-timing.ts'
import { type Observed, withObserved } from './observed.ts'
import { type SharedLeaseState, SharedState } from './shared-lease.ts'
import { progressEveryMs } from './stall-watch.ts'
import { SuspendCheck, wallAheadAtMost } from './suspend-check.ts'
import { EARLY_MS } from './timers.ts'
import { WorkerChannel, type WorkerNotification } from './worker-channel.ts'
import type { StatusSnapshot } from './worker-requests.ts'
import { threadScript } from './worker-script.ts'
import { ElectionThread } from './worker-thread.ts'

/** How old the explanation of a term that has ended may be. */
const MAX_EVIDENCE_AGE: Micros = 3_000_000

/** How long the election may take to close before its worker is terminated. */
const MAX_CLOSING_MS = 2000

/** How long it may take to start: an unreachable store is tried for ten seconds, resolving a name may take as long. */
const MAX_OPENING_MS = 60_000

/** Shared memory has room for at least this many nodes, because nodes may be added. */
const MIN_ROOM = 64

const NOTHING_HELD: SharedLeaseState = { lease: null, reason: null }

export async function openElectionInWorker(
  settings: NetworkElectionSettings | StoreElectionSettings,
  maxStallMs: number,
  events: ElectionEvents,
): Promise<ElectionBackend> {
  // Throws where no worker can be started.
  threadScript()
  const election = new ElectionInWorker(settings, maxStallMs, events)
  await election.started
  return election
}

class ElectionInWorker implements ElectionBackend {
  /** Resolves when the election runs, rejects with what kept it from running. */
  readonly started: Promise<void>
  readonly #settings: NetworkElectionSettings | StoreElectionSettings
  readonly #events: ElectionEvents
  readonly #shared: SharedState
  readonly #thread: ElectionThread
  readonly #onFailure = (error: Error): void => this.#fail(error)
  readonly #channel: WorkerChannel
  readonly #clock: HostClock = openHostClock()
  /** Only Linux has a clock that detects suspends. */
  readonly #sleep = new SuspendCheck(process.platform === 'linux' ? this.#clock : null)
  readonly #progress: NodeJS.Timeout
  #settle: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null
  #snapshot: StatusSnapshot
  /** The term that was reported to the node, until its end was reported. */
  #reportedTerm: { readonly token: number | null } | null = null
  #deadline: NodeJS.Timeout | null = null
  #closed: Promise<void> | null = null
  #observed: Observed = { at: 0, measured: NOTHING_MEASURED, timing: null, nodes: [] }
  /** Resolves when an election that ended by itself has left its worker. */
  #left: Promise<void> | null = null
  #state: 'running' | 'closing' | 'ended' = 'running'

  constructor(
    settings: NetworkElectionSettings | StoreElectionSettings,
    maxStallMs: number,
    events: ElectionEvents,
  ) {
    this.#settings = settings
    this.#events = events
    this.#snapshot = {
      view: NO_VIEW,
      leaderChanges: 0,
      voters: [],
      nodes: settings.nodes,
      reachable: [],
      evidenceFor: null,
      isSilent: false,
      membership: null,
      primary: null,
    }
    this.#shared = SharedState.for(Math.max(MIN_ROOM, 2 * settings.nodes.length))
    this.#shared.progress = monotonicNow()
    this.#progress = setInterval(() => {
      this.#shared.progress = monotonicNow()
    }, progressEveryMs(maxStallMs))
    this.#progress.unref()
    const late = setTimeout(
      () => this.#fail(new WorkerLostError(`the election did not begin within ${MAX_OPENING_MS} ms`), true),
      MAX_OPENING_MS,
    )
    this.started = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
    }).finally(() => clearTimeout(late))
    const { port1, port2 } = new MessageChannel()
    this.#thread = ElectionThread.at('listen' in settings ? settings.listen : null, this.#onFailure)
    this.#thread.open({
      settings,
      modules: addedModules(),
      shared: this.#shared.buffer,
      maxStallMs,
      port: port2,
    })
    this.#channel = new WorkerChannel(port1, (message) => this.#handle(message))
  }

  view(): NodeView {
    this.#channel.drain()
    return this.#viewAt(monotonicNow())
  }

  status(): ElectionStatus {
    this.#channel.drain()
    const now = monotonicNow()
    const { id: self } = this.#settings
    const { membersUntil, datagrams } = this.#shared
    const leadUntil = this.#shared.leadUntil(this.#snapshot.leaderChanges)
    const { voters, nodes, reachable: there, evidenceFor, isSilent, membership, primary } = this.#snapshot
    const view = this.#viewAt(now)
    // This node knows its own lease exactly; the shared number is updated less often.
    const ends = view.role === 'leader' ? this.lease().until : leadUntil
    const core: CoreStatus = {
      view,
      leadUntil: view.leader === null ? null : ends,
      membersUntil,
      now,
      voters,
      nodes: nodes.map((id, place) => {
        if (id === self) return ownReach(id, this.#state === 'running')
        return nodeReachOf(id, {
          heardAt: this.#shared.heardAt(place),
          evidenceAt: this.#shared.evidenceAt(place),
          evidenceFor,
          isReachable: there.includes(id),
          now,
        })
      }),
      evidenceFor,
      isSilent,
      membership:
        membership === null
          ? null
          : { ...membership, inQuorum: membership.inQuorum && (leadUntil === null || now < leadUntil) },
      primary: view.leader === null ? null : primary,
      datagrams,
    }
    return withObserved(core, this.#observed)
  }

  lease(): Lease {
    const now = monotonicNow()
    const { lease, reason } = this.#state === 'running' ? this.#shared.standing() : NOTHING_HELD
    if (lease === null) {
      // A message with the reason may have arrived.
      if (this.#reportedTerm !== null) this.#channel.drain()
      return { until: null, now, token: null, reason }
    }
    if (this.#sleep.hasSlept(lease.wallAhead, wallAheadAtMost(now)))
      return { until: null, now, token: null, reason: 'suspended' }
    return { until: lease.until, now, token: lease.token, reason }
  }

  command(command: Command): Promise<string | null> {
    return this.#channel.request({ request: 'command', command })
  }

  handOverProblem(to: NodeId): Promise<string | null> {
    return this.#channel.request({ request: 'handOverProblem', to })
  }

  async stepDown(token: number | null, to?: NodeId): Promise<void> {
    await this.#channel.request({ request: 'stepDown', token, ...(to === undefined ? {} : { to }) })
  }

  injectFaults(faults: NetworkFaults): void {
    void this.#channel.request({ request: 'injectFaults', faults })
  }

  explain(late: Micros): Explanation | null {
    const most = assumedBy(this.#settings)
    if (most === null) return null
    const present = this.#observed.timing?.assumed
    const assumed = present === undefined ? most : { ...present, names: OF_THIS_LEASE }
    const shared = this.#shared
    const now = monotonicNow()
    const { nodes, voters } = this.#snapshot
    const renewedAt = shared.renewedAt ?? now
    const since = renewedAt + assumed.sigma + 2 * assumed.delta
    // The worker may have begun and renewed the next term already: then the last renewal says nothing about this one.
    const isCurrent = shared.lease()?.token === this.#reportedTerm?.token
    const from = isCurrent ? renewedAt : Math.min(renewedAt, now - MAX_EVIDENCE_AGE)
    const heardAt = (id: NodeId): Micros | null => shared.heardAt(nodes.indexOf(id))
    // If the whole process was stopped, the worker may not have noticed yet.
    const own: LateEpisode | null = late > assumed.sigma ? { by: late, at: now, why: 'unknown' } : null
    const evidence = { now, late: shared.late(from) ?? own, slow: shared.slow(nodes, from) }
    if ('store' in this.#settings) return explainStoreExpiry(evidence, assumed)
    const silence = silenceOf(voters, this.#settings.id, heardAt, since, now)
    return explainExpiry({ ...evidence, ...silence, latePeer: null }, assumed)
  }

  announce(news: News): void {
    void this.#channel.request({ request: 'announce', news })
  }

  trace(): AsyncGenerator<string, void, void> {
    return this.#channel.trace()
  }

  close(): Promise<void> {
    this.#closed ??= this.#leave()
    return this.#closed
  }

  async #leave(): Promise<void> {
    if (this.#state === 'running') {
      const answered = this.#channel.requestLast({ request: 'close' })
      this.#state = 'closing'
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<string>((resolve) => {
        timer = setTimeout(() => resolve('late'), MAX_CLOSING_MS)
      })
      const isHung = (await Promise.race([answered, late])) === 'late'
      clearTimeout(timer)
      this.#end()
      await this.#thread.leave(this.#onFailure, isHung)
    }
    await this.#left
  }

  /** The last snapshot, as far as it still holds. */
  #viewAt(now: Micros): NodeView {
    const { view } = this.#snapshot
    if (this.#state !== 'running') return NO_VIEW
    const { membersUntil } = this.#shared
    const leadUntil = this.#shared.leadUntil(this.#snapshot.leaderChanges)
    const isOver = view.role === 'leader' ? !this.#holds() : leadUntil === null || now >= leadUntil
    const isOld = isOver || membersUntil === null || now >= membersUntil
    return {
      role: view.role === 'leader' && isOver ? 'follower' : view.role,
      leader: isOver ? null : view.leader,
      members: isOld ? null : view.members,
    }
  }

  #holds(): boolean {
    const { until, now } = this.lease()
    return until !== null && now < until
  }

  #handle(message: WorkerNotification): void {
    switch (message.message) {
      case 'started':
        this.#settle?.resolve()
        this.#settle = null
        break
      case 'refused':
        this.#reject(deserializeError(message.error))
        break
      case 'progress':
        // Listeners find the snapshot that belongs to the event.
        if (message.snapshot !== null) this.#snapshot = message.snapshot
        for (const event of message.events) this.#report(event)
        this.#events.changed(this.#snapshot.view)
        break
      case 'observed':
        this.#observed = message.observed
        break
      case 'warning':
        this.#events.warn(message.what, message.detail)
        break
      case 'failed':
        this.#fail(deserializeError(message.error))
        break
      default:
        message satisfies never
    }
  }

  #report(event: Output): void {
    if (event.type === 'elected') {
      this.#reportedTerm = { token: (event['token'] as number | null | undefined) ?? null }
      this.#events.output(event)
      this.#watchDeadline()
    } else if (event.type === 'demoted') this.#demoted(event)
    else this.#events.output(event)
  }

  #demoted(event: Output): void {
    // The clock may have ended the term before the message arrived.
    if (this.#reportedTerm === null) return
    this.#reportedTerm = null
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#events.output(event)
  }

  /** The clock of this thread ends a term too, even if the worker cannot report it. */
  #watchDeadline(): void {
    const term = this.#reportedTerm
    if (term === null) return
    const { until, now } = this.lease()
    // To ask for the lease may handle messages of the worker: the end of this term, and even the next term.
    if (this.#reportedTerm !== term) return
    if (until !== null && now < until) {
      const leftMs = (until - now) / 1000
      // Usually the lease has been renewed when it is looked at, which wakes this thread together with the term manager.
      const waitMs = leftMs > EARLY_MS ? leftMs - EARLY_MS : Math.ceil(leftMs) + 1
      this.#deadline = setTimeout(() => this.#watchDeadline(), waitMs)
      this.#deadline.unref()
      return
    }
    this.#channel.drain()
    const cause = this.lease().reason ?? 'expired'
    const why = cause === 'expired' ? this.explain(0) : null
    if (this.#reportedTerm === term) this.#demoted({ type: 'demoted', token: term.token, cause, ...why })
  }

  /** The election did not start. */
  #reject(error: Error): void {
    this.#end()
    this.#left = this.#thread.leave(this.#onFailure)
    const settle = this.#settle
    this.#settle = null
    // A caller that tries again finds the address free.
    void this.#left.then(() => settle?.reject(error))
  }

  /** The election ran, and ended by itself. */
  #fail(error: Error, isHung = false): void {
    if (this.#state === 'ended') return
    const wasClosing = this.#state === 'closing'
    this.#end()
    this.#left = this.#thread.leave(this.#onFailure, isHung)
    if (this.#settle !== null) this.#settle.reject(error)
    else if (!wasClosing) this.#events.failed(error)
    this.#settle = null
  }

  #end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    clearInterval(this.#progress)
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#channel.close()
    this.#clock.close()
  }
}
