/** Explores a protocol in a small world and reports the result: the library side of `conclave explore`. */
import type { Definition, NodeId, Outcome, PlainObject } from '../../core/index.ts'
import { sortIds } from '../../core/index.ts'
import { factsOf, promisedGoals, promisedSpecs, type ScheduleStep } from '../scenario/index.ts'
import { type Goal, type GoalCount, monitor, type Spec, type SpecVerdict } from '../specs/index.ts'
import { type Budget, DEFAULT_LINK_HISTORY, type LinkHistory } from '../untimed/index.ts'
import type { Violation } from './judge.ts'
import { findLivelock, livelockBytes } from './livelock.ts'
import { Model } from './model.ts'
import { type CutShort, type SearchProgress, type SearchResult, search } from './search.ts'

export type ExploreSettings = {
  readonly definition: Definition
  readonly nodes: readonly NodeId[]
  /** With defaults filled in. */
  readonly options: PlainObject
  readonly budget: Budget
  readonly from: 'boot' | 'settled'
  /** Steps to take first. The search starts in the state they lead to. They cost nothing of the budget. */
  readonly after?: readonly ScheduleStep[]
  /** The nodes of the settled component, if not all; the other nodes start alone. */
  readonly members?: readonly NodeId[]
  /** The link semantics where nodes are notified of link changes. */
  readonly history?: LinkHistory
  readonly order: 'fifo' | 'any'
  readonly timers: 'any' | 'quiet'
  readonly depth: number
  readonly maxStates: number
  readonly memoryMB: number
  /** Also look for deadlocks and livelocks, after a complete search. */
  readonly progress: boolean
  /** Replace the specifications that the protocol promises. */
  readonly specs?: readonly Spec[]
  readonly goals?: readonly Goal[]
}

/** What the caller provides: a clock, and a check whether to continue. */
export type ExploreHooks = {
  seconds(): number
  shouldContinue(progress: SearchProgress): boolean
}

export type ExploreReport = {
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly states: number
  readonly transitions: number
  readonly depth: number
  /** Whether the search saw every state within the fault budget. */
  readonly complete: boolean
  readonly cutShort: CutShort | null
  readonly seconds: number
  readonly statesPerSecond: number
  readonly bytesPerState: number
  /** Transitions per run of protocol code. */
  readonly reuse: number
  readonly specs: readonly SpecVerdict[]
  readonly goals: readonly GoalCount[]
  readonly progress: ProgressVerdict
  readonly counterexample: ExploredCounterexample | null
}

/** `deadlock`: the counterexample ends in a state where only faults can happen. */
export type ProgressVerdict =
  | { readonly verdict: 'held' }
  | { readonly verdict: 'deadlock' | 'livelock' }
  | { readonly verdict: 'not checked'; readonly why: string }

export type ExploredCounterexample = {
  readonly spec: string
  readonly why: string
  readonly steps: readonly ScheduleStep[]
  /** Number of steps at the end that repeat for ever; 0 if the last step is the violation. */
  readonly cycle: number
  /** Runs with `conclave sim`. */
  readonly scenario: PlainObject
}

/**
 * The specification that a livelock violates. It has no monitor, because no single finite run can show it.
 */
export const PROGRESS = 'progress'

