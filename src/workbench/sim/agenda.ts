/** What is still to happen in the timed world, in the order of time. */
import type { Micros } from '../../core/index.ts'
import { EventQueue } from './queue.ts'
import { NEVER, type Pending } from './world-node.ts'

export type PendingMessage = Pending & { readonly type: 'message' }

/** A message in flight, and when it arrives. */
export type Waiting = { readonly at: Micros; readonly message: PendingMessage }

export class Agenda {
  readonly #queue = new EventQueue()
  /** By slot of the queue. Null: the slot is free, or its entry was withdrawn. */
  readonly #pending: (Pending | null)[] = []

  readonly push = (time: Micros, pending: Pending): void => {
    this.#pending[this.#queue.push(time)] = pending
  }

  /** The time of the next entry; infinite if there is none. */
  get nextAt(): Micros {
    return this.#queue.size > 0 ? this.#queue.nextTime : NEVER
  }

  /** Removes the next entry. Null: it was withdrawn. */
  take(): Pending | null {
    const slot = this.#queue.pop()
    const pending = this.#pending[slot] as Pending | null
    this.#pending[slot] = null
    return pending
  }

  /** Whether every entry passes a test. */
  every(test: (pending: Pending) => boolean): boolean {
    return this.#pending.every((pending) => pending === null || test(pending))
  }

  /** When a message arrives first; null if it is not in the queue. */
  find(message: number): Waiting | null {
    for (const { time, slot } of this.#queue.entries()) {
      const pending = this.#pending[slot] ?? null
      if (pending?.type === 'message' && pending.id === message) return { at: time, message: pending }
    }
    return null
  }

  /** Takes messages out of the queue. Returns them in the order in which they would have arrived. */
  withdraw(test: (message: PendingMessage, at: Micros) => boolean): readonly Waiting[] {
    return this.#queue.entries().flatMap(({ time, slot }): readonly Waiting[] => {
      const pending = this.#pending[slot] ?? null
      if (pending?.type !== 'message' || !test(pending, time)) return []
      this.#pending[slot] = null
      return [{ at: time, message: pending }]
    })
  }
}
