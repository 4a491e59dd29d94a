/**
 * An election backend over a shared store, in the thread of the caller: no datagrams, only registers.
 *
 * The block is claimed before the protocol starts, and again after every write of unknown outcome; until then no other
 * access is made. A node is a member if it has a register: each round lists the registers before it is answered (see
 * open-group.ts of the protocol).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AssertionFailedError,
  type Command,
  type Input,
  type Micros,
  type NodeId,
  type Output,
  type PlainObject,
  type RegisterCall,
} from '../../../core/index.ts'
import type { StoreHosting, StoreInsight } from '../../../protocols/index.ts'
import type { StoreElectionSettings } from '../../config/election-settings.ts'
import {
  activeMembers,
  createRegisterCalls,
  type ReadOutcome,
  type RegisterBlock,
  type Registers,
} from '../../registers/index.ts'
import { type Explanation, type HostClock, Loop, memoryStorage } from '../../runtime/index.ts'
import { StoreFailedError } from '../api/errors.ts'
import type { CoreStatus, ElectionStatus, News, NodeView } from './election.ts'
import { Fencer } from './fencer.ts'
import type { LocalElection, LocalEvents } from './in-thread.ts'
import { LeaseLengths } from './lease-lengths.ts'
import { type Observed, withObserved } from './observed.ts'
import { OutageReport } from './outage-report.ts'
import { StoreBlackBox } from './store-black-box.ts'
import { StoreObserver } from './store-observer.ts'
import { storeStatus } from './store-status.ts'

const NOT_A_CANDIDATE: Command = { do: 'campaign', willing: false, lapse: false }
/** The backoff stops doubling after this many failures. */
const MOST_DOUBLINGS = 5

export type Blocks = (ReadOutcome & { readonly outcome: 'ok' })['blocks']

export class ElectionInStore implements LocalElection {
  /** When each block was last seen to change, on the clock of this process. */
  readonly heard = new Map<NodeId, number>()
  readonly #self: NodeId
  readonly #box: StoreBlackBox
  readonly #observer: StoreObserver
  readonly #hosting: StoreHosting
  readonly #options: PlainObject
  readonly #registers: Registers
  readonly #events: LocalEvents
  readonly #clock: HostClock
  readonly #loop: Loop
  readonly #carryOut: (call: RegisterCall) => void
  readonly #fencer: Fencer
  #blocks: Blocks
  #members: readonly NodeId[]
  #isClaimed = true
  #state: 'running' | 'leaving' | 'failed' | 'closed' = 'running'
  /** While it closes: called after every step. */
  #stepped: (() => void) | null = null
  #hasFailed = false
  readonly #outage: OutageReport
  /** The token of the last reported term. */
  #token: number | null = null
  #isReportScheduled = false
  /** The candidacy that the application asked for, the pause after failed fencing, and how often it failed in a row. */
  #candidacy: Command = NOT_A_CANDIDATE
  #pause: NodeJS.Timeout | null = null
  #fencingFailures = 0
  readonly #leases: LeaseLengths
  /** How often the current removal was refused. */
  #refusals = 0

