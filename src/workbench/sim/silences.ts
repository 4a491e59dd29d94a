/**
 * Tracks since when no message from one node can have reached another in time, because the sender is down,
 * stalled or cut off.
 */
import type { Micros } from '../../core/index.ts'

const NEVER = -1

export class Silences {
  readonly #nodes: number
  /** By sender and receiver; NEVER if a message may arrive. */
  readonly #since: Float64Array
  /** Whether there is any silence at all. Usually there is none, which saves the checks. */
  isAny = false

  constructor(nodes: number) {
    this.#nodes = nodes
    this.#since = new Float64Array(nodes ** 2).fill(NEVER)
  }

  since(from: number, to: number): Micros | null {
    const since = this.#since[from * this.#nodes + to] as number
    return since === NEVER ? null : since
  }

  /** A silent node has sent a message at this instant to all nodes that `mayArrive` accepts. */
  noteSent(from: number, now: Micros, mayArrive: (to: number) => boolean): void {
    for (let to = 0; to < this.#nodes; to++) {
      const place = from * this.#nodes + to
      if (this.#since[place] !== NEVER && mayArrive(to)) this.#since[place] = now
    }
  }

  /** The network or a node has changed: which messages may arrive from now on. */
  update(now: Micros, mayArrive: (from: number, to: number) => boolean): void {
    this.isAny = false
    for (let from = 0; from < this.#nodes; from++) {
      for (let to = 0; to < this.#nodes; to++) {
        const place = from * this.#nodes + to
        if (from === to || mayArrive(from, to)) this.#since[place] = NEVER
        else {
          if (this.#since[place] === NEVER) this.#since[place] = now
          this.isAny = true
        }
      }
    }
  }
}
