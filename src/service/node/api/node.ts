/**
 * A node of a group: it can lead, and it watches who leads.
 *
 * The election runs on its backend from the moment of joining. Leading and working are separate: `lead` calls the
 * application once per term, one term at a time, and releases the lease only when that call has ended. Work that does
 * not end keeps its lease for `drainMs`, and then the lease expires. A node votes and watches but is never elected until
 * `lead` is called.
 */
import { EventEmitter } from 'node:events'
import { type Command, type NodeId, type Output, present } from '../../../core/index.ts'
import { parsePeer, peerProblem } from '../../config/address.ts'
import { MAX_PRIORITY } from '../../config/fields.ts'
import type { Announcement, NetworkFaults } from '../../runtime/index.ts'
import {
  type ElectionBackend,
  type ElectionEvents,
  type ElectionStatus,
  NO_VIEW,
  type NodeStatus,
  type NodeView,
} from '../election/election.ts'
import type { LeaseTiming } from '../election/lease-timing.ts'
import {
  checkFaults,
  checkFunction,
  fieldIn,
  type LeaseBounds,
  parseFlag,
  parseNodeId,
  parseSignal,
  type SignalOption,
} from './arguments.ts'
import { causeOf } from './causes.ts'
import { AlreadyLeadingError, CommandRefusedError, InvalidArgumentError, NodeClosedError } from './errors.ts'
import { type HandOver, handOverTerm } from './hand-over.ts'
import { HealthGate } from './health.ts'
import { type Loss, lossFrom } from './loss-reason.ts'
import { mismatchWarning } from './mismatch.ts'
import type { HandOverOptions, LeadOptions, NodeSettings, StepDownOptions } from './node-settings.ts'
import { Notifier, nextTerm, type ObservableNode, observeViews } from './notifier.ts'
import {
  type GroupStatus,
  groupStatusOf,
  type IneligibleReason,
  installedView,
  type Mode,
  type NodeEvents,
} from './status.ts'
import type { CurrentTerm, Term } from './term.ts'
import { TermManager } from './term-manager.ts'
import { leaseBoundsCommand, levelChangeOf } from './timing-status.ts'
import { RecentWarnings } from './warnings.ts'

export type { LeaseBounds, SignalOption } from './arguments.ts'
export type { HandOver } from './hand-over.ts'
export type { HandOverOptions, LeadOptions, NodeSettings, StepDownOptions } from './node-settings.ts'

/** A mismatch is reported once. This many reports are remembered. */
const MAX_REMEMBERED = 1000

type OpenNode = (
  settings: NodeSettings,
  open: (events: ElectionEvents) => Promise<ElectionBackend>,
) => Promise<ConclaveNode>

/** Assigned by the class, so that it does not show in its public type. */
let openInternally: OpenNode

/** Makes a node with the backend that `open` returns. For `join` and the testkit. */
export const openNode: OpenNode = (settings, open) => openInternally(settings, open)

export class ConclaveNode extends EventEmitter<NodeEvents> implements AsyncDisposable {
  readonly group: string
  readonly id: NodeId
  readonly mode: Mode
  /** How long a lease lasts, and how early it is renewed. Where leases tune themselves: the shortest lease. */
  readonly lease: LeaseTiming
  readonly #role: NodeSettings['role']
  readonly #health: HealthGate | null
  readonly #terms: TermManager
  readonly #timers: NodeSettings['timers']
  #backend: ElectionBackend | null = null
  #lastView: NodeView = NO_VIEW
  #closed: Promise<void> | null = null
  #failure: Error | null = null
  readonly #warned = new Set<string>()
  readonly #warnings = new RecentWarnings((warning) => this.#emitLater('warning', warning))
  readonly #changes = new Notifier<NodeView>()
  readonly #elections = new Notifier<void>()

