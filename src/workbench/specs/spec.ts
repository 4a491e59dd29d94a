/**
 * A specification: a fold over the observations of a run, and a judgement.
 *
 * The fold returns the same memory if an observation changes nothing. The judgement says of one observation,
 * given the memory after it, whether it concerns the requirement, and if so whether the requirement holds. A
 * requirement that a whole run never concerned was not tested, and is reported as vacuous.
 */
import type { Constants, NodeId, Plain } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'

/** Facts that are fixed for a whole run. */
export type RunFacts = {
  readonly nodes: readonly NodeId[]
  readonly prefers: 'highest' | 'lowest'
  /** Durations that the protocol's definition names. */
  readonly constants: Constants
  /** Nodes that never lead; by default none. */
  readonly neverLead?: readonly NodeId[]
}

export type Fold<M extends Plain = Plain> = {
  begin(run: RunFacts): M
  next(memory: M, seen: Observation): M
}

export type Judgement = 'not concerned' | 'held' | { readonly violated: string }

export type Spec<M extends Plain = Plain> = {
  readonly name: string
  /** The requirement in one sentence. */
  readonly title: string
  /** Where it is stated, and what was changed. */
  readonly source: string
  /**
   * `always`: at every moment. `settled`: once the system has had time to settle. `state`: of every whole
   * state.
   */
  readonly when: 'always' | 'settled' | 'state'
  readonly fold: Fold<M>
  judge(memory: M, seen: Observation, run: RunFacts): Judgement
}

/**
 * Something that a thorough run must reach at least once. Without it, a run without violations means little.
 */
export type Goal<M extends Plain = Plain> = {
  readonly name: string
  readonly title: string
  readonly fold: Fold<M>
  /** Given the memory before the observation. */
  reached(memory: M, seen: Observation): boolean
}
