/** Register calls of nodes: each has its own timing, and its caller receives the result or a timeout. */
import type { Micros, RegisterCall } from '../../core/index.ts'
import type { Store } from './store.ts'
import type { Pending, SimNode } from './world-node.ts'

export class RegisterCalls {
  readonly #store: Store
  readonly #push: (time: Micros, pending: Pending) => void

  constructor(store: Store, push: (time: Micros, pending: Pending) => void) {
    this.#store = store
    this.#push = push
  }

  /** Calls of one step take place in any order. `of`: the index of the register's owner. */
  call(node: SimNode, call: RegisterCall, of: number, now: Micros): void {
    const expected = call.op === 'read' ? 0 : this.#store.expected(node.index, of)
    const { life } = node
    const course = this.#store.drawTiming(now)
    this.#push(course.at, { type: 'operation', node, life, call, of, expected, course })
    if (course.inTime) return
    const input = { type: 'register', call, outcome: 'unknown', value: null } as const
    this.#push(course.repliesAt, { type: 'reply', node, life, input, of, version: -1 })
  }

  /** The operation takes place, even if its caller no longer waits for it. */
  operate({ node, life, call, of, expected, course }: Pending & { type: 'operation' }): void {
    const isHeard = node.up && node.life === life
    const { outcome, value, version } = this.#store.carryOut(call, of, expected)
    if (!isHeard || !course.inTime) return
    const input = { type: 'register', call, outcome, value } as const
    this.#push(course.repliesAt, { type: 'reply', node, life, input, of, version })
  }
}
