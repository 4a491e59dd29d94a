/**
 * Several specifications and goals watched together. Specifications that share a fold share its memory.
 *
 * The monitor itself is pure, so the explorer can remember its steps; `Watch` is the same thing with a memory
 * of its own, for a single run.
 */
import { type Micros, msOf, type Plain } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Fold, Goal, Judgement, RunFacts, Spec } from './spec.ts'

/** One memory for each distinct fold. */
export type MonitorMemory = readonly Plain[]

export type Monitor = {
  readonly specs: readonly Spec[]
  readonly goals: readonly Goal[]
  /** The distinct folds, and which of them each specification and goal reads, by place. */
  readonly folds: readonly Fold[]
  readonly foldOfSpec: readonly number[]
  readonly foldOfGoal: readonly number[]
  readonly run: RunFacts
  begin(): MonitorMemory
  /** The same memory when nothing changed. */
  next(memory: MonitorMemory, seen: Observation): MonitorMemory
  /** What the specification at this place says, given the memory after the observation. */
  judge(place: number, memory: MonitorMemory, seen: Observation): Judgement
  /** Whether the goal at this place is reached, given the memory before the observation. */
  reached(place: number, memory: MonitorMemory, seen: Observation): boolean
}

export function monitor(specs: readonly Spec[], goals: readonly Goal[], run: RunFacts): Monitor {
  const folds: readonly Fold[] = [...new Set([...specs, ...goals].map(({ fold }) => fold))]
  // Which memory each of them reads, by its place.
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
    // Every observation of a run comes through these three: no iterators, no look-ups.
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

/** What became of a specification in a run. `vacuous`: nothing ever happened that it speaks of. */
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
    const of = this.#monitor
    for (let place = 0; place < of.goals.length; place++) {
      if (of.reached(place, this.#memory, seen)) this.#counts[place] = (this.#counts[place] as number) + 1
    }
    this.#memory = of.next(this.#memory, seen)
    for (let place = 0; place < of.specs.length; place++) {
      if (this.#violations[place] !== null) continue
      const judgement = of.judge(place, this.#memory, seen)
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
