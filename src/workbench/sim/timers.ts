/**
 * The timers of the timed world. A timer keeps one queue entry: moving it later only changes its deadline, and the entry
 * is checked again when it comes up. So heartbeats that postpone timers are cheap.
 */
import type { Micros } from '../../core/index.ts'
import type { RunInspector } from '../scenario/options.ts'
import type { Random } from '../scenario/random.ts'
import type { Delay } from './delay.ts'
import type { Load } from './load.ts'
import { NEVER, type Pending, type SimNode, type Timer } from './world-node.ts'

/** A timer whose step was rolled back fires again after this delay, as in a real process. */
export const TRY_AGAIN: Micros = 10_000

export class Timers {
  readonly #random: Random
  readonly #lateness: Delay
  readonly #push: (time: Micros, pending: Pending) => void
  readonly #load: Load | null
  readonly #inspect: RunInspector | null
  #entries = 0

  /** `lateness`: how late timers fire, without load. */
  constructor(
    random: Random,
    lateness: Delay,
    push: (time: Micros, pending: Pending) => void,
    load: Load | null = null,
    inspect: RunInspector | null = null,
  ) {
    this.#load = load
    this.#inspect = inspect
    this.#random = random
    this.#lateness = lateness
    this.#push = push
  }

  /** Sets a timer to an instant on the node's clock, or to a random one in a range. Replaces an earlier setting. */
  set(node: SimNode, name: string, at: Micros | readonly [Micros, Micros], now: Micros): void {
    const deadline = typeof at === 'number' ? at : this.#random.integer(at[0], at[1])
    let timer = node.timers.get(name)
    if (timer === undefined) {
      timer = { node, name, deadline: NEVER, queuedFor: NEVER, entry: -1, queuedAt: NEVER }
      node.timers.set(name, timer)
    }
    timer.deadline = deadline
    if (this.#inspect !== null) this.#show(timer, now)
    if (deadline < timer.queuedFor) this.#queue(timer, node.clock.whenShows(deadline), now)
  }

  stop(node: SimNode, name: string, now: Micros): void {
    const timer = node.timers.get(name)
    if (timer === undefined || timer.deadline === NEVER) return
    timer.deadline = NEVER
    this.#inspect?.timer(node.id, now, name, null)
  }

  /** Reports when the node's timers are due. */
  show(node: SimNode, now: Micros): void {
    for (const timer of node.timers.values()) if (timer.deadline !== NEVER) this.#show(timer, now)
  }

  /** After the node's clock has changed: what is due earlier than before is queued again. */
  retime(node: SimNode, now: Micros): void {
    for (const timer of node.timers.values()) {
      if (timer.deadline === NEVER) continue
      const due = node.clock.whenShows(timer.deadline)
      if (due < timer.queuedAt) this.#queue(timer, due, now)
    }
  }

  /** The timer that fires when its queue entry comes up; null if it was stopped, replaced or moved. */
  expire({ timer, entry }: Pending & { type: 'timer' }, now: Micros): Timer | null {
    if (timer.entry !== entry) return null
    timer.queuedFor = NEVER
    if (timer.deadline === NEVER) return null
    const { node } = timer
    const due = Math.max(node.clock.whenShows(timer.deadline), node.stalledUntil)
    if (due > now) {
      this.#queue(timer, due, now)
      return null
    }
    timer.deadline = NEVER
    return timer
  }

  #queue(timer: Timer, due: Micros, now: Micros): void {
    timer.queuedFor = timer.deadline
    const { least, most } = this.#lateness
    // A timer that is already due fires in the current wakeup of the process, so it is never late.
    const late = most === 0 || due <= now ? 0 : this.#random.integer(least, most)
    const load = this.#load
    const loaded = load === null || !load.hasBegun || due <= now ? 0 : load.lateness(timer.node.index, now)
    timer.entry = this.#entries++
    timer.queuedAt = Math.max(due, now) + late + loaded
    if (loaded > 0) load?.noteLateTimer(timer.node.index, timer.queuedAt, loaded, now)
    this.#push(timer.queuedAt, { type: 'timer', timer, entry: timer.entry })
  }

  #show({ node, name, deadline }: Timer, now: Micros): void {
    this.#inspect?.timer(node.id, now, name, Math.max(node.clock.whenShows(deadline), now))
  }
}
