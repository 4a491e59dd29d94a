/**
 * The real world of a protocol: an event loop that carries out its effects.
 *
 * The loop gives the protocol one input at a time (a message, a timer, a command) and gets its next state and effects.
 * It stores stable data first. If that fails, it rolls the step back: no effect of it has been carried out. Then it
 * carries out the other effects in order. (So a message that precedes `persist` in the list leaves after it. If the
 * process crashes in between, the message is lost, as any message may be.) Before every step the loop checks whether the
 * host was suspended, and if so, the protocol gets `suspended` first. Timers are absolute deadlines on the node's own
 * clock. Node.js timers only wake the loop; the clock decides what is due.
 *
 * A step that throws changes nothing. If an assertion failed, or the input was not a message, the loop stops: a node that
 * breaks its own invariants must not go on. The failing step is recorded like any other.
 */
import {
  AssertionFailedError,
  type Command,
  type Effect,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  type Output,
  type Plain,
  type Protocol,
  type RegisterCall,
  type Step,
  type View,
} from '../../core/index.ts'
import type { HostClock } from './clock.ts'
import type { Storage } from './storage.ts'

/** A step that threw. `isFatal`: the loop stopped; otherwise it dropped the message. */
export type StepFailure = { readonly error: string; readonly isFatal: boolean }

/** A step as it happened on the node's clock: what the black box keeps. */
export type LoopRecord = {
  readonly now: Micros
  /** Null at the start. */
  readonly input: Input | null
  readonly stable: Plain
  /**
   * `done`: all effects were carried out. `rolled back`: the data could not be stored, so no effect was carried out. At
   * the start that is the number 0: the node crashed before its first effect.
   */
  readonly outcome: 'done' | 'rolled back' | number | StepFailure
}

export type LoopHooks = {
  send(to: NodeId, body: Message): void
  output(event: Output): void
  /** Where nodes share registers: carries out the call, and answers it later (`answer`). */
  register?(call: RegisterCall): void
  /** Stable data could not be stored: the step that needed it was rolled back. */
  storageFailed(error: Error): void
  /**
   * Stable data could not be stored, and only some groups need it: a command that excludes these groups, so that the
   * others can process the same input. Null: no group can be excluded.
   */
  excludeGroups?(input: Input, stable: Plain): Command | null
  /**
   * The protocol threw on a message, and no assertion failed: the message counts as lost. A faulty peer must not stop
   * this node. Without this hook the loop stops, as it does when a step on any other input throws.
   */
  messageDropped?(from: NodeId, error: Error): void
  /** A timer that was set for later is handled this long after its deadline. */
  late?(by: Micros, now: Micros): void
  /** The host was suspended. */
  slept?(by: Micros): void
  /** The loop has stopped, because it can no longer keep the contract. */
  failed(error: Error): void
  /** `before`: the state before the step; null at the start. */
  record?(record: LoopRecord, before: Plain): void
}

/** Why stable data could not be stored, and the data. */
type StorageFailure = { readonly error: Error; readonly stable: Plain }

/** The granularity of Node.js timers, which may fire this much early. */
export const TIMER_STEP_MS = 1

/** A timer whose step was rolled back fires again after this delay. */
const RETRY_DELAY: Micros = 10_000

export class Loop {
  readonly #protocol: Protocol
  readonly #clock: HostClock
  readonly #storage: Storage
  readonly #hooks: LoopHooks
  readonly #deadlines = new Map<string, Micros>()
  #state: Plain = null
  #running = false
  /** It may ring before the first deadline, never after. */
  #alarm: NodeJS.Timeout | null = null
  #alarmAt: Micros = Number.POSITIVE_INFINITY
  /** The first deadline that lay ahead when it was looked for last. */
  #dueAt: Micros = Number.POSITIVE_INFINITY
  /** The deadline whose lateness was reported last. */
  #notedAt: Micros = Number.NEGATIVE_INFINITY
  #immediate: NodeJS.Immediate | null = null
  /** Whether due timers will fire in a microtask, and whether they have done so since the last event. */
  #isExpiring = false
  #hasExpired = false
  /** Hooks may read the state while the effects of a step are carried out. That reports no suspension in between. */
  #isCarryingOut = false
  /** The length of a suspension whose step was rolled back. */
  #unreported: Micros = 0

  constructor(protocol: Protocol, clock: HostClock, storage: Storage, hooks: LoopHooks) {
    this.#protocol = protocol
    this.#clock = clock
    this.#storage = storage
    this.#hooks = hooks
  }

