/**
 * An election backend over a shared store, in the thread of the caller: no datagrams, only registers.
 *
 * The block is claimed before the protocol starts, and again after every write of unknown outcome; until then no other
 * access is made. A node is a member if it has a register: each round lists the registers before it is answered (see
 * open-group.ts of the protocol).
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AssertionFailedError,
  type Command,
  type Input,
  type NodeId,
  type Output,
  type PlainObject,
  type RegisterCall,
} from '../../../core/index.ts'
import type { StoreHosting, StoreInsight } from '../../../protocols/index.ts'
import type { TraceHeader } from '../../../workbench/trace/index.ts'
import type { StoreElectionSettings } from '../../config/election-settings.ts'
import {
  activeMembers,
  createRegisterCalls,
  type ReadOutcome,
  type RegisterBlock,
  type Registers,
} from '../../registers/index.ts'
import {
  BlackBox,
  clockName,
  type HostClock,
  Loop,
  memoryStorage,
  NOTHING_MEASURED,
  writeBlackBox,
} from '../../runtime/index.ts'
import { StoreFailedError } from '../api/errors.ts'
import {
  type ElectionEvents,
  type ElectionStatus,
  type NodeView,
  nodeStatusOf,
  ownStatus,
} from './election.ts'
import { Fencer } from './fencer.ts'
import type { LocalElection } from './in-thread.ts'

const NOT_A_CANDIDATE: Command = { do: 'campaign', willing: false, lapse: false }
/** The backoff stops doubling after this many failures. */
const MOST_DOUBLINGS = 5
const NO_DATAGRAMS = { sent: 0, received: 0, dropped: 0 }

export type Blocks = (ReadOutcome & { readonly outcome: 'ok' })['blocks']

export class ElectionInStore implements LocalElection {
  /** When each block was last seen to change, on the clock of this process. */
  readonly heard = new Map<NodeId, number>()
  readonly #self: NodeId
  readonly #group: string
  /** Names this run of the process. */
  readonly #run = randomBytes(6).toString('hex')
  readonly #box: BlackBox | null
  readonly #hosting: StoreHosting
  readonly #options: PlainObject
  readonly #registers: Registers
  readonly #events: ElectionEvents
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
  /** The problem with the store that was reported; null when it answers. */
  #trouble: string | null = null
  /** The token of the last reported term. */
  #token: number | null = null
  #isReportScheduled = false
  /** The candidacy that the application asked for, the pause after failed fencing, and how often it failed in a row. */
  #candidacy: Command = NOT_A_CANDIDATE
  #pause: NodeJS.Timeout | null = null
  #fencingFailures = 0
  /** How often the current removal was refused. */
  #refusals = 0

