/**
 * An election in a thread of its own, seen from the application's thread: that one may be busy for a while without
 * anything being late.
 *
 * What must be right at any moment is read from shared memory and the clock: the lease, and by whom it is held. What
 * only tells how things stand comes as messages; whoever asks is answered after those that have arrived were read.
 */
import { MessageChannel } from 'node:worker_threads'
import type { Command, Micros, Output } from '../../../core/index.ts'
import type { NetworkElectionSettings, StoreElectionSettings } from '../../config/election-settings.ts'
import { type HostClock, monotonicNow, type NetworkFaults, openHostClock } from '../../runtime/index.ts'
import { WorkerLostError } from '../api/errors.ts'
import {
  type ElectionBackend,
  type ElectionEvents,
  type ElectionStatus,
  type Lease,
  NO_VIEW,
  type NodeView,
  nodeStatusOf,
} from './election.ts'
import { type SharedLeaseState, SharedState } from './shared-lease.ts'
import { progressEveryMs } from './stall-watch.ts'
import { SleepCheck, wallAheadAtMost } from './suspend-check.ts'
import { WorkerChannel, type WorkerNotification } from './worker-channel.ts'
import { deserializeError, type StatusSnapshot } from './worker-requests.ts'
import { threadScript } from './worker-script.ts'
import { ElectionThread } from './worker-thread.ts'

/** How long the election may take to end before its thread is no longer asked. */
const LONGEST_FAREWELL_MS = 2000

/** How long it may take to begin: a store that cannot be reached is tried for ten seconds, a name may take as long. */
const LONGEST_OPENING_MS = 60_000

/** Room in shared memory for so many nodes at least: more of them may come. */
const LEAST_ROOM = 64

const NOTHING_HELD: SharedLeaseState = { lease: null, reason: null }

export async function openElectionInWorker(
  settings: NetworkElectionSettings | StoreElectionSettings,
  maxStallMs: number,
  hooks: ElectionEvents,
): Promise<ElectionBackend> {
  // Where there is no thread to be had, nothing is begun.
  threadScript()
  const seat = new ElectionInWorker(settings, maxStallMs, hooks)
  await seat.begun
  return seat
}

class ElectionInWorker implements ElectionBackend {
  /** Kept when the election runs, broken by what kept it from running. */
  readonly begun: Promise<void>
  readonly #settings: NetworkElectionSettings | StoreElectionSettings
  readonly #hooks: ElectionEvents
  readonly #shared: SharedState
  readonly #thread: ElectionThread
  readonly #onLost = (error: Error): void => this.#lost(error)
  readonly #line: WorkerChannel
  readonly #clock: HostClock = openHostClock()
  /** Only Linux has a clock that notices sleeps. */
  readonly #sleep = new SleepCheck(process.platform === 'linux' ? this.#clock : null)
  readonly #progress: NodeJS.Timeout
  #settle: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null
  #shown: StatusSnapshot
  /** The term of which the member was told last, while it lasts. */
  #told: { readonly token: number | null } | null = null
  #deadline: NodeJS.Timeout | null = null
  #closed: Promise<void> | null = null
  /** Kept when nothing is left of an election that ended by itself. */
  #left: Promise<void> | null = null
  #state: 'running' | 'closing' | 'ended' = 'running'

