/** How a run is observed. */
import { type Definition, type NodeId, type PlainObject, present } from '../../core/index.ts'
import { type Goal, goalNamed, type RunFacts, type Spec, specNamed } from '../specs/index.ts'
import type { Observation, TraceRecord } from '../trace/index.ts'

export type RunOptions = {
  /** Replace the specifications that the protocol promises. */
  readonly specs?: readonly Spec[]
  readonly goals?: readonly Goal[]
  /** Receives each observation as it happens. */
  readonly observe?: (seen: Observation) => void
  readonly record?: (record: TraceRecord) => void
  /** Checks the protocol's contract at every step. Slow. */
  readonly strict?: boolean
}

/** The facts of a run that specifications may use. */
export function factsOf(definition: Definition, nodes: readonly NodeId[], options: PlainObject): RunFacts {
  return {
    nodes,
    prefers: definition.prefers,
    constants: definition.constants(options, nodes.length),
    neverLead: definition.neverLead(options),
  }
}

export function promisedSpecs(definition: Definition, options: PlainObject): readonly Spec[] {
  return definition
    .keeps(options)
    .promises.map((name) => present(specNamed(name), `the specification "${name}"`))
}

export function promisedGoals(definition: Definition, options: PlainObject): readonly Goal[] {
  return definition.keeps(options).goals.map((name) => present(goalNamed(name), `the goal "${name}"`))
}