  constructor(
    { id, group, options, fencing, traceSteps }: StoreElectionSettings,
    hosting: StoreHosting,
    registers: Registers,
    blocks: Blocks,
    events: ElectionEvents,
    clock: HostClock,
  ) {
    this.#self = id
    this.#group = group
    this.#hosting = hosting
    this.#options = options
    this.#registers = registers
    this.#events = events
    this.#clock = clock
    this.#blocks = blocks
    this.#members = activeMembers(blocks)
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
    this.#box = traceSteps === 0 ? null : new BlackBox(id, protocol, traceSteps)
    this.#loop = new Loop(protocol, clock, memoryStorage(), {
      send: () => {},
      output: (event) => this.#handle(event),
      register: (call) => this.#call(call),
      storageFailed: (error) => events.warn('storage', error.message),
      failed: (error) => this.#fail(error),
      record: (record, before) => {
        this.#box?.record(record, before)
        events.stepped?.()
        this.#stepped?.()
        this.#scheduleReport()
      },
    })
    this.#carryOut = createRegisterCalls(registers, {
      deliver: (input) => this.#answer(input),
      onFailure: (error) => this.#fail(error),
      onUnknown: (why) => this.#reportTrouble(why),
      onRefused: (of, why) => this.#reportRefusal(of, why),
      onMembers: (ids) => this.#regroup(ids),
      onBlocks: (all) => this.#handleBlocks(all, group),
    })
    this.#loop.start()
    this.#loop.command({ do: 'members', nodes: this.#members })
    // A node does not become a candidate until `lead` is called.
    this.#loop.command(NOT_A_CANDIDATE)
    // Nodes in a store exchange no messages, so fencing applies to all other nodes.
    if (this.#fencer.isNeeded) this.#loop.command({ do: 'view', members: [id] })
  }

  view(): NodeView {
    return this.status().view
  }

  lease() {
    const { role, until, token } = this.#loop.view()
    const holds = role === 'leader' && this.#state === 'running'
    return { until: holds ? until : null, now: this.#loop.now(), token, reason: null }
  }

  status(): ElectionStatus {
    const { role, leader, token } = this.#loop.view()
    const now = this.#loop.now()
    const insight = this.#insight()
    const isLed = leader !== null && insight.leadUntil !== null && now < insight.leadUntil
    const isRunning = this.#state === 'running'
    return {
      view: {
        // A suspended node of the paper follows the leader of the epoch.
        role: role === 'suspended' ? 'follower' : role,
        leader: isLed && isRunning ? { id: leader, token: token ?? insight.token } : null,
        members: isRunning ? this.#members : null,
      },
      leadUntil: isLed && isRunning ? insight.leadUntil : null,
      membersUntil: insight.leadUntil,
      now,
      voters: [this.#members],
      nodes: this.#members.map((id) => {
        if (id === this.#self) return ownStatus(id, isRunning)
        const isThere = (this.#blocks.get(id)?.holder ?? null) !== null
        const heardAt = this.heard.get(id) ?? null
        return nodeStatusOf(id, { heardAt, evidenceAt: null, evidenceFor: null, isReachable: isThere, now })
      }),
      evidenceFor: null,
      isSilent: insight.isStarting || !this.#isClaimed,
      membership: null,
      primary: (this.#loop.view().detail?.['primary'] as boolean | undefined) ?? null,
      datagrams: NO_DATAGRAMS,
      measured: NOTHING_MEASURED,
    }
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

  async stepDown(token: number | null): Promise<void> {
    const view = this.#loop.view()
    if (view.role === 'leader' && view.token === token) this.#loop.command({ do: 'stepDown' })
  }

  /** A store has no network links to harm. */
  injectFaults(): void {}

  announce(): void {}

  async *trace(): AsyncGenerator<string, void, void> {
    if (this.#box !== null) yield* this.#box.text((skipped) => this.#header(skipped))
  }

  #header(skipped: number): TraceHeader {
    const takenAt = this.#clock.now()
    const recording = {
      group: this.#group,
      node: this.#self,
      run: this.#run,
      skipped,
      clock: clockName(),
      takenAt,
      wallAhead: Date.now() * 1000 - takenAt,
    }
    const { name: protocol, recordedOptions } = this.#hosting
    const options: PlainObject = { ...this.#options, ...recordedOptions(this.#group) }
    return { trace: 1, protocol, nodes: this.#members, options, seed: 0, recording, hosted: this.#group }
  }

  /** The trace that replays to the failed assertion, as a file. */
  #leaveBlackBox(): void {
    if (this.#box === null) return
    const owner = { group: this.#group, node: String(this.#self), run: this.#run, data: null }
    const text = this.#box.textAtOnce((skipped) => this.#header(skipped))
    const file = writeBlackBox(owner, text)
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
    if (of === this.#loop.view().leader && this.status().view.leader !== null)
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
        this.#events.output(event)
        break
      case 'demoted':
        this.#events.output({ ...event, token: this.#token, cause: this.#causeOf(event['cause'] as string) })
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
      if (this.#fencer.isNeeded) this.#fencer.stop(this.#insight().fencing)
      this.#events.changed(this.view())
    })
  }

  // ---- The store ----

  #call(call: RegisterCall): void {
    if (this.#isClaimed) {
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
      this.#reportTrouble(claim.why)
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

  #handleBlocks(blocks: Blocks, group: string): void {
    if (this.#trouble !== null) this.#events.warn('store', `the store of ${group} answers again`)
    this.#trouble = null
    const now = this.#clock.now()
    for (const [id, block] of blocks) {
      if (isNewer(block, this.#blocks.get(id))) this.heard.set(id, now)
    }
    this.#blocks = blocks
  }

  /** Reported once, until the store answers again. */
  #reportTrouble(why: string): void {
    if (this.#trouble === null)
      this.#events.warn('store', `${why}; no decision is made until the store answers`)
    this.#trouble = why
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
    await this.#registers.close()
    this.#clock.close()
  }
}

function isNewer({ sequence }: RegisterBlock, before: RegisterBlock | undefined): boolean {
  return before === undefined || sequence > before.sequence
}
