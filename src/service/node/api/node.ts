/**
 * A process's place in a group: lead it when it is one's turn, watch who leads.
 *
 * The election runs by itself from the moment of joining, in a seat. Leadership and work are kept apart: `lead` calls
 * the application once for each term, one term at a time, and gives the lead back only when that call has ended. Work
 * that does not end keeps its lease for a while, and then the lease lapses; nobody is let in early. A node on which
 * nobody calls `lead` votes and watches, but is never elected.
 */
import { EventEmitter } from 'node:events'
import { type Command, type NodeId, type Output, present } from '../../../core/index.ts'
import { parsePeer, peerProblem } from '../../config/address.ts'
import type { WorkSettings } from '../../config/join-options.ts'
import type { NetworkFaults } from '../../runtime/index.ts'
import {
  type ElectionBackend,
  type ElectionEvents,
  type ElectionStatus,
  NO_VIEW,
  type NodeStatus,
  type NodeView,
} from '../election/election.ts'
import type { LeaseTiming } from '../election/lease-timing.ts'
import type { Timers } from '../election/timers.ts'
import {
  checkFaults,
  checkFunction,
  parseFlag,
  parseNodeId,
  parseSignal,
  type SignalOption,
} from './arguments.ts'
import { AlreadyLeadingError, CommandRefusedError, InvalidArgumentError, NodeClosedError } from './errors.ts'
import { HealthGate } from './health.ts'
import { Notifier, termOf, viewsOf, type Watched } from './notifier.ts'
import {
  type GroupStatus,
  type IneligibleReason,
  installedView,
  type Mode,
  type NodeEvents,
} from './status.ts'
import type { CurrentTerm, Term } from './term.ts'
import { TermManager } from './term-manager.ts'

export type { SignalOption } from './arguments.ts'

export type LeadOptions = SignalOption & {
  /** One term is enough. */
  readonly once?: boolean
}

export type NodeSettings = {
  readonly group: string
  readonly id: NodeId
  readonly mode: Mode
  readonly lease: LeaseTiming
  readonly work: WorkSettings
  readonly timers: Timers
  /** Null for nodes that may lead. */
  readonly role: 'observer' | 'witness' | null
}

/** Mismatches that have been said are not said again; so many are remembered. */
const MOST_SAID = 1000

/** As the protocol has it, either way. */
const MOST_PRIORITY = 1_000_000

export class ConclaveNode extends EventEmitter<NodeEvents> implements AsyncDisposable {
  readonly group: string
  readonly id: NodeId
  readonly mode: Mode
  /** How long a lease lasts by its constants, and how soon it is renewed. */
  readonly lease: LeaseTiming
  readonly #role: NodeSettings['role']
  readonly #health: HealthGate | null
  readonly #reign: TermManager
  #seat: ElectionBackend | null = null
  #seen: NodeView = NO_VIEW
  #closed: Promise<void> | null = null
  #failure: Error | null = null
  readonly #said = new Set<string>()
  readonly #changes = new Notifier<NodeView>()
  readonly #elections = new Notifier<void>()

