/** The timers of a node, each from its setting to the moment at which it fired, was stopped or was set again. */
import type { Effect, Micros } from '../../../../../src/core/index.ts'
import type { TraceRecord } from '../../../../../src/workbench/trace/index.ts'
import type { TimerSpan } from '../picture.ts'
import type { ClockLine } from './clock-line.ts'

type StartOrStep = TraceRecord & { readonly type: 'start' | 'step' }
type Running = { readonly from: Micros; readonly due: Micros; readonly isRange: boolean }

export class TimerLine {
  readonly #clock: ClockLine | null
  readonly #drawn: (moment: number, name: string) => Micros | null
  readonly #past: TimerSpan[] = []
  readonly #running = new Map<string, Running>()

  /**
   * `clock`: null in an untimed world, where a timer fires when the schedule says so. `drawn`: the instant that the world
   * drew for a timer that a moment sets; null if unknown.
   */
  constructor(clock: ClockLine | null, drawn: (moment: number, name: string) => Micros | null) {
    this.#clock = clock
    this.#drawn = drawn
  }

  take(record: StartOrStep, moment: number): void {
    const { at, effects, cutAfter } = record
    // A rolled back step did not happen: its timer fires again soon.
    if (record.type === 'step' && record.takenBack === true) return
    if (record.type === 'start') this.stopAll(at)
    else if (record.input.type === 'timer') this.#end(record.input.name, at, true)
    for (const effect of effects.slice(0, cutAfter ?? effects.length)) {
      if (effect.type === 'stopTimer') this.#end(effect.name, at, false)
      else if (effect.type === 'setTimer') this.#set(effect, at, moment)
    }
  }

  stopAll(at: Micros): void {
    for (const name of this.#running.keys()) this.#end(name, at, false)
  }

  build(endsAt: Micros): readonly TimerSpan[] {
    this.stopAll(endsAt)
    return this.#past
  }

  #set({ name, at: deadline }: Effect & { readonly type: 'setTimer' }, at: Micros, moment: number): void {
    this.#end(name, at, false)
    const isRange = typeof deadline !== 'number'
    const drawn = isRange ? this.#drawn(moment, name) : null
    // A trace does not hold the instant that was drawn from a range: until the timer fires, the latest counts.
    const latest = typeof deadline === 'number' ? deadline : deadline[1]
    const due = this.#clock === null ? at : (drawn ?? this.#clock.whenShows(latest, at))
    this.#running.set(name, { from: at, due, isRange: isRange && drawn === null })
  }

  #end(name: string, at: Micros, fired: boolean): void {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    const { from, due, isRange } = running
    // Instants are rounded to whole microseconds: no timer fires before it is due.
    const known = fired ? Math.min(due, at) : due
    const isEarly = fired && (isRange || this.#clock === null)
    if (at > from || fired) this.#past.push({ name, from, to: at, due: isEarly ? at : known, fired })
  }
}
