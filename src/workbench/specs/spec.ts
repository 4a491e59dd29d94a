/**
 * What a specification is: a fold over what can be seen of a run, and a judgement.
 *
 * The fold remembers; it returns the same memory when an observation changes nothing. The judgement says of
 * one observation, given the memory after it, whether the requirement is concerned at all, and then whether
 * it holds. A requirement that was never concerned in a whole run has not been tested, and is reported so.
 */
import type { Constants, NodeId, Plain } from '../../core/index.ts'
import type { Observation } from '../trace/index.ts'

/** What is fixed for a whole run. */
export type RunFacts = {
  readonly nodes: readonly NodeId[]
  readonly prefers: 'highest' | 'lowest'
  /** Durations that the protocol's definition names. */
  readonly constants: Constants
  /** Nodes that never lead; none unless said. */
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
  /** `always`: at every moment. `settled`: once the system has had time to settle. `state`: of every state as a whole. */
  readonly when: 'always' | 'settled' | 'state'
  readonly fold: Fold<M>
  judge(memory: M, seen: Observation, run: RunFacts): Judgement
}

/** Something that a thorough run must have seen at least once; without it a run without violations says little. */
export type Goal<M extends Plain = Plain> = {
  readonly name: string
  readonly title: string
  readonly fold: Fold<M>
  /** Given the memory before the observation. */
  reached(memory: M, seen: Observation): boolean
}
