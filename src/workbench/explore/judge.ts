/** Runs the monitor on integers: its memory is one column of the world, and each of its steps is memoized. */
import { type Plain, present } from '../../core/index.ts'
import {
  type Fold,
  type Goal,
  type GoalCount,
  type Monitor,
  type Spec,
  type SpecVerdict,
  vacuous,
} from '../specs/index.ts'
import type { Observation } from '../trace/index.ts'
import { Interner, ListInterner, PairTable } from './intern.ts'

/** The specifications violated at one moment: the first one, and all of them. */
export type Violation = { readonly spec: string; readonly why: string; readonly all: readonly Violated[] }
export type Violated = { readonly spec: string; readonly why: string }

/** The id of the empty list of observations. */
export const NO_EVENTS = 0

export class Judge {
  readonly #monitor: Monitor
  readonly #events: Interner<Observation>
  /** Each fold's memory is interned; the monitor's memory is a list of those ids. */
  readonly #memories = new ListInterner()
  readonly #parts: readonly FoldCache[]
  readonly #opinions: readonly SpecCache[]
  readonly #reached: readonly PairTable[]
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
    this.#parts = monitor.folds.map((fold) => ({ fold, memories: new Interner(), next: new PairTable() }))
    this.#opinions = monitor.specs.map((spec) => ({ spec, known: new PairTable(), whys: [] }))
    this.#reached = monitor.goals.map(() => new PairTable())
    this.#goalCounts = monitor.goals.map(() => 0)
    this.#judgedCounts = monitor.specs.map(() => 0)
  }

  get size(): number {
    return this.#memories.size
  }

  get bytes(): number {
    const parts = this.#parts.reduce((sum, { memories }) => sum + memories.bytes, 0)
    return parts + this.#memories.bytes + this.#lists.bytes
  }

  begin(): number {
    const parts = this.#parts.map(({ fold, memories }) => memories.idOf(fold.begin(this.#monitor.run)))
    return this.#memories.idOf(parts)
  }

  /** The memory after an observation; below -1 if it violates a specification (`violation` decodes it). */
  next(memory: number, event: number): number {
    const known = this.#known.get(memory, event)
    return known === -1 ? this.#judge(memory, event) : known
  }

  /** Interns the observations of one step, in order. */
  listId(events: readonly Observation[]): number {
    return this.#lists.idOf(events.map((event) => this.#events.idOf(event)))
  }

  /** Like `next`, for the observations of one step. The first violation decides. */
  nextAll(memory: number, list: number): number {
    const known = this.#knownLists.get(memory, list)
    return known === -1 ? this.#judgeAll(memory, list) : known
  }

  /** Like `nextAll`, for two steps in sequence. */
  nextBoth(memory: number, first: number, second: number): number {
    const between = this.nextAll(memory, first)
    return between < 0 ? between : this.nextAll(between, second)
  }

  /** Whether any specification judges settled states. A specification without `when` may judge them too. */
  get judgesSettled(): boolean {
    return this.#monitor.specs.some(({ when }) => when === 'settled')
  }

  get judgesStates(): boolean {
    return this.#monitor.specs.some(({ when }) => when === 'state')
  }

  /** The verdict of state specifications on one state. Not memoized, because every state is different. */
  state(seen: Observation): Violation | null {
    const all: Violated[] = []
    const memory = this.#monitor.begin()
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

  /** The verdicts of a search without violations. Counts are of distinct situations. */
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

  /** Combines the memoized steps of the single folds. */
  #judge(memory: number, event: number): number {
    const { goals, specs, foldOfGoal, foldOfSpec } = this.#monitor
    const before = this.#memories.listOf(memory)
    for (let place = 0; place < goals.length; place++) {
      if (!this.#isReached(place, before[foldOfGoal[place] as number] as number, event)) continue
      this.#goalCounts[place] = (this.#goalCounts[place] as number) + 1
    }
    const after = before.map((part, place) =>
      this.#nextPart(present(this.#parts[place], 'fold'), part, event),
    )
    const all: Violated[] = []
    for (let place = 0; place < specs.length; place++) {
      const opinion = present(this.#opinions[place], 'specification')
      const judgement = this.#judgement(opinion, foldOfSpec[place] as number, after, event)
      if (judgement === NOT_CONCERNED) continue
      this.#judgedCounts[place] = (this.#judgedCounts[place] as number) + 1
      if (judgement === HELD) continue
      all.push({ spec: opinion.spec.name, why: opinion.whys[judgement - FIRST_WHY] as string })
    }
    const [first] = all
    const result = first === undefined ? this.#memories.idOf(after) : -2 - this.#violations.length
    if (first !== undefined) this.#violations.push({ ...first, all })
    this.#known.set(memory, event, result)
    return result
  }

  #nextPart({ fold, memories, next }: FoldCache, part: number, event: number): number {
    const known = next.get(part, event)
    if (known >= 0) return known
    const before = memories.valueOf(part)
    const after = fold.next(before, this.#events.valueOf(event))
    const id = after === before ? part : memories.idOf(after)
    next.set(part, event, id)
    return id
  }

  #isReached(place: number, part: number, event: number): boolean {
    const table = present(this.#reached[place], 'goal')
    const known = table.get(part, event)
    if (known >= 0) return known === 1
    const { memories } = present(this.#parts[this.#monitor.foldOfGoal[place] as number], 'fold')
    const goal = this.#monitor.goals[place] as Goal
    const reached = goal.reached(memories.valueOf(part), this.#events.valueOf(event))
    table.set(part, event, reached ? 1 : 0)
    return reached
  }

  #judgement(
    { spec, known, whys }: SpecCache,
    fold: number,
    after: readonly number[],
    event: number,
  ): number {
    const part = after[fold] as number
    const already = known.get(part, event)
    if (already >= 0) return already
    const { memories } = present(this.#parts[fold], 'fold')
    const judgement = spec.judge(memories.valueOf(part), this.#events.valueOf(event), this.#monitor.run)
    let code = judgement === 'held' ? HELD : NOT_CONCERNED
    if (typeof judgement === 'object') code = FIRST_WHY + whys.push(judgement.violated) - 1
    known.set(part, event, code)
    return code
  }
}

/** One fold, its interned memories, and its memoized steps. */
type FoldCache = { readonly fold: Fold; readonly memories: Interner<Plain>; readonly next: PairTable }

/**
 * Memoized judgements of one specification, by memory and observation. From FIRST_WHY on: the index of the
 * reason for a violation.
 */
type SpecCache = { readonly spec: Spec; readonly known: PairTable; readonly whys: string[] }
const NOT_CONCERNED = 0
const HELD = 1
const FIRST_WHY = 2
