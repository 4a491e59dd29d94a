/**
 * Runs several specifications and goals together. Specifications with the same fold share its memory.
 *
 * The monitor is pure, so that the explorer can memoize its steps. `Watch` adds a mutable memory, for a
 * single run.
 */
import { type Micros, msOf, type Plain } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Fold, Goal, Judgement, RunFacts, Spec } from './spec.ts'

/** One memory per distinct fold. */
export type MonitorMemory = readonly Plain[]

export type Monitor = {
  readonly specs: readonly Spec[]
  readonly goals: readonly Goal[]
  /** The distinct folds, and the index of the fold that each specification and goal uses. */
  readonly folds: readonly Fold[]
  readonly foldOfSpec: readonly number[]
  readonly foldOfGoal: readonly number[]
  readonly run: RunFacts
  begin(): MonitorMemory
  /** Returns the same object if nothing changed. */
  next(memory: MonitorMemory, seen: Observation): MonitorMemory
  /** The judgement of the specification at this index, given the memory after the observation. */
  judge(place: number, memory: MonitorMemory, seen: Observation): Judgement
  /** Whether the goal at this index is reached, given the memory before the observation. */
  reached(place: number, memory: MonitorMemory, seen: Observation): boolean
}

export function monitor(specs: readonly Spec[], goals: readonly Goal[], run: RunFacts): Monitor {
  const folds: readonly Fold[] = [...new Set([...specs, ...goals].map(({ fold }) => fold))]
  // The index of the memory that each of them reads.
  const memoryOfSpec = specs.map(({ fold }) => folds.indexOf(fold))
  const memoryOfGoal = goals.map(({ fold }) => folds.indexOf(fold))
  return {
    specs,
    goals,
    folds,
    foldOfSpec: memoryOfSpec,
    foldOfGoal: memoryOfGoal,
    run,
    begin: () => folds.map((fold) => fold.begin(run)),
    // Every observation of a run passes through these three functions: no iterators, no lookups.
    next(memory, seen) {
      let next: Plain[] | null = null
      for (let place = 0; place < folds.length; place++) {
        const was = memory[place] as Plain
        const is = (folds[place] as Fold).next(was, seen)
        if (is === was) continue
        next ??= memory.slice()
        next[place] = is
      }
      return next ?? memory
    },
    judge: (place, memory, seen) =>
      (specs[place] as Spec).judge(memory[memoryOfSpec[place] as number] as Plain, seen, run),
    reached: (place, memory, seen) =>
      (goals[place] as Goal).reached(memory[memoryOfGoal[place] as number] as Plain, seen),
  }
}

/** The verdict on a specification in a run. `vacuous`: the run never concerned it. */
export type SpecVerdict =
  | { readonly name: string; readonly verdict: 'held'; readonly judged: number }
  | { readonly name: string; readonly verdict: 'vacuous'; readonly why: string }
  | { readonly name: string; readonly verdict: 'violated'; readonly atMs: number; readonly why: string }

export type GoalCount = { readonly name: string; readonly reached: boolean; readonly count: number }

const NEVER_JUDGED = {
  settled: 'never judged: the run had no settled moment with all living processes connected',
  state: 'never judged: it speaks of states, which schedules and searches show',
  always: 'never judged: nothing happened that it speaks of',
} as const

export function vacuous({ name, when }: Spec): SpecVerdict {
  return { name, verdict: 'vacuous', why: NEVER_JUDGED[when] }
}

export class Watch {
  readonly #monitor: Monitor
  #memory: MonitorMemory
  readonly #judged: number[]
  readonly #violations: ({ at: Micros; why: string } | null)[]
  readonly #counts: number[]

  constructor(of: Monitor) {
    this.#monitor = of
    this.#memory = of.begin()
    this.#judged = of.specs.map(() => 0)
    this.#violations = of.specs.map(() => null)
    this.#counts = of.goals.map(() => 0)
  }

  observe(seen: Observation): void {
    // As `reached` and `judge` of the monitor, without the calls: most of the observations of a run are renewals.
    const { goals, specs, foldOfGoal, foldOfSpec, run } = this.#monitor
    const before = this.#memory
    for (let place = 0; place < goals.length; place++) {
      const memory = before[foldOfGoal[place] as number] as Plain
      if ((goals[place] as Goal).reached(memory, seen))
        this.#counts[place] = (this.#counts[place] as number) + 1
    }
    const after = this.#monitor.next(before, seen)
    this.#memory = after
    for (let place = 0; place < specs.length; place++) {
      if (this.#violations[place] !== null) continue
      const memory = after[foldOfSpec[place] as number] as Plain
      const judgement = (specs[place] as Spec).judge(memory, seen, run)
      if (judgement === 'not concerned') continue
      this.#judged[place] = (this.#judged[place] as number) + 1
      if (judgement !== 'held') this.#violations[place] = { at: seen.at, why: judgement.violated }
    }
  }

  get violated(): boolean {
    return this.#violations.some((violation) => violation !== null)
  }

  verdicts(): readonly SpecVerdict[] {
    return this.#monitor.specs.map((spec, index): SpecVerdict => {
      const violation = this.#violations[index] ?? null
      if (violation !== null) {
        return { name: spec.name, verdict: 'violated', atMs: msOf(violation.at), why: violation.why }
      }
      const judged = this.#judged[index] ?? 0
      return judged === 0 ? vacuous(spec) : { name: spec.name, verdict: 'held', judged }
    })
  }

  goals(): readonly GoalCount[] {
    return this.#monitor.goals.map(({ name }, index) => {
      const count = this.#counts[index] ?? 0
      return { name, reached: count > 0, count }
    })
  }
}
