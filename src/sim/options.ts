/** How a run is watched. */
import { type Definition, present } from '../core/index.ts'
import { type Goal, goalNamed, type Spec, specNamed } from '../specs/index.ts'
import type { Observation, TraceRecord } from '../trace/index.ts'

export type RunOptions = {
  /** Instead of those that the protocol promises. */
  readonly specs?: readonly Spec[]
  readonly goals?: readonly Goal[]
  /** Told all that can be seen from outside, as it happens. */
  readonly observe?: (seen: Observation) => void
  readonly record?: (record: TraceRecord) => void
  /** Holds the protocol to the contract at every step. Slow. */
  readonly strict?: boolean
}

export function promisedSpecs(definition: Definition): readonly Spec[] {
  return definition.promises.map((name) => present(specNamed(name), `the specification "${name}"`))
}

export function promisedGoals(definition: Definition): readonly Goal[] {
  return definition.goals.map((name) => present(goalNamed(name), `the goal "${name}"`))
}
