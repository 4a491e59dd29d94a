/** Which nodes are killed while the picture is rendered, and when they are revived: drawn from a seed. */
import { Random } from '../../workbench/scenario/random.ts'
import type { DemoState } from './state.ts'

/** Shares of the picture, from 0 to 1. */
type PlannedKill = {
  /** Not before this share is rendered. */
  readonly at: number
  /** The node stays down until this much more is rendered. */
  readonly downFor: number
  /** Selects one of the nodes that may be killed. */
  readonly choice: number
}

/** The first and the last share at which a node is killed. */
const FIRST = 0.05
const LAST = 0.8

export function planKills(count: number, seed: number): readonly PlannedKill[] {
  const random = new Random(seed)
  return Array.from({ length: count }, (_, index) => ({
    at: FIRST + ((LAST - FIRST) * (index + random.fraction())) / count,
    downFor: 0.05 + 0.15 * random.fraction(),
    choice: random.fraction(),
  }))
}

export type Fault = { readonly kill: string } | { readonly revive: string }

/** Decides what happens next. Nodes that a person kills on the page are left to that person. */
export class Killer {
  readonly #plan: PlannedKill[]
  readonly #down = new Map<string, number>()

  constructor(plan: readonly PlannedKill[]) {
    this.#plan = [...plan]
  }

  get isOver(): boolean {
    return this.#plan.length === 0 && this.#down.size === 0
  }

  /** `done`: the share of the picture that is rendered. Null: nothing now. */
  next(done: number, { nodes, view }: Pick<DemoState, 'nodes' | 'view'>): Fault | null {
    for (const [id, until] of this.#down) {
      // The group must have noticed the loss.
      if (done < until || view?.members.includes(id) === true) continue
      this.#down.delete(id)
      return { revive: id }
    }
    const [kill] = this.#plan
    if (kill === undefined || done < kill.at) return null
    const candidates = nodes.filter(({ status, keepReason }) => status === 'up' && keepReason === null)
    const victim = candidates[Math.floor(kill.choice * candidates.length)]
    if (victim === undefined) return null
    this.#plan.shift()
    this.#down.set(victim.id, Math.min(done + kill.downFor, LAST + 0.1))
    return { kill: victim.id }
  }
}