  constructor(
    settings: NetworkElectionSettings | StoreElectionSettings,
    maxStallMs: number,
    hooks: ElectionEvents,
  ) {
    this.#settings = settings
    this.#hooks = hooks
    this.#shown = {
      view: NO_VIEW,
      voters: [],
      nodes: settings.nodes,
      reachable: [],
      evidenceFor: null,
      isSilent: false,
      membership: null,
      primary: null,
    }
    this.#shared = SharedState.for(Math.max(LEAST_ROOM, 2 * settings.nodes.length))
    this.#shared.progress = monotonicNow()
    this.#progress = setInterval(() => {
      this.#shared.progress = monotonicNow()
    }, progressEveryMs(maxStallMs))
    this.#progress.unref()
    const late = setTimeout(
      () =>
        this.#lost(new WorkerLostError(`the election did not begin within ${LONGEST_OPENING_MS} ms`), true),
      LONGEST_OPENING_MS,
    )
    this.begun = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
    }).finally(() => clearTimeout(late))
    const { port1, port2 } = new MessageChannel()
    this.#thread = ElectionThread.at('listen' in settings ? settings.listen : null, this.#onLost)
    this.#thread.open({ settings, shared: this.#shared.buffer, maxStallMs, port: port2 })
    this.#line = new WorkerChannel(port1, (news) => this.#heed(news))
  }

  view(): NodeView {
    this.#line.catchUp()
    return this.#viewAt(monotonicNow())
  }

  status(): ElectionStatus {
    this.#line.catchUp()
    const now = monotonicNow()
    const { id: self } = this.#settings
    const { leadUntil, membersUntil, datagrams } = this.#shared
    const { voters, nodes, reachable: there, evidenceFor, isSilent, membership, primary } = this.#shown
    const view = this.#viewAt(now)
    // Of its own lead this process knows the present lease; the other number is shown only now and then.
    const ends = view.role === 'leader' ? this.lease().until : leadUntil
    return {
      view,
      leadUntil: view.leader === null ? null : ends,
      membersUntil,
      now,
      voters,
      nodes: nodes.map((id, place) => {
        if (id === self) return { id, reachable: this.#state === 'running', evidenceMsAgo: 0, heardMsAgo: 0 }
        return nodeStatusOf(id, {
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
  }

  lease(): Lease {
    const now = monotonicNow()
    const { lease, reason } = this.#state === 'running' ? this.#shared.standing() : NOTHING_HELD
    if (lease === null) {
      // The news of its end may have arrived, and says more.
      if (this.#told !== null) this.#line.catchUp()
      return { until: null, now, token: null, reason }
    }
    if (this.#sleep.hasSlept(lease.wallAhead, wallAheadAtMost(now)))
      return { until: null, now, token: null, reason: 'suspended' }
    return { until: lease.until, now, token: lease.token, reason }
  }

  command(command: Command): Promise<string | null> {
    return this.#line.ask({ ask: 'command', command })
  }

  async stepDown(token: number | null): Promise<void> {
    await this.#line.ask({ ask: 'stepDown', token })
  }

  injectFaults(faults: NetworkFaults): void {
    void this.#line.ask({ ask: 'injectFaults', faults })
  }

  trace(): AsyncGenerator<string, void, void> {
    return this.#line.trace()
  }

  close(): Promise<void> {
    this.#closed ??= this.#leave()
    return this.#closed
  }

  async #leave(): Promise<void> {
    if (this.#state === 'running') {
      const answered = this.#line.askLast({ ask: 'close' })
      this.#state = 'closing'
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<string>((resolve) => {
        timer = setTimeout(() => resolve('late'), LONGEST_FAREWELL_MS)
      })
      const isHung = (await Promise.race([answered, late])) === 'late'
      clearTimeout(timer)
      this.#end()
      await this.#thread.leave(this.#onLost, isHung)
    }
    await this.#left
  }

  /** What the thread said last, as far as it still holds. */
  #viewAt(now: Micros): NodeView {
    const { view } = this.#shown
    if (this.#state !== 'running') return NO_VIEW
    const { leadUntil, membersUntil } = this.#shared
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

  #heed(news: WorkerNotification): void {
    switch (news.news) {
      case 'begun':
        this.#settle?.resolve()
        this.#settle = null
        break
      case 'refused':
        this.#refused(deserializeError(news.error))
        break
      case 'turn':
        // Whoever hears of it finds it so.
        if (news.shown !== null) this.#shown = news.shown
        for (const event of news.events) this.#tell(event)
        this.#hooks.changed(this.#shown.view)
        break
      case 'warning':
        this.#hooks.warn(news.what, news.detail)
        break
      case 'failed':
        this.#lost(deserializeError(news.error))
        break
      default:
        news satisfies never
    }
  }

  #tell(event: Output): void {
    if (event.type === 'elected') {
      this.#told = { token: (event['token'] as number | null | undefined) ?? null }
      this.#hooks.output(event)
      this.#watchDeadline()
    } else if (event.type === 'demoted') this.#demoted(event)
    else this.#hooks.output(event)
  }

  #demoted(event: Output): void {
    // It may have been seen on the clock before it was said.
    if (this.#told === null) return
    this.#told = null
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#hooks.output(event)
  }

  /** A term ends by the clock of this thread, too, whatever keeps the other from saying so. */
  #watchDeadline(): void {
    if (this.#told === null) return
    const { until, now } = this.lease()
    if (until !== null && now < until) {
      this.#deadline = setTimeout(() => this.#watchDeadline(), Math.ceil((until - now) / 1000) + 1)
      this.#deadline.unref()
      return
    }
    this.#line.catchUp()
    if (this.#told !== null) {
      const cause = this.lease().reason ?? 'expired'
      this.#demoted({ type: 'demoted', token: this.#told.token, cause })
    }
  }

  /** It never ran. */
  #refused(error: Error): void {
    this.#end()
    this.#left = this.#thread.leave(this.#onLost)
    const settle = this.#settle
    this.#settle = null
    // Whoever tries again finds the address free.
    void this.#left.then(() => settle?.reject(error))
  }

  /** It ran, and does not any more. */
  #lost(error: Error, isHung = false): void {
    if (this.#state === 'ended') return
    const wasClosing = this.#state === 'closing'
    this.#end()
    this.#left = this.#thread.leave(this.#onLost, isHung)
    if (this.#settle !== null) this.#settle.reject(error)
    else if (!wasClosing) this.#hooks.failed(error)
    this.#settle = null
  }

  #end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    clearInterval(this.#progress)
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    this.#line.end()
    this.#clock.close()
  }
}