export function explore(settings: ExploreSettings, hooks: ExploreHooks): ExploreReport {
  const { definition, nodes, options, budget, order, timers } = settings
  const { history = DEFAULT_LINK_HISTORY, members = nodes, after = [] } = settings
  const initial = settings.from === 'settled' ? settledOutcome(definition, members) : null
  const watched = monitor(
    settings.specs ?? promisedSpecs(definition, options),
    settings.goals ?? promisedGoals(definition, options),
    factsOf(definition, nodes, options),
  )
  const model = new Model({
    definition,
    nodes,
    options,
    order,
    timers,
    initial,
    after,
    budget,
    history,
    monitor: watched,
  })
  const began = hooks.seconds()
  const memoryBytes = settings.memoryMB * 1_000_000
  const found = search(
    model,
    { depth: settings.depth, maxStates: settings.maxStates, memoryBytes },
    hooks.shouldContinue,
  )
  const seconds = Math.max(hooks.seconds() - began, 1e-6)
  const specs = verdicts(model.judge.verdicts(), found.counterexample)
  const goals = model.judge.goals()
  const { visited, transitions, depth, cutShort } = found
  const stuck = checkLivelock(settings, model, found, memoryBytes)
  const scenarioOf = (schedule: readonly ScheduleStep[]): PlainObject => ({
    protocol: definition.name,
    nodes,
    options,
    seed: 1,
    ...(initial === null ? {} : { initial }),
    network: { fifo: order === 'fifo', ...(definition.links(options) === 'reported' ? history : {}) },
    schedule: [...after, ...schedule],
  })
  return {
    protocol: definition.name,
    nodes,
    options,
    states: visited.size,
    transitions,
    depth,
    complete: cutShort === null,
    cutShort,
    seconds,
    statesPerSecond: Math.round(visited.size / seconds),
    bytesPerState: visited.bytes / visited.size,
    reuse: transitions / model.runs,
    specs,
    goals,
    progress: stuck.progress,
    counterexample: counterexample(found, stuck, scenarioOf),
  }
}

/** The state after an election among all nodes: the preferred node leads. */
export function settledOutcome(definition: Definition, nodes: readonly NodeId[]): Outcome {
  const leader = sortIds(nodes).at(definition.prefers === 'highest' ? -1 : 0) as NodeId
  return { leader, members: nodes }
}

function verdicts(
  held: readonly SpecVerdict[],
  found: { readonly violation: Violation; readonly steps: readonly ScheduleStep[] } | null,
): readonly SpecVerdict[] {
  if (found === null) return held
  const { all } = found.violation
  return held.map((verdict) => {
    const violated = all.find(({ spec }) => spec === verdict.name)
    if (violated === undefined) return verdict
    return { name: verdict.name, verdict: 'violated', atMs: found.steps.length, why: violated.why }
  })
}

type LivelockResult = { readonly progress: ProgressVerdict; readonly found: ReturnType<typeof findLivelock> }

function checkLivelock(
  settings: ExploreSettings,
  model: Model,
  { visited, transitions, cutShort, counterexample: violation }: SearchResult,
  memoryBytes: number,
): LivelockResult {
  const notChecked = (why: string): LivelockResult => ({
    progress: { verdict: 'not checked', why },
    found: null,
  })
  if (!settings.progress) return notChecked('not asked for')
  if (violation?.isDeadEnd === true) return { progress: { verdict: 'deadlock' }, found: null }
  if (cutShort !== null) return notChecked('the search is not complete')
  // A node that waits for the end of a lock would seem to wait for ever.
  if (settings.budget.ticks > 0) return notChecked('time stands still once the ticks are used up')
  const needed = livelockBytes(visited, transitions) + visited.bytes
  if (needed > memoryBytes) return notChecked(`it needs ${Math.ceil(needed / 1_000_000)} MB of memory`)
  const found = findLivelock(model, visited, transitions)
  return { progress: { verdict: found === null ? 'held' : 'livelock' }, found }
}

function counterexample(
  { counterexample: found }: SearchResult,
  { found: stuck }: LivelockResult,
  scenarioOf: (steps: readonly ScheduleStep[]) => PlainObject,
): ExploredCounterexample | null {
  if (found !== null) {
    const { spec, why } = found.violation
    return { spec, why, steps: found.steps, cycle: 0, scenario: scenarioOf(found.steps) }
  }
  if (stuck === null) return null
  const { steps, cycle } = stuck
  const why = `livelock: no settled state can be reached, and the last ${cycle} steps can repeat for ever`
  return { spec: PROGRESS, why, steps, cycle, scenario: scenarioOf(steps) }
}