  /** Starts the protocol with the stored data. Throws what prevents the start. */
  start(): void {
    const stable = this.#storage.load()
    const now = this.#clock.now()
    const step = this.#protocol.start(stable, now)
    this.#running = true
    this.#state = step.state
    const failure = this.#store(step)
    const outcome = failure === null ? 'done' : 0
    this.#hooks.record?.({ now, input: null, stable, outcome }, null)
    if (failure !== null) {
      this.stop()
      throw failure.error
    }
    this.#carryOut(step)
    this.#setAlarm()
  }

  message(from: NodeId, body: Message): void {
    this.#take({ type: 'message', from, body, receipt: null })
  }

  command(command: Command): void {
    this.#take({ type: 'command', command })
  }

  /** The reply to a register call. */
  answer(input: Input & { readonly type: 'register' }): void {
    this.#take(input)
  }

  /** The protocol's view now. */
  view(): View {
    return this.inspect((state, now) => this.#protocol.view(state, now))
  }

  /** The state after the last step. */
  get state(): Plain {
    return this.#state
  }

  /** Reads what the view does not show from the protocol's state. */
  inspect<T>(read: (state: Plain, now: Micros) => T): T {
    const hasStepped = this.#checkSuspension()
    const now = this.#clock.now()
    if (now >= this.#dueAt) this.#noteLateness(now)
    if (hasStepped || now >= this.#dueAt) this.#setAlarm()
    return read(this.#state, now)
  }

  now(): Micros {
    return this.#clock.now()
  }

  /** Takes no more inputs and cancels all timers. */
  stop(): void {
    this.#running = false
    if (this.#alarm !== null) clearTimeout(this.#alarm)
    if (this.#immediate !== null) clearImmediate(this.#immediate)
    this.#alarm = null
    this.#immediate = null
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#deadlines.clear()
  }

  #take(input: Input): void {
    if (!this.#running) return
    this.#hasExpired = false
    this.#checkSuspension()
    this.#step(input)
    this.#setAlarm()
  }

  /** Whether the host was suspended, which was a step. */
  #checkSuspension(): boolean {
    if (!this.#running || this.#isCarryingOut) return false
    const by = this.#clock.suspendedFor() + this.#unreported
    this.#unreported = 0
    if (by === 0) return false
    this.#hooks.slept?.(by)
    this.#step({ type: 'suspended', by })
    return true
  }

  /** A timer is overdue. A datagram may be handled first, which must not hide that. */
  #noteLateness(now: Micros): void {
    if (this.#dueAt === this.#notedAt) return
    this.#notedAt = this.#dueAt
    this.#hooks.late?.(now - this.#dueAt, now)
  }

  /** `isRetry`: the groups that could not store their data are excluded already. */
  #step(input: Input, isRetry = false): void {
    if (!this.#running) return
    const now = this.#clock.now()
    if (now >= this.#dueAt) this.#noteLateness(now)
    const before = this.#state
    let step: Step<Plain>
    try {
      step = this.#protocol.step(before, input, now)
    } catch (thrown) {
      this.#failStep(input, before, now, errorOf(thrown))
      return
    }
    const failure = this.#store(step)
    if (failure !== null) {
      this.#hooks.record?.({ now, input, stable: null, outcome: 'rolled back' }, before)
      this.#rollBack(input, isRetry, failure)
      return
    }
    this.#state = step.state
    this.#hooks.record?.({ now, input, stable: null, outcome: 'done' }, before)
    try {
      this.#carryOut(step)
    } catch (thrown) {
      this.#fail(errorOf(thrown))
    }
  }

  /** The step threw: it is recorded, so that a replay of the black box ends with it. */
  #failStep(input: Input, before: Plain, now: Micros, error: Error): void {
    const { messageDropped } = this.#hooks
    const isFatal =
      input.type !== 'message' || messageDropped === undefined || error instanceof AssertionFailedError
    const outcome = { error: error.message, isFatal }
    this.#hooks.record?.({ now, input, stable: null, outcome }, before)
    if (isFatal) this.#fail(error)
    else messageDropped(input.from, error)
  }

  #rollBack(input: Input, isRetry: boolean, { error, stable }: StorageFailure): void {
    const exclusion = isRetry ? null : (this.#hooks.excludeGroups?.(input, stable) ?? null)
    this.#hooks.storageFailed(error)
    if (exclusion === null) this.#retry(input)
    else {
      this.#step({ type: 'command', command: exclusion }, true)
      this.#step(input, true)
    }
  }

  /**
   * After a rollback, a message counts as lost. A timer or a suspension is delivered again, because no peer repeats it.
   */
  #retry(input: Input): void {
    if (input.type === 'timer') this.#deadlines.set(input.name, this.#clock.now() + RETRY_DELAY)
    else if (input.type === 'suspended') this.#unreported += input.by
  }

  #fail(error: Error): void {
    this.stop()
    this.#hooks.failed(error)
  }

  /** Null when the stable data is on disk. Only the last `persist` of a step counts. */
  #store({ effects }: Step<Plain>): StorageFailure | null {
    const last = effects.findLast((effect) => effect.type === 'persist')
    if (last === undefined) return null
    try {
      this.#storage.save(last.stable)
      return null
    } catch (error) {
      return { error: errorOf(error), stable: last.stable }
    }
  }

  #carryOut({ effects }: Step<Plain>): void {
    const wasCarryingOut = this.#isCarryingOut
    this.#isCarryingOut = true
    try {
      for (const effect of effects) this.#carryOutEffect(effect)
    } finally {
      this.#isCarryingOut = wasCarryingOut
    }
  }

  #carryOutEffect(effect: Effect): void {
    switch (effect.type) {
      case 'persist':
        break
      case 'send':
        this.#hooks.send(effect.to, effect.body)
        break
      case 'setTimer':
        this.#deadlines.set(effect.name, typeof effect.at === 'number' ? effect.at : between(...effect.at))
        break
      case 'stopTimer':
        this.#deadlines.delete(effect.name)
        break
      case 'output':
        this.#hooks.output(effect.event)
        break
      case 'register':
        if (this.#hooks.register === undefined)
          throw new Error('the protocol calls a register, but this node has none')
        this.#hooks.register(effect.call)
        break
      default:
        effect satisfies never
    }
  }

  /**
   * Wakes the loop for the next deadline: right after the current event if it is due, otherwise by an alarm. Most
   * deadlines are postponed before they are reached. Node.js wakes up for a cancelled timer too, so the alarm stays, and
   * when it rings too early it is set again.
   */
  #setAlarm(): void {
    if (!this.#running) return
    let next = Number.POSITIVE_INFINITY
    for (const deadline of this.#deadlines.values()) if (deadline < next) next = deadline
    const now = this.#clock.now()
    if (next <= now) {
      this.#expireSoon()
      return
    }
    this.#dueAt = next
    if (this.#alarm !== null) {
      if (this.#alarmAt <= next) return
      clearTimeout(this.#alarm)
    }
    this.#alarm = null
    this.#alarmAt = next
    if (next === Number.POSITIVE_INFINITY) return
    this.#alarm = setTimeout(this.#ring, Math.ceil((next - now) / 1000) + TIMER_STEP_MS)
  }

  readonly #ring = (): void => {
    this.#alarm = null
    this.#hasExpired = false
    this.#expire()
  }

  /**
   * A timer that is due at once (usually a message of the node to itself) fires in a microtask, before other datagrams
   * are read. A timer that this one makes due waits for the next iteration of the event loop, so that I/O is not starved.
   */
  #expireSoon(): void {
    if (this.#isExpiring || this.#immediate !== null) return
    if (this.#hasExpired) {
      this.#immediate = setImmediate(() => {
        this.#hasExpired = false
        this.#expire()
      })
      return
    }
    this.#isExpiring = true
    queueMicrotask(this.#expireNow)
  }

  readonly #expireNow = (): void => {
    this.#isExpiring = false
    this.#hasExpired = true
    if (this.#running) this.#expire()
  }

  #expire(): void {
    this.#immediate = null
    this.#checkSuspension()
    const now = this.#clock.now()
    if (now >= this.#dueAt) this.#noteLateness(now)
    this.#dueAt = Number.POSITIVE_INFINITY
    const due: [name: string, deadline: Micros][] = []
    for (const timer of this.#deadlines) if (timer[1] <= now) due.push(timer)
    due.sort(([, a], [, b]) => a - b)
    for (const [name, deadline] of due) {
      // An earlier timer of this batch may have stopped or replaced it.
      if (this.#deadlines.get(name) !== deadline) continue
      this.#deadlines.delete(name)
      this.#step({ type: 'timer', name })
    }
    this.#setAlarm()
  }
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** The only source of randomness of a protocol. */
function between(earliest: Micros, latest: Micros): Micros {
  return earliest + Math.floor(Math.random() * (latest - earliest + 1))
}