  constructor(
    settings: StoreElectionSettings,
    hosting: StoreHosting,
    registers: Registers,
    blocks: Blocks,
    events: LocalEvents,
    clock: HostClock,
  ) {
    const { id, group, options, fencing } = settings
    this.#self = id
    this.#hosting = hosting
    this.#options = options
    this.#registers = registers
    this.#events = events
    this.#clock = clock
    this.#blocks = blocks
    this.#members = activeMembers(blocks)
    this.#outage = new OutageReport(group, events)
    this.#leases = new LeaseLengths(id, hosting.timing(options).lease / 1000, events)
    this.#fencer = new Fencer(id, fencing, {
      confirmed: (token, targets) => {
        this.#fencingFailures = 0
        for (const of of targets) this.#loop.command({ do: 'fenced', of, token })
      },
      failed: (why) => {
        events.warn('fencing', `${why}; some nodes are not fenced, so this node does not lead`)
        this.#loop.command({ do: 'stepDown' })
        this.#pauseCandidacy()
      },
    })
    // The other nodes are added by a command, so that every recording begins alike.
    const protocol = hosting.create(id, options)
    this.#box = new StoreBlackBox(settings, hosting, protocol, clock, () => this.#members)
    this.#observer = new StoreObserver(settings, hosting, {
      now: () => clock.now(),
      warn: (what, detail) => events.warn(what, detail),
      noted: (late, slow) => events.noted?.(late, slow),
    })
    this.#loop = new Loop(protocol, clock, memoryStorage(), {
      send: () => {},
      output: (event) => this.#handle(event),
      register: (call) => this.#call(call),
      storageFailed: (error) => events.warn('storage', error.message),
      failed: (error) => this.#fail(error),
      late: (by, now) => this.#observer.noteLateness(by, now),
      record: (record, before) => {
        this.#box.record(record, before)
        events.stepped?.()
        this.#stepped?.()
        this.#scheduleReport()
      },
    })
    this.#carryOut = createRegisterCalls(registers, {
      deliver: (input) => this.#answer(input),
      onFailure: (error) => this.#fail(error),
      onUnknown: (why) => this.#outage.add(why),
      onRefused: (of, why) => this.#reportRefusal(of, why),
      onMembers: (ids) => this.#regroup(ids),
      onBlocks: (all) => this.#handleBlocks(all),
    })
    this.#loop.start()
    this.#loop.command({ do: 'members', nodes: this.#members })
    // A node does not become a candidate until `lead` is called.
    this.#loop.command(NOT_A_CANDIDATE)
    // Nodes in a store exchange no messages, so fencing applies to all other nodes.
    if (this.#fencer.isNeeded) this.#loop.command({ do: 'view', members: [id] })
  }

  view(): NodeView {
    return this.coreStatus().view
  }

  get renewedAt(): Micros | null {
    return this.#observer.renewedAt
  }

  status(): ElectionStatus {
    return withObserved(this.coreStatus(), this.observed())
  }

  observed(): Observed {
    return this.#observer.observed(this.#members)
  }

  explain(): Explanation | null {
    return this.#observer.explainNow()
  }

  announce({ page, ended }: News): void {
    if (page !== undefined) this.#observer.page = page
    if (ended !== undefined) this.#observer.noteEnd(ended)
  }

  lease() {
    const { role, until, token } = this.#loop.view()
    const now = this.#loop.now()
    const ends = role === 'leader' && this.#state === 'running' ? until : null
    this.#observer.noteLease(ends, now)
    return { until: ends, now, token, reason: null }
  }

  coreStatus(): CoreStatus {
    return storeStatus({
      self: this.#self,
      view: this.#loop.view(),
      insight: this.#insight(),
      now: this.#loop.now(),
      members: this.#members,
      isRunning: this.#state === 'running',
      isClaimed: this.#isClaimed,
      heardAt: (id) => this.heard.get(id) ?? null,
      isHeld: (id) => (this.#blocks.get(id)?.holder ?? null) !== null,
    })
  }

  async command(command: Command): Promise<string | null> {
    if (this.#state !== 'running') return 'this node is closed'
    switch (command.do) {
      case 'campaign':
        this.#candidacy = command
        if (this.#pause === null || command['willing'] !== true) this.#loop.command(command)
        return null
      case 'removeVoter':
        return this.#remove(command['voter'] as NodeId)
      case 'addVoter':
      case 'addPeer':
        return 'in a store a node is added by starting it on the same store'
      case 'removePeer':
        return 'in a store a node is removed with removeVoter, once its process is gone for good'
      default:
        return `the protocol ${this.#hosting.name} has no such order`
    }
  }

  async handOverProblem(): Promise<string> {
    return 'in a store the next leader cannot be chosen'
  }

  async stepDown(token: number | null): Promise<void> {
    const view = this.#loop.view()
    if (view.role === 'leader' && view.token === token) this.#loop.command({ do: 'stepDown' })
  }

  /** A store has no network links to harm. */
  injectFaults(): void {}

  trace(): AsyncGenerator<string, void, void> {
    return this.#box.text()
  }

  /** The trace that replays to the failed assertion, as a file. */
  #leaveBlackBox(): void {
    const file = this.#box.write()
    if (file !== null)
      this.#events.warn('black box', `the last steps are in ${file}: conclave replay ${file}`)
  }

  async close(): Promise<void> {
    if (this.#state === 'closed' || this.#state === 'leaving') return
    const wasRunning = this.#state === 'running'
    this.#state = 'leaving'
    if (wasRunning) await this.#released()
    this.#state = 'closed'
    if (wasRunning) await this.#end()
  }

  /**
   * Waits until a term that ended during a write is released in the register: otherwise the other nodes would wait for
   * the whole lease. Every access has a time limit, so this ends.
   */
  async #released(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#stepped = () => {
        const { isReleasing } = this.#hosting.insight(this.#loop.state, this.#options)
        if (!isReleasing || this.#hasFailed) resolve()
      }
      this.#stepped()
    })
    this.#stepped = null
  }

  #remove(of: NodeId): string | null {
    if (of === this.#self) return 'a node cannot remove itself; close it, and ask another node'
    if (!this.#members.includes(of)) return `${of} has no register; the group has ${this.#members.join(', ')}`
    if (of === this.#loop.view().leader && this.view().leader !== null)
      return `${of} leads; remove it when its process is gone for good`
    const { removing } = this.#insight()
    if (removing !== null && removing !== of) return `${removing} is being removed: try again when it is`
    if (removing === null) this.#refusals = 0
    this.#loop.command({ do: 'remove', of })
    return null
  }

  /**
   * Warns once per removal, at the second refusal: the first may be another node that removes the same one. The removal
   * goes on until it is done.
   */
  #reportRefusal(of: NodeId, why: string): void {
    this.#refusals += 1
    if (this.#refusals !== 2) return
    this.#events.warn('removal', `${of} is not removed yet: ${why}; this node keeps trying`)
  }

  /** Fencing failed: other nodes may try, and this node tries again with exponential backoff. */
  #pauseCandidacy(): void {
    const { lease } = this.#hosting.timing(this.#options)
    const pauseMs = (lease / 1000) * 2 ** Math.min(this.#fencingFailures, MOST_DOUBLINGS)
    this.#fencingFailures += 1
    this.#loop.command(NOT_A_CANDIDATE)
    clearTimeout(this.#pause ?? undefined)
    this.#pause = setTimeout(() => {
      this.#pause = null
      if (this.#state === 'running') this.#loop.command(this.#candidacy)
    }, pauseMs)
    this.#pause.unref()
  }

  /** The reason in the terms that applications know. */
  #causeOf(cause: string): string {
    return this.#hosting.causes[cause] ?? cause
  }

  #insight(): StoreInsight {
    return this.#loop.inspect((state) => this.#hosting.insight(state, this.#options))
  }

  // ---- Called by the protocol ----

  #handle(event: Output): void {
    switch (event.type) {
      case 'elected':
        this.#token = event['token'] as number
        this.#events.output(this.#observer.explain(event))
        break
      case 'demoted':
        this.#events.output(
          this.#observer.explain({
            ...event,
            token: this.#token,
            cause: this.#causeOf(event['cause'] as string),
          }),
        )
        break
      case 'fence': {
        const { token, targets } = event as Output & { token: number; targets: readonly NodeId[] }
        queueMicrotask(() => void this.#fencer.fence(token, targets))
        break
      }
      case 'alarm': {
        const error = new StoreFailedError(event['why'] as string)
        queueMicrotask(() => this.#fail(error))
        break
      }
      case 'removed':
        this.#events.warn('removed', `${event['node'] as NodeId} was removed from the group for good`)
        break
      default:
        this.#events.output(event)
    }
  }

  /** Once for all steps of a turn. */
  #scheduleReport(): void {
    if (this.#isReportScheduled) return
    this.#isReportScheduled = true
    queueMicrotask(() => {
      this.#isReportScheduled = false
      if (this.#state !== 'running') return
      this.lease()
      if (this.#fencer.isNeeded) this.#fencer.stop(this.#insight().fencing)
      this.#events.changed(this.view())
    })
  }

  // ---- The store ----

  #call(call: RegisterCall): void {
    if (this.#isClaimed) {
      this.#observer.noteCall(call)
      this.#carryOut(call)
      return
    }
    const unknown: Input = { type: 'register', call, outcome: 'unknown', value: null }
    setImmediate(() => this.#answer(unknown))
  }

  #answer(input: Input): void {
    if (input.type !== 'register' || (this.#state !== 'running' && this.#state !== 'leaving')) return
    if (input.call.op === 'write' && input.outcome === 'unknown' && this.#isClaimed) {
      this.#isClaimed = false
      void this.#claimAgain()
    }
    this.#observer.noteAnswer(input.call)
    this.#loop.answer(input)
  }

  /** The outcome of the last write is known once the block is claimed again. */
  async #claimAgain(): Promise<void> {
    while (this.#state === 'running') {
      // oxlint-disable-next-line no-await-in-loop -- until the store answers
      const claim = await this.#registers.claim()
      if (claim.outcome === 'ok') {
        this.#isClaimed = true
        return
      }
      if (claim.outcome === 'failed') {
        this.#fail(claim.error)
        return
      }
      this.#outage.add(claim.why)
      // Jitter: nodes that lost the same store do not retry in step.
      // oxlint-disable-next-line no-await-in-loop -- until the store answers
      await sleep((this.#hosting.timing(this.#options).access / 1000) * (0.5 + Math.random() / 2))
    }
  }

  #regroup(ids: readonly NodeId[]): boolean {
    const isSame = ids.length === this.#members.length && ids.every((id) => this.#members.includes(id))
    if (isSame || this.#state !== 'running') return false
    this.#members = ids
    this.#loop.command({ do: 'members', nodes: ids })
    return true
  }

  #handleBlocks(blocks: Blocks): void {
    this.#outage.end()
    const now = this.#clock.now()
    for (const [id, block] of blocks) {
      if (isNewer(block, this.#blocks.get(id))) this.heard.set(id, now)
      this.#leases.compare(id, block)
    }
    this.#blocks = blocks
  }

  #fail(error: Error): void {
    this.#hasFailed = true
    // Closing need not wait for the release.
    this.#stepped?.()
    if (this.#state !== 'running') return
    this.#state = 'failed'
    // The term ends first, then the node.
    const { role, token } = this.#loop.view()
    if (role === 'leader') this.#events.output({ type: 'demoted', token, cause: 'failed' })
    if (error instanceof AssertionFailedError) this.#leaveBlackBox()
    this.#events.failed(error)
    void this.#end()
  }

  async #end(): Promise<void> {
    this.#fencer.stop(null)
    clearTimeout(this.#pause ?? undefined)
    this.#loop.stop()
    this.#observer.close()
    await this.#registers.close()
    this.#clock.close()
  }
}

function isNewer({ sequence }: RegisterBlock, before: RegisterBlock | undefined): boolean {
  return before === undefined || sequence > before.sequence
}
