/** Watches the verdicts of specifications during a run, so that each violation is known with its moment. */
import type { Micros } from '../../../../src/core/index.ts'
import { type Goal, type Spec, vacuous } from '../../../../src/workbench/specs/index.ts'
import type { Picture, Verdict } from './picture.ts'

type Found = { readonly why: string; readonly at: Micros; readonly moment: number }

export class Judging {
  /** The specifications and goals to run with: like the given ones, and they report here. */
  readonly specs: readonly Spec[]
  readonly goals: readonly Goal[]
  readonly #judged: number[]
  readonly #found: (Found | null)[]
  readonly #counts: number[]

  /** `lastMoment`: the number of the last record so far. */
  constructor(specs: readonly Spec[], goals: readonly Goal[], lastMoment: () => number) {
    this.#judged = specs.map(() => 0)
    this.#found = specs.map(() => null)
    this.#counts = goals.map(() => 0)
    this.specs = specs.map((spec, place) => ({
      ...spec,
      judge: (memory, seen, run) => {
        const judgement = spec.judge(memory, seen, run)
        if (judgement === 'not concerned' || this.#found[place] !== null) return judgement
        this.#judged[place] = (this.#judged[place] ?? 0) + 1
        if (judgement !== 'held') {
          const moment = Math.max(0, lastMoment())
          this.#found[place] = { why: judgement.violated, at: seen.at, moment }
        }
        return judgement
      },
    }))
    this.goals = goals.map((goal, place) => ({
      ...goal,
      reached: (memory, seen) => {
        const isReached = goal.reached(memory, seen)
        if (isReached) this.#counts[place] = (this.#counts[place] ?? 0) + 1
        return isReached
      },
    }))
  }

  verdicts(): readonly Verdict[] {
    return this.specs.map((spec, place): Verdict => {
      const { name, title } = spec
      const judged = this.#judged[place] ?? 0
      const found = this.#found[place] ?? null
      if (found !== null) return { name, title, verdict: 'violated', judged, ...found }
      const never = { name, title, judged, at: null, moment: null }
      if (judged > 0) return { ...never, verdict: 'held', why: `judged ${timesText(judged)}` }
      const verdict = vacuous(spec)
      return { ...never, verdict: 'vacuous', why: 'why' in verdict ? verdict.why : '' }
    })
  }

  reached(): Picture['goals'] {
    return this.goals.map(({ name, title }, place) => ({ name, title, count: this.#counts[place] ?? 0 }))
  }
}

function timesText(count: number): string {
  return count === 1 ? 'once' : `${count.toLocaleString('en')} times`
}
