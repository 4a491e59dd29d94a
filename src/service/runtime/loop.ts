/**
 * The one loop that carries out a protocol's effects for real.
 *
 * An input comes in (a message, a timer, a command); the protocol answers with its next state and effects. What is to
 * be made safe is made safe first, and if that fails, the step is taken back: nobody has seen anything of it. Then the
 * other effects are carried out in order. (A message that a protocol sends before it persists thus leaves after: if the
 * process crashes in between it is lost, as any message may be.) Before every step the loop asks whether the host slept:
 * then the protocol hears of that first. Timers are absolute deadlines on the process's own clock; Node's timers only
 * wake the loop, early or late, and the clock decides.
 */
import type {
  Command,
  Input,
  Message,
  Micros,
  NodeId,
  Output,
  Plain,
  Protocol,
  RegisterCall,
  Step,
  View,
} from '../../core/index.ts'
import type { HostClock } from './clock.ts'
import type { Storage } from './storage.ts'

/** A step as it happened on this process's clock: what the black box keeps. */
export type LoopRecord = {
  readonly now: Micros
  /** Null at the start. */
  readonly input: Input | null
  readonly stable: Plain
  /**
   * Whether all effects were carried out. If the data could not be made safe the step was taken back, for nobody had
   * seen anything of it; at the start nothing was carried out (0).
   */
  readonly outcome: 'done' | 'taken back' | number
}

export type LoopHooks = {
  send(to: NodeId, body: Message): void
  output(event: Output): void
  /** Where the process shares registers with others: carries the call out, and answers it (`answer`) later. */
  register?(call: RegisterCall): void
  /** Stable data could not be made safe: the step that needed it did not happen. */
  trouble(error: Error): void
  /**
   * Stable data could not be made safe, and only a part of the process needs it: a command after which the rest can
   * have the same input. Null: there is no such part.
   */
  spare?(input: Input, stable: Plain): Command | null
  /**
   * A message made the protocol fail: it counts as lost, for a step that has not ended has changed nothing. A peer that
   * is buggy must not stop this process. Without this hook the loop stops, as it does when anything else fails.
   */
  unusable?(from: NodeId, error: Error): void
  /** The loop has stopped by itself: it can no longer keep the contract. */
  failed(error: Error): void
  /** `before`: the state in which the step was taken; null at the start. */
  record?(record: LoopRecord, before: Plain): void
}

/** Why the disk did not take it, and what. */
type Failure = { readonly error: Error; readonly stable: Plain }

/** How much earlier than asked Node's timers may fire, and the step in which they count. */
const TIMER_STEP_MS = 1

/** A timer whose step was taken back fires again after so long. */
const TRY_AGAIN: Micros = 10_000

export class Loop {
  readonly #protocol: Protocol
  readonly #clock: HostClock
  readonly #storage: Storage
  readonly #hooks: LoopHooks
  readonly #deadlines = new Map<string, Micros>()
  #state: Plain = null
  #running = false
  #alarm: NodeJS.Timeout | null = null
  #alarmAt: Micros = Number.POSITIVE_INFINITY
  #immediate: NodeJS.Immediate | null = null
  /** What is due is about to be dealt with after this turn, and was already since the last. */
  #isExpiring = false
  #hasExpired = false
  /** A sleep of which the protocol could not be told. */
  #untold: Micros = 0

  constructor(protocol: Protocol, clock: HostClock, storage: Storage, hooks: LoopHooks) {
    this.#protocol = protocol
    this.#clock = clock
    this.#storage = storage
    this.#hooks = hooks
  }

