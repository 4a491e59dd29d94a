/**
 * The one loop that carries out a protocol's effects for real.
 *
 * An input comes in (a message, a timer, a command); the protocol answers with its next state and effects; they are
 * carried out in order, and what follows a `persist` only once the data is safe. Before every step the loop asks
 * whether the host slept: then the protocol hears of that first. Timers are absolute deadlines on the process's own
 * clock; Node's timers only wake the loop, early or late, and the clock decides.
 */
import type {
  Command,
  Effect,
  Input,
  Message,
  Micros,
  NodeId,
  Output,
  Plain,
  Protocol,
  Step,
  View,
} from '../core/index.ts'
import type { HostClock } from './clock.ts'
import type { Storage } from './storage.ts'

/** A step as it happened on this process's clock: what the black box keeps. */
export type LoopRecord = {
  readonly now: Micros
  /** Null at the start. */
  readonly input: Input | null
  readonly stable: Plain
  readonly effects: readonly Effect[]
  /**
   * Whether all effects were carried out. If the data could not be made safe the step was taken back, for nobody had
   * seen anything of it; or the loop stopped after so many effects.
   */
  readonly outcome: 'done' | 'taken back' | number
}

export type LoopHooks = {
  send(to: NodeId, body: Message): void
  output(event: Output): void
  /** Stable data could not be made safe: the step that needed it did not happen. */
  trouble(error: Error): void
  /** The loop has stopped by itself: it can no longer keep the contract. */
  failed(error: Error): void
  /** `before`: the state in which the step was taken; null at the start. */
  record?(record: LoopRecord, before: Plain): void
}

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
    const failure = this.#carryOut(step)
    const outcome = failure === null ? 'done' : failure.done
    this.#hooks.record?.({ now, input: null, stable, effects: step.effects, outcome }, null)
    if (failure !== null) {
      this.stop()
      throw failure.error
    }
    this.#setAlarm()
  }

  message(from: NodeId, body: Message): void {
    this.#take({ type: 'message', from, body, receipt: null })
  }

  command(command: Command): void {
    this.#take({ type: 'command', command })
  }

  /** What anyone may ask, at this moment. */
  view(): View {
    this.#noticeSleep()
    this.#setAlarm()
    return this.#protocol.view(this.#state, this.#clock.now())
  }

  /** Reads from the protocol's state what its view does not show. */
  inspect<T>(read: (state: Plain, now: Micros) => T): T {
    this.#noticeSleep()
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

  #step(input: Input): void {
    if (!this.#running) return
    const now = this.#clock.now()
    const before = this.#state
    let step: Step<Plain>
    try {
      step = this.#protocol.step(before, input, now)
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
      return
    }
    this.#state = step.state
    const failure = this.#carryOut(step)
    const outcome = failure === null ? 'done' : failure.done === 0 ? 'taken back' : failure.done
    this.#hooks.record?.({ now, input, stable: null, effects: step.effects, outcome }, before)
    if (failure === null) return
    // Nothing of the step was seen by anybody: it can be taken back. Otherwise promises might be broken.
    if (failure.done > 0) this.#fail(failure.error)
    else {
      this.#state = before
      this.#again(input)
      this.#hooks.trouble(failure.error)
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

  /** Null when all was carried out; otherwise why not, and how much was. */
  #carryOut({ effects }: Step<Plain>): { readonly error: Error; readonly done: number } | null {
    for (const [done, effect] of effects.entries()) {
      switch (effect.type) {
        case 'persist':
          try {
            this.#storage.save(effect.stable)
          } catch (error) {
            return { error: error instanceof Error ? error : new Error(String(error)), done }
          }
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
          return { error: new Error('this process has no shared registers'), done }
        default:
          effect satisfies never
      }
    }
    return null
  }

  /** Wakes the loop for the next deadline: at once after this turn of events if it is due, otherwise by a timer. */
  #setAlarm(): void {
    if (!this.#running) return
    let next = Number.POSITIVE_INFINITY
    for (const deadline of this.#deadlines.values()) if (deadline < next) next = deadline
    const now = this.#clock.now()
    if (next <= now) {
      this.#immediate ??= setImmediate(() => this.#expire())
      return
    }
    if (next === this.#alarmAt && this.#alarm !== null) return
    if (this.#alarm !== null) clearTimeout(this.#alarm)
    this.#alarm = null
    this.#alarmAt = next
    if (next === Number.POSITIVE_INFINITY) return
    this.#alarm = setTimeout(() => this.#expire(), Math.ceil((next - now) / 1000) + TIMER_STEP_MS)
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