  private constructor({ group, id, mode, lease, work, timers, role }: NodeSettings) {
    super()
    this.group = group
    this.id = id
    this.mode = mode
    this.lease = lease
    this.#role = role
    this.#timers = timers
    this.#terms = new TermManager({
      timers,
      drainMs: work.drainMs,
      backend: () => this.#backend,
      isFit: () => role === null && !this.isClosed && this.#health?.isHealthy !== false,
      onOverdue: () =>
        this.#warn(
          'draining',
          'the work has not ended although its term has; the lease is no longer renewed',
        ),
    })
    const { healthy, healthIntervalMs, healthTimeoutMs } = work
    this.#health =
      healthy === null
        ? null
        : new HealthGate(
            { check: healthy, intervalMs: healthIntervalMs, timeoutMs: healthTimeoutMs },
            timers,
            (isHealthy, why) => this.#handleHealth(isHealthy, why),
          )
  }

  static {
    openInternally = async (settings, open) => {
      const node = new ConclaveNode(settings)
      node.#backend = await open({
        output: (event) => node.#handle(event),
        changed: (view) => node.#noteView(view),
        warn: (what, detail) => node.#warn(what, detail),
        failed: (error) => node.#fail(error),
      })
      node.#health?.start()
      setImmediate(() => node.#warnings.open())
      return node
    }
  }

  get isClosed(): boolean {
    return this.#closed !== null
  }

  /** Why this node is not a candidate; null when it is one. */
  get ineligibleReason(): IneligibleReason | null {
    if (this.isClosed) return 'closed'
    if (this.#role !== null) return this.#role
    if (!this.#terms.isWanted) return 'lead not called'
    if (this.#terms.isOverdue) return 'work not ended'
    return this.#health?.isHealthy === false ? 'unhealthy' : null
  }

  /** The current view of this node: its role and the leader. */
  view(): NodeView {
    return this.#backend?.view() ?? NO_VIEW
  }

  /** All nodes of the group, and whether they are reachable. */
  members(): readonly NodeStatus[] {
    return this.status().nodes
  }

  /** The state of the group for operators. */
  status(): GroupStatus {
    const { id, mode, isClosed } = this
    return groupStatusOf(this.#status(), { id, mode, isClosed, warnings: this.#warnings.list() })
  }

  /** The black box of this node as a trace for `conclave replay`, in pieces of text; empty once it is closed. */
  async *trace(): AsyncGenerator<string, void, void> {
    if (this.#backend !== null && !this.isClosed) yield* this.#backend.trace()
  }

  /**
   * Calls `work` in every term of this node, one term at a time, until the signal is aborted or the node is closed. When
   * `work` returns during its term, the lease is released. When it throws, the lease is released and this rejects.
   * Aborting the signal ends the current term: the signal of the term is aborted, and this resolves when the work has ended.
   */
  async lead(work: (term: Term) => void | Promise<void>, options?: LeadOptions): Promise<void> {
    checkFunction('work', work)
    const signal = parseSignal(options)
    const once = parseFlag(options, 'once')
    if (this.#terms.isWanted) throw new AlreadyLeadingError()
    if (this.#failure !== null) throw this.#failure
    if (this.isClosed || signal?.aborted === true) return
    const onAbort = (): void => this.#terms.stop()
    signal?.addEventListener('abort', onAbort)
    try {
      await this.#terms.setWanted(true)
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one term after the other
        const term = await this.#nextTerm(signal)
        if (term === null) break
        // oxlint-disable-next-line no-await-in-loop -- one term after the other
        const hasRun = await this.#terms.runWork(term, work)
        if (once && hasRun) break
      }
    } finally {
      signal?.removeEventListener('abort', onAbort)
      await this.#terms.setWanted(false)
    }
    if (this.#failure !== null) throw this.#failure
  }

  /**
   * Ends the current term of this node: the signal of the term is aborted, its work ends, and only then can another node
   * lead. Meanwhile the lease is renewed until `signal` is aborted or `drainMs` have passed; then it expires. Resolves to
   * true if the lease was released or there was none. Work must not await it: it would wait for its own end.
   *
   * With `to`, that node leads next: the same as `handOver`, which also says who leads.
   */
  async stepDown(options?: StepDownOptions): Promise<boolean> {
    const signal = parseSignal(options)
    if (options?.to !== undefined) return (await this.handOver({ to: options.to, signal })).released
    const { term } = this.#terms
    return term === null || this.#terms.drain(term, 'stepped down', signal)
  }

  /**
   * Ends the current term of this node like `stepDown`, so that the node `to` leads next, if it is still reachable when
   * the work has ended. Resolves when this node knows who leads, or 5 s after it released its lease, or when `signal` is
   * aborted. Throws CommandRefusedError, and the term goes on, if the protocol, the role of that node, or its
   * reachability do not allow it.
   */
  async handOver(options: HandOverOptions): Promise<HandOver> {
    const signal = parseSignal(options)
    const to = parseNodeId('to', (options as HandOverOptions | undefined)?.to)
    const node = this.#observable()
    return handOverTerm(
      { node, terms: this.#terms, backend: this.#backend, timers: this.#timers },
      to,
      signal,
    )
  }

  /** A node with a higher priority is preferred as leader. */
  async setPriority(priority: number, options?: SignalOption): Promise<void> {
    if (!Number.isInteger(priority) || Math.abs(priority) > MAX_PRIORITY)
      throw new CommandRefusedError(
        'setPriority',
        `${String(priority)} is not an integer from -${MAX_PRIORITY} to ${MAX_PRIORITY}`,
      )
    return this.#command({ do: 'setPriority', priority }, options)
  }

  /**
   * Changes the bounds of leases of this node, from now until it is closed. A bound that is not given stays. Other nodes
   * keep theirs: call it on each node, in any order. To keep them for the next start, give `leaseMinMs` and `leaseMaxMs`
   * to `join`.
   */
  async setLeaseBounds(bounds: LeaseBounds, options?: SignalOption): Promise<void> {
    return this.#command(leaseBoundsCommand(bounds, this.#status().timing), options)
  }

  /** Only on the leader: gives a node a vote. `status().voters` and the event `voters` show when it counts. */
  async addVoter(voter: NodeId, options?: SignalOption): Promise<void> {
    return this.#command({ do: 'addVoter', voter: parseNodeId('voter', voter) }, options)
  }

  /** Only on the leader: takes the vote of a node away. */
  async removeVoter(voter: NodeId, options?: SignalOption): Promise<void> {
    return this.#command({ do: 'removeVoter', voter: parseNodeId('voter', voter) }, options)
  }

  /**
   * Adds a node to the group, given as ID=HOST:PORT. Call it on every node of the group. In majority mode the new node
   * has no vote until the leader gives it one (`addVoter`).
   */
  async addPeer(peer: string, options?: SignalOption): Promise<void> {
    const problem = typeof peer === 'string' ? peerProblem(peer) : 'must be a string of the form ID=HOST:PORT'
    if (problem !== null) throw new InvalidArgumentError('peer', problem)
    const { id, address } = parsePeer(peer)
    return this.#command({ do: 'addPeer', id: present(id, 'the id'), address }, options)
  }

  /** Removes a node from the group. In majority mode its vote must have been taken away before. */
  async removePeer(id: NodeId, options?: SignalOption): Promise<void> {
    if (parseNodeId('id', id) === this.id)
      throw new CommandRefusedError('removePeer', `${this.id} is this node; close it instead`)
    return this.#command({ do: 'removePeer', id }, options)
  }

  /** The current view, then every change of it. A slow reader gets only the newest view. */
  observe(options?: SignalOption): AsyncGenerator<NodeView, void, void> {
    return observeViews(this.#observable(), parseSignal(options))
  }

  /** Ends the current term and leaves the group. Waits for work until `signal` is aborted, so work must not await it. */
  async close(options?: SignalOption): Promise<void> {
    const signal = parseSignal(options)
    this.#closed ??= this.#leave(signal)
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Tells the other nodes about this one, for their status: the URL of its agent's page. No election uses it. */
  announce(announcement: Announcement): void {
    this.#backend?.announce(announcement)
  }

  /** Injects faults into the datagrams that this node receives, for tests. */
  injectFaults(faults: NetworkFaults): void {
    checkFaults(faults)
    this.#backend?.injectFaults(faults)
  }

  // ---- Called by the backend ----

  /** May be called within a step: effects are deferred until after it. */
  #handle(event: Output): void {
    const token = typeof event['token'] === 'number' ? event['token'] : null
    const cause = typeof event['cause'] === 'string' ? event['cause'] : ''
    switch (event.type) {
      case 'elected':
        this.#terms.handleElected(token)
        queueMicrotask(() => this.#elections.notify())
        this.#emitLater('elected', { token, cause })
        break
      case 'demoted':
        this.#endTerm(token, lossFrom(cause, event))
        break
      case 'yield': {
        const { term } = this.#terms
        if (term !== null && term.ended === null)
          queueMicrotask(() => void this.#terms.drain(term, lossFrom(cause)))
        break
      }
      case 'config':
        this.#emitLater('voters', event['sets'] as readonly (readonly NodeId[])[])
        break
      case 'level':
        this.#emitLater('level', levelChangeOf(event))
        break
      case 'view':
        this.#emitLater('view', installedView(event))
        break
      case 'link':
        this.#emitLater('link', { peer: event['peer'] as NodeId, up: event['up'] === true })
        break
      case 'mismatch':
        this.#mismatch(event)
        break
      default:
    }
  }

  #endTerm(token: number | null, loss: Loss): void {
    const exact = this.#terms.handleDemoted(token, loss)
    const { reason, detail } = exact
    const why = causeOf(this.id, exact)
    queueMicrotask(() => this.#backend?.announce({ ended: { token, cause: why } }))
    this.#emitLater('revoked', { token, reason, detail, cause: why })
  }

  #mismatch(event: Output): void {
    const detail = mismatchWarning(event)
    if (this.#warned.has(detail) || this.#warned.size >= MAX_REMEMBERED) return
    this.#warned.add(detail)
    this.#warn('mismatch', detail)
  }

  /** The election cannot go on. */
  #fail(error: Error): void {
    if (this.#failure !== null) return
    this.#failure = error
    if (this.#terms.term !== null) {
      const loss: Loss = { reason: 'failed', detail: error.message, cause: error }
      this.#endTerm(this.#terms.term.token, loss)
    }
    this.#warn('stopped', error.message)
    // The failure has been reported; a second one while closing adds nothing.
    this.close().catch(() => {})
  }

  #handleHealth(isHealthy: boolean, why: string): void {
    if (!isHealthy) this.#warn('unhealthy', `${why}; this node does not lead until it is healthy again`)
    const { term } = this.#terms
    if (!isHealthy && term !== null) void this.#terms.drain(term, 'unhealthy')
    else void this.#terms.updateCandidacy()
  }

  /** The current term or the next one; null when there will be none. */
  #nextTerm(signal: AbortSignal | undefined): Promise<CurrentTerm | null> {
    return nextTerm(this.#observable(), signal, () => {
      const { term } = this.#terms
      return term !== null && term.ended === null && term.remaining() > 0 ? term : null
    })
  }

  // ---- Helpers ----

  /** For waiting inside the library. */
  #observable(): ObservableNode {
    return {
      changes: this.#changes,
      elections: this.#elections,
      view: () => this.view(),
      isClosed: () => this.isClosed,
    }
  }

  #status(): ElectionStatus {
    if (this.#backend === null) throw new NodeClosedError('this node has not started yet')
    return this.#backend.status()
  }

  async #command(command: Command, options: SignalOption | undefined): Promise<void> {
    parseSignal(options)?.throwIfAborted()
    if (this.isClosed || this.#backend === null) throw new NodeClosedError('this node is closed')
    const why = await this.#backend.command(command)
    if (why !== null) throw new CommandRefusedError(command.do, why, fieldIn(why, command))
  }

  #warn(what: string, detail: string): void {
    this.#warnings.add(what, detail)
  }

  /** Listeners run after the step that caused the event, so that nothing they do comes between its effects. */
  #emitLater<E extends keyof NodeEvents>(event: E, ...news: NodeEvents[E]): void {
    queueMicrotask(() => this.emit(event, ...(news as never)))
  }

  #noteView(next: NodeView): void {
    if (this.isClosed) return
    const { leader, role } = this.#lastView
    if (next.role === role && next.leader?.id === leader?.id && next.leader?.token === leader?.token) return
    this.#setView(next)
  }

  #setView(view: NodeView): void {
    this.#lastView = view
    queueMicrotask(() => this.#changes.notify(view))
    this.#emitLater('change', view)
  }

  async #leave(signal: AbortSignal | undefined): Promise<void> {
    this.#health?.stop()
    // Work that does not end in time keeps its lease, which expires: no other node can lead before.
    if (this.#terms.term !== null) await this.#terms.drain(this.#terms.term, 'closed', signal)
    try {
      await this.#backend?.close()
    } finally {
      // Callers that wait in `lead` or `observe` are woken even if the backend could not be closed.
      if (this.#terms.term !== null) this.#endTerm(this.#terms.term.token, { reason: 'closed', detail: null })
      this.#setView(NO_VIEW)
    }
  }
}
