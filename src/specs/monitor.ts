/**
 * Several specifications and goals watched together. Specifications that share a fold share its memory.
 *
 * The monitor itself is pure, so the explorer can remember its steps; `Watch` is the same thing with a memory
 * of its own, for a single run.
 */
import { type Micros, msOf, type Plain, present } from '../core/index.ts'
import type { Observation } from '../trace/index.ts'
import type { Fold, Goal, Judgement, RunFacts, Spec } from './spec.ts'

/** One memory for each distinct fold. */
export type MonitorMemory = readonly Plain[]

export type Monitor = {
  readonly specs: readonly Spec[]
  readonly goals: readonly Goal[]
  begin(): MonitorMemory
  /** The same memory when nothing changed. */
  next(memory: MonitorMemory, seen: Observation): MonitorMemory
  /** Given the memory after the observation. */
  judge(spec: Spec, memory: MonitorMemory, seen: Observation): Judgement
  /** Given the memory before the observation. */
  reached(goal: Goal, memory: MonitorMemory, seen: Observation): boolean
}

export function monitor(specs: readonly Spec[], goals: readonly Goal[], run: RunFacts): Monitor {
  const folds: readonly Fold[] = [...new Set([...specs, ...goals].map(({ fold }) => fold))]
  const indexOf = new Map(folds.map((fold, index) => [fold, index]))
  const part = (fold: Fold, memory: MonitorMemory): Plain =>
    memory[present(indexOf.get(fold), 'fold')] as Plain
  return {
    specs,
    goals,
    begin: () => folds.map((fold) => fold.begin(run)),
    next(memory, seen) {
      let next: Plain[] | null = null
      for (const [index, fold] of folds.entries()) {
        const was = memory[index] as Plain
        const is = fold.next(was, seen)
        if (is === was) continue
        next ??= [...memory]
        next[index] = is
      }
      return next ?? memory
    },
    judge: (spec, memory, seen) => spec.judge(part(spec.fold, memory), seen, run),
    reached: (goal, memory, seen) => goal.reached(part(goal.fold, memory), seen),
  }
}

/** What became of a specification in a run. `vacuous`: nothing ever happened that it speaks of. */
export type SpecVerdict =
  | { readonly name: string; readonly verdict: 'held'; readonly judged: number }
  | { readonly name: string; readonly verdict: 'vacuous'; readonly why: string }
  | { readonly name: string; readonly verdict: 'violated'; readonly atMs: number; readonly why: string }

export type GoalCount = { readonly name: string; readonly reached: boolean; readonly count: number }

export function vacuous(spec: Spec): SpecVerdict {
  const why =
    spec.when === 'settled'
      ? 'never judged: the run had no settled moment with all living processes connected'
      : 'never judged: nothing happened that it speaks of'
  return { name: spec.name, verdict: 'vacuous', why }
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
    const { specs, goals } = this.#monitor
    for (const [index, goal] of goals.entries()) {
      if (this.#monitor.reached(goal, this.#memory, seen))
        this.#counts[index] = (this.#counts[index] ?? 0) + 1
    }
    this.#memory = this.#monitor.next(this.#memory, seen)
    for (const [index, spec] of specs.entries()) {
      if (this.#violations[index] !== null) continue
      const judgement = this.#monitor.judge(spec, this.#memory, seen)
      if (judgement === 'not concerned') continue
      this.#judged[index] = (this.#judged[index] ?? 0) + 1
      if (judgement !== 'held') this.#violations[index] = { at: seen.at, why: judgement.violated }
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