  private constructor({ group, id, mode, lease, work, timers, role }: NodeSettings) {
    super()
    this.group = group
    this.id = id
    this.mode = mode
    this.lease = lease
    this.#role = role
    this.#reign = new TermManager({
      timers,
      drainMs: work.drainMs,
      seat: () => this.#seat,
      isFit: () => role === null && !this.isClosed && this.#health?.isHealthy !== false,
      overdue: () =>
        this.#warn(
          'draining',
          'the work has not ended though its term has: the lease is not renewed any more',
        ),
    })
    const { healthy, healthIntervalMs, healthTimeoutMs } = work
    this.#health =
      healthy === null
        ? null
        : new HealthGate(
            { check: healthy, intervalMs: healthIntervalMs, timeoutMs: healthTimeoutMs },
            timers,
            (isHealthy, why) => this.#onHealth(isHealthy, why),
          )
  }

  /** For `join`, and for whoever brings a seat of another kind. */
  static async open(
    about: NodeSettings,
    open: (hooks: ElectionEvents) => Promise<ElectionBackend>,
  ): Promise<ConclaveNode> {
    const member = new ConclaveNode(about)
    member.#seat = await open({
      output: (event) => member.#heed(event),
      changed: (view) => member.#look(view),
      warn: (what, detail) => member.#warn(what, detail),
      failed: (error) => member.#fail(error),
    })
    member.#health?.start()
    return member
  }

  get isClosed(): boolean {
    return this.#closed !== null
  }

  /** Null when this process stands for election when it is its turn; otherwise why not. */
  get ineligibleReason(): IneligibleReason | null {
    if (this.isClosed) return 'closed'
    if (this.#role !== null) return this.#role
    if (!this.#reign.isWanted) return 'nobody leads here'
    if (this.#reign.isOverdue) return 'work has not ended'
    return this.#health?.isHealthy === false ? 'unhealthy' : null
  }

  /** Who leads, as this process sees it at this moment. */
  view(): NodeView {
    return this.#seat?.view() ?? NO_VIEW
  }

  /** All of the group, and whether they are heard. */
  members(): readonly NodeStatus[] {
    return this.status().nodes
  }

  /** All that an operator wants to know. */
  status(): GroupStatus {
    const standing = this.#standing()
    const { view, leadUntil, now, voters, nodes, evidenceFor, isSilent, membership, primary } = standing
    return {
      ...view,
      mode: this.mode,
      leaseMs: leadUntil === null || view.leader === null ? null : Math.max(0, (leadUntil - now) / 1000),
      voters,
      nodes: this.isClosed
        ? nodes.map((node) => (node.id === this.id ? { ...node, reachable: false } : node))
        : nodes,
      evidenceForMs: evidenceFor === null ? null : evidenceFor / 1000,
      idle: this.isClosed ? 'closed' : isSilent ? 'silent after a restart' : null,
      membership: this.isClosed ? null : membership,
      primary: this.isClosed ? null : primary,
      datagrams: standing.datagrams,
    }
  }

  /** The last steps of this node as a trace for `conclave replay`, in pieces of text; none when it has ended. */
  async *trace(): AsyncGenerator<string, void, void> {
    if (this.#seat !== null && !this.isClosed) yield* this.#seat.trace()
  }

  /**
   * Calls `work` in every term of this process, one after the other, until the signal or the node ends it. When `work`
   * returns while the term lasts, the lead is handed over. When it throws, the lead is handed over and this throws too.
   * The signal ends a term that is under way: its own signal is aborted, and this returns when the work has ended.
   */
  async lead(work: (term: Term) => void | Promise<void>, options?: LeadOptions): Promise<void> {
    checkFunction('work', work)
    const signal = parseSignal(options)
    const once = parseFlag(options, 'once')
    if (this.#reign.isWanted) throw new AlreadyLeadingError()
    if (this.#failure !== null) throw this.#failure
    if (this.isClosed || signal?.aborted === true) return
    const onAbort = (): void => {
      const { working } = this.#reign
      if (working !== null) void this.#reign.drain(working, 'stopped')
    }
    signal?.addEventListener('abort', onAbort)
    try {
      await this.#reign.setWanted(true)
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one term after the other
        const term = await this.#nextTerm(signal)
        if (term === null) break
        // oxlint-disable-next-line no-await-in-loop -- one term after the other
        await this.#reign.runWork(term, work)
        if (once) break
      }
    } finally {
      signal?.removeEventListener('abort', onAbort)
      await this.#reign.setWanted(false)
    }
    if (this.#failure !== null) throw this.#failure
  }

  /**
   * Hands the lead over, if this process has it: the term's signal is aborted, its work ends, and only then may another
   * begin. The lease is renewed meanwhile, until `signal` is aborted or `drainMs` are over; then it lapses. Says whether
   * the lead was handed over, or there was none.
   */
  async stepDown(options?: SignalOption): Promise<boolean> {
    const signal = parseSignal(options)
    const { term } = this.#reign
    return term === null ? true : this.#reign.drain(term, 'stepped down', signal)
  }

  /** Higher is preferred. */
  async setPriority(priority: number, options?: SignalOption): Promise<void> {
    if (!Number.isInteger(priority) || Math.abs(priority) > MOST_PRIORITY)
      throw new CommandRefusedError(
        'setPriority',
        `${String(priority)} is not a whole number from -${MOST_PRIORITY} to ${MOST_PRIORITY}`,
      )
    return this.#order({ do: 'setPriority', priority }, options)
  }

  /** To the leader: from now on this process votes, too. `status().voters` and the event `voters` show when it does. */
  async addVoter(voter: NodeId, options?: SignalOption): Promise<void> {
    return this.#order({ do: 'addVoter', voter: parseNodeId('voter', voter) }, options)
  }

  /** To the leader: this process no longer votes. */
  async removeVoter(voter: NodeId, options?: SignalOption): Promise<void> {
    return this.#order({ do: 'removeVoter', voter: parseNodeId('voter', voter) }, options)
  }

  /**
   * One more process may speak in the group, given as ID=HOST:PORT; every process of the group must be told so. In
   * majority mode it has no vote until the leader gives it one (addVoter).
   */
  async addPeer(peer: string, options?: SignalOption): Promise<void> {
    const problem = typeof peer === 'string' ? peerProblem(peer) : 'must be a string of the form ID=HOST:PORT'
    if (problem !== null) throw new InvalidArgumentError('peer', problem)
    const { id, address } = parsePeer(peer)
    return this.#order({ do: 'addPeer', id: present(id, 'the id'), address }, options)
  }

  /** A process no longer speaks in the group. In majority mode its vote must have been taken away before. */
  async removePeer(id: NodeId, options?: SignalOption): Promise<void> {
    if (parseNodeId('id', id) === this.id)
      throw new CommandRefusedError('removePeer', `${this.id} is this node itself: close it instead`)
    return this.#order({ do: 'removePeer', id }, options)
  }

  /** Every change of who leads, beginning with how it is. */
  observe(options?: SignalOption): AsyncGenerator<NodeView, void, void> {
    return viewsOf(this.#watched(), parseSignal(options))
  }

  /** Hands over if it leads, and leaves. Work that has not ended when `signal` is aborted is not waited for. */
  async close(options?: SignalOption): Promise<void> {
    const signal = parseSignal(options)
    this.#closed ??= this.#leave(signal)
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Spoils what this process hears of its peers, for trying a group out: only code in this process can ask for it. */
  injectFaults(faults: NetworkFaults): void {
    checkFaults(faults)
    this.#seat?.injectFaults(faults)
  }

  // ---- What the seat says ----

  /** May come in the middle of a step: whatever follows from it happens after that. */
  #heed(event: Output): void {
    const token = typeof event['token'] === 'number' ? event['token'] : null
    const cause = typeof event['cause'] === 'string' ? event['cause'] : ''
    switch (event.type) {
      case 'elected':
        this.#reign.handleElected(token)
        queueMicrotask(() => this.#elections.notify())
        this.#tell('elected', { token, cause })
        break
      case 'demoted':
        this.#demoted(token, cause)
        break
      case 'yield': {
        const { term } = this.#reign
        if (term !== null && term.ended === null) queueMicrotask(() => void this.#reign.drain(term, cause))
        break
      }
      case 'config':
        this.#tell('voters', event['sets'] as readonly (readonly NodeId[])[])
        break
      case 'view':
        this.#tell('view', installedView(event))
        break
      case 'link':
        this.#tell('link', { peer: event['peer'] as NodeId, up: event['up'] === true })
        break
      case 'mismatch':
        this.#mismatch(event)
        break
      default:
    }
  }

  #demoted(token: number | null, cause: string): void {
    this.#tell('revoked', { token, reason: this.#reign.handleDemoted(token, cause) })
  }

  #mismatch({ peer, field, ours, theirs }: Output): void {
    const detail =
      `${JSON.stringify(peer)} is configured differently: ${JSON.stringify(field)} is ` +
      `${JSON.stringify(theirs)} there and ${JSON.stringify(ours)} here`
    if (this.#said.has(detail) || this.#said.size >= MOST_SAID) return
    this.#said.add(detail)
    this.#warn('mismatch', detail)
  }

  /** The node cannot go on. */
  #fail(error: Error): void {
    if (this.#failure !== null) return
    this.#failure = error
    if (this.#reign.term !== null) this.#demoted(this.#reign.term.token, 'failed')
    this.#warn('stopped', error.message)
    // What keeps it from closing cleanly is no news any more.
    this.close().catch(() => {})
  }

  #onHealth(isHealthy: boolean, why: string): void {
    if (!isHealthy) this.#warn('unhealthy', `${why}: this process does not lead until it is well again`)
    const { term } = this.#reign
    if (!isHealthy && term !== null) void this.#reign.drain(term, 'unhealthy')
    else void this.#reign.updateCandidacy()
  }

  /** The term that is under way or comes next; null when there will be none. */
  #nextTerm(signal: AbortSignal | undefined): Promise<CurrentTerm | null> {
    return termOf(this.#watched(), signal, () => {
      const { term } = this.#reign
      return term !== null && term.ended === null && term.remaining() > 0 ? term : null
    })
  }

  // ---- The rest ----

  /** For the library's own waiting. */
  #watched(): Watched {
    return {
      changes: this.#changes,
      elections: this.#elections,
      view: () => this.view(),
      isClosed: () => this.isClosed,
    }
  }

  #standing(): ElectionStatus {
    if (this.#seat === null) throw new NodeClosedError('this node has not begun yet')
    return this.#seat.status()
  }

  async #order(command: Command, options: SignalOption | undefined): Promise<void> {
    parseSignal(options)?.throwIfAborted()
    if (this.isClosed || this.#seat === null) throw new NodeClosedError('this node has ended')
    const why = await this.#seat.command(command)
    if (why !== null) throw new CommandRefusedError(command.do, why)
  }

  #warn(what: string, detail: string): void {
    this.#tell('warning', { what, detail })
  }

  /** Listeners have their turn after the step that they hear of: nothing that they do can come between its effects. */
  #tell<E extends keyof NodeEvents>(event: E, ...news: NodeEvents[E]): void {
    queueMicrotask(() => this.emit(event, ...(news as never)))
  }

  #look(next: NodeView): void {
    if (this.isClosed) return
    const { leader, role } = this.#seen
    if (next.role === role && next.leader?.id === leader?.id && next.leader?.token === leader?.token) return
    this.#show(next)
  }

  #show(view: NodeView): void {
    this.#seen = view
    queueMicrotask(() => this.#changes.notify(view))
    this.#tell('change', view)
  }

  async #leave(signal: AbortSignal | undefined): Promise<void> {
    this.#health?.stop()
    // Work that does not end in time keeps its lease: that lapses by itself, and nobody is let in early.
    if (this.#reign.term !== null) await this.#reign.drain(this.#reign.term, 'closed', signal)
    try {
      await this.#seat?.close()
    } finally {
      // Whoever waits in `lead` or `observe` hears of it, even if something of the seat could not be closed.
      if (this.#reign.term !== null) this.#demoted(this.#reign.term.token, 'closed')
      this.#show(NO_VIEW)
    }
  }
}
