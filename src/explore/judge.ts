/** The monitor in numbers: what it remembers is a column of the world, and each of its steps is worked out once. */
import { present } from '../core/index.ts'
import {
  type GoalCount,
  type Monitor,
  type MonitorMemory,
  type SpecVerdict,
  vacuous,
} from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import { Interner, ListInterner, PairTable } from './intern.ts'

/** A moment at which specifications are violated: the first of them, and all. */
export type Violation = { readonly spec: string; readonly why: string; readonly all: readonly Violated[] }
export type Violated = { readonly spec: string; readonly why: string }

/** The number of the list without events. */
export const NO_EVENTS = 0

export class Judge {
  readonly #monitor: Monitor
  readonly #events: Interner<Observation>
  readonly #memories = new Interner<MonitorMemory>()
  readonly #known = new PairTable()
  readonly #lists = new ListInterner()
  readonly #knownLists = new PairTable()
  readonly #violations: Violation[] = []
  readonly #goalCounts: number[]
  readonly #judgedCounts: number[]

  constructor(monitor: Monitor, events: Interner<Observation>) {
    this.#monitor = monitor
    this.#events = events
    this.#lists.idOf([])
    this.#goalCounts = monitor.goals.map(() => 0)
    this.#judgedCounts = monitor.specs.map(() => 0)
  }

  get size(): number {
    return this.#memories.size
  }

  get bytes(): number {
    return this.#memories.bytes + this.#lists.bytes
  }

  begin(): number {
    return this.#memories.idOf(this.#monitor.begin())
  }

  /** The memory after an event; below -1 when the event violates a specification (`violation` says which). */
  next(memory: number, event: number): number {
    const known = this.#known.get(memory, event)
    return known === -1 ? this.#judge(memory, event) : known
  }

  /** A number for the events of one step, in their order. */
  listId(events: readonly Observation[]): number {
    return this.#lists.idOf(events.map((event) => this.#events.idOf(event)))
  }

  /** The same as `next` for the events of one step; the first that violates a specification decides. */
  nextAll(memory: number, list: number): number {
    const known = this.#knownLists.get(memory, list)
    return known === -1 ? this.#judgeAll(memory, list) : known
  }

  /** Whether a settled state concerns any specification; one that is watched always may ask for settled moments, too. */
  get judgesSettled(): boolean {
    return this.#monitor.specs.some(({ when }) => when === 'settled')
  }

  get speaksOfStates(): boolean {
    return this.#monitor.specs.some(({ when }) => when === 'state')
  }

  /** What specifications of states say of one: nothing of it is remembered, for every state is another. */
  state(seen: Observation): Violation | null {
    const all: Violated[] = []
    const memory = this.#memories.valueOf(0)
    for (const [index, spec] of this.#monitor.specs.entries()) {
      if (spec.when !== 'state') continue
      const judgement = this.#monitor.judge(index, memory, seen)
      if (judgement === 'not concerned') continue
      this.#judgedCounts[index] = (this.#judgedCounts[index] ?? 0) + 1
      if (judgement !== 'held') all.push({ spec: spec.name, why: judgement.violated })
    }
    const [first] = all
    return first === undefined ? null : { ...first, all }
  }

  violation(result: number): Violation {
    return present(this.#violations[-2 - result], 'violation')
  }

  /** Verdicts once a search has ended without a violation. Counts are of distinct situations. */
  verdicts(): readonly SpecVerdict[] {
    return this.#monitor.specs.map((spec, index) => {
      const judged = this.#judgedCounts[index] ?? 0
      return judged === 0 ? vacuous(spec) : { name: spec.name, verdict: 'held', judged }
    })
  }

  goals(): readonly GoalCount[] {
    return this.#monitor.goals.map(({ name }, index) => {
      const count = this.#goalCounts[index] ?? 0
      return { name, reached: count > 0, count }
    })
  }

  #judgeAll(memory: number, list: number): number {
    let result = memory
    for (const event of this.#lists.listOf(list)) {
      result = this.next(result, event)
      if (result < 0) break
    }
    this.#knownLists.set(memory, list, result)
    return result
  }

  #judge(memory: number, event: number): number {
    const seen = this.#events.valueOf(event)
    const before = this.#memories.valueOf(memory)
    for (let index = 0; index < this.#monitor.goals.length; index++) {
      if (this.#monitor.reached(index, before, seen)) {
        this.#goalCounts[index] = (this.#goalCounts[index] ?? 0) + 1
      }
    }
    const after = this.#monitor.next(before, seen)
    const all: Violated[] = []
    for (const [index, spec] of this.#monitor.specs.entries()) {
      const judgement = this.#monitor.judge(index, after, seen)
      if (judgement === 'not concerned') continue
      this.#judgedCounts[index] = (this.#judgedCounts[index] ?? 0) + 1
      if (judgement !== 'held') all.push({ spec: spec.name, why: judgement.violated })
    }
    const [first] = all
    const result = first === undefined ? this.#memories.idOf(after) : -2 - this.#violations.length
    if (first !== undefined) this.#violations.push({ ...first, all })
    this.#known.set(memory, event, result)
    return result
  }
}
