/** How a run is observed. */
import {
  type Definition,
  type JudgedOptions,
  type Micros,
  type NodeId,
  type Plain,
  type PlainObject,
  present,
} from '../../core/index.ts'
import { type Goal, goalNamed, type RunFacts, type Spec, specNamed } from '../specs/index.ts'
import type { Observation, TraceRecord } from '../trace/index.ts'
import type { Scenario } from './scenario.ts'

export type RunOptions = {
  /** Replace the specifications that the protocol promises. */
  readonly specs?: readonly Spec[]
  readonly goals?: readonly Goal[]
  /** Receives each observation as it happens. */
  readonly observe?: (seen: Observation) => void
  /** Receives each record of the trace, and the states that it changes. */
  readonly record?: RecordHook
  readonly inspect?: RunInspector
  /** Checks the protocol's contract at every step. Slow. */
  readonly strict?: boolean
}

/** A node's state after a record; null while it is down. `stable`: what it persisted last. */
export type NodeState = { readonly node: NodeId; readonly state: Plain; readonly stable: Plain }

/** `states`: of the nodes whose state the record changes. */
export type RecordHook = (record: TraceRecord, states: readonly NodeState[]) => void

/** From this true instant on the clock shows this and runs at this rate; 0: it stands still. */
export type ClockReading = { readonly from: Micros; readonly shows: Micros; readonly rate: number }

/** The network from an instant on. Links are listed by direction. */
export type NetworkReading = {
  readonly from: Micros
  /** Links that lose every message. */
  readonly closed: readonly (readonly [from: NodeId, to: NodeId])[]
  readonly slow: readonly (readonly [from: NodeId, to: NodeId])[]
  readonly loss: number
  readonly duplicate: number
}

/** What a trace does not say of a run, as it happens. All instants are true time. The untimed world reports only links. */
export type RunInspector = {
  /** How the node's clock will run from `at` on, unless another call says otherwise. */
  clock(node: NodeId, at: Micros, readings: readonly ClockReading[]): void
  /** When the node's timer will be due; null: it is stopped. A timer that fires or a crash is not reported. */
  timer(node: NodeId, at: Micros, name: string, due: Micros | null): void
  network(reading: NetworkReading): void
}

/** By which options the run of a scenario is judged. */
export function judgedOptions(
  definition: Definition,
  { options, nodeOptions = {}, events }: Scenario,
): JudgedOptions<PlainObject> {
  const commands = events.flatMap((event) => ('command' in event ? [event.command] : []))
  return definition.judgedBy(options, [...Object.values(nodeOptions), ...commands])
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