  /** Begins from what the storage holds; throws what keeps it from beginning. */
  start(): void {
    const stable = this.#storage.load()
    const now = this.#clock.now()
    const step = this.#protocol.start(stable, now)
    this.#running = true
    this.#state = step.state
    const failure = this.#makeSafe(step)
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

  /** What became of a call on a register. */
  answer(input: Input & { readonly type: 'register' }): void {
    this.#take(input)
  }

  /** What anyone may ask, at this moment. */
  view(): View {
    this.#noticeSleep()
    this.#setAlarm()
    return this.#protocol.view(this.#state, this.#clock.now())
  }

  /** As the last step left it, whatever has happened to the clock since. */
  get state(): Plain {
    return this.#state
  }

  /** Reads from the protocol's state what its view does not show. */
  inspect<T>(read: (state: Plain, now: Micros) => T): T {
    this.#noticeSleep()
    this.#setAlarm()
    return read(this.#state, this.#clock.now())
  }

  now(): Micros {
    return this.#clock.now()
  }

  /** Nothing happens any more; what is due is forgotten. */
  stop(): void {
    this.#running = false
    if (this.#alarm !== null) clearTimeout(this.#alarm)
    if (this.#immediate !== null) clearImmediate(this.#immediate)
    this.#alarm = null
    this.#immediate = null
    this.#deadlines.clear()
  }

  #take(input: Input): void {
    if (!this.#running) return
    this.#hasExpired = false
    this.#noticeSleep()
    this.#step(input)
    this.#setAlarm()
  }

  #noticeSleep(): void {
    if (!this.#running) return
    const by = this.#clock.sleptFor() + this.#untold
    this.#untold = 0
    if (by > 0) this.#step({ type: 'suspended', by })
  }

  /** `isSpared`: the part of the process that cannot go on has been left out already. */
  #step(input: Input, isSpared = false): void {
    if (!this.#running) return
    const now = this.#clock.now()
    const before = this.#state
    let step: Step<Plain>
    try {
      step = this.#protocol.step(before, input, now)
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      if (input.type === 'message' && this.#hooks.unusable !== undefined) {
        this.#hooks.unusable(input.from, error)
      } else this.#fail(error)
      return
    }
    const failure = this.#makeSafe(step)
    if (failure !== null) {
      this.#hooks.record?.({ now, input, stable: null, outcome: 'taken back' }, before)
      this.#takeBack(input, isSpared, failure)
      return
    }
    this.#state = step.state
    this.#hooks.record?.({ now, input, stable: null, outcome: 'done' }, before)
    this.#carryOut(step)
  }

  #takeBack(input: Input, isSpared: boolean, { error, stable }: Failure): void {
    const spared = isSpared ? null : (this.#hooks.spare?.(input, stable) ?? null)
    this.#hooks.trouble(error)
    if (spared === null) this.#again(input)
    else {
      this.#step({ type: 'command', command: spared }, true)
      this.#step(input, true)
    }
  }

  /** What was taken back was not done: messages count as lost, but what only this process knows of comes again. */
  #again(input: Input): void {
    if (input.type === 'timer') this.#deadlines.set(input.name, this.#clock.now() + TRY_AGAIN)
    else if (input.type === 'suspended') this.#untold += input.by
  }

  #fail(error: Error): void {
    this.stop()
    this.#hooks.failed(error)
  }

  /** Null when all that must survive the step is on the disk; the last of it replaces what came before. */
  #makeSafe({ effects }: Step<Plain>): Failure | null {
    const last = effects.findLast((effect) => effect.type === 'persist')
    if (last === undefined) return null
    try {
      this.#storage.save(last.stable)
      return null
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(String(error)), stable: last.stable }
    }
  }

  #carryOut({ effects }: Step<Plain>): void {
    for (const effect of effects) {
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
          if (this.#hooks.register === undefined) {
            this.#fail(new Error('this process has no shared registers'))
            return
          }
          this.#hooks.register(effect.call)
          break
        default:
          effect satisfies never
      }
    }
  }

  /** Wakes the loop for the next deadline: at once after this turn of events if it is due, otherwise by a timer. */
  #setAlarm(): void {
    if (!this.#running) return
    let next = Number.POSITIVE_INFINITY
    for (const deadline of this.#deadlines.values()) if (deadline < next) next = deadline
    const now = this.#clock.now()
    if (next <= now) {
      this.#expireSoon()
      return
    }
    if (next === this.#alarmAt && this.#alarm !== null) return
    if (this.#alarm !== null) clearTimeout(this.#alarm)
    this.#alarm = null
    this.#alarmAt = next
    if (next === Number.POSITIVE_INFINITY) return
    this.#alarm = setTimeout(() => this.#ring(), Math.ceil((next - now) / 1000) + TIMER_STEP_MS)
  }

  #ring(): void {
    this.#hasExpired = false
    this.#expire()
  }

  /**
   * What became due in this turn of events (what a process said to itself, as a rule) comes right after it, before other
   * datagrams are read; but what that makes due in turn waits until others have had theirs.
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
    queueMicrotask(() => {
      this.#isExpiring = false
      this.#hasExpired = true
      if (this.#running) this.#expire()
    })
  }

  #expire(): void {
    this.#immediate = null
    this.#alarmAt = Number.POSITIVE_INFINITY
    this.#noticeSleep()
    const now = this.#clock.now()
    const due = [...this.#deadlines].filter(([, deadline]) => deadline <= now).sort(([, a], [, b]) => a - b)
    for (const [name, deadline] of due) {
      // An earlier one of them may have stopped or moved it.
      if (this.#deadlines.get(name) !== deadline) continue
      this.#deadlines.delete(name)
      this.#step({ type: 'timer', name })
    }
    this.#setAlarm()
  }
}

/** Where chance comes from. */
function between(earliest: Micros, latest: Micros): Micros {
  return earliest + Math.floor(Math.random() * (latest - earliest + 1))
}
