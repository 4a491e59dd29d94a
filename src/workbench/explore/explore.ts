/** Explores a protocol in a small world and reports: what `conclave explore` prints. */
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
  /** Resolved: every option has its value. */
  readonly options: PlainObject
  readonly budget: Budget
  readonly from: 'boot' | 'settled'
  /** Steps that are taken first: the search begins in the world to which they lead. They cost nothing of the budget. */
  readonly after?: readonly ScheduleStep[]
  /** Who is in the settled component, where that is not everybody: the others begin alone. */
  readonly members?: readonly NodeId[]
  /** What holds for links of which nodes are told. */
  readonly history?: LinkHistory
  readonly order: 'fifo' | 'any'
  readonly timers: 'any' | 'quiet'
  readonly depth: number
  readonly maxStates: number
  readonly memoryMB: number
  /** Look for deadlocks and livelocks, too, once everything has been seen. */
  readonly progress: boolean
  /** Instead of those that the protocol promises. */
  readonly specs?: readonly Spec[]
  readonly goals?: readonly Goal[]
}

/** The world outside: how time passes there, and whether to go on. */
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
  /** Whether everything within the fault budget was seen. */
  readonly complete: boolean
  readonly cutShort: CutShort | null
  readonly seconds: number
  readonly statesPerSecond: number
  readonly bytesPerState: number
  /** Transitions for each run of protocol code. */
  readonly reuse: number
  readonly specs: readonly SpecVerdict[]
  readonly goals: readonly GoalCount[]
  readonly progress: ProgressVerdict
  readonly counterexample: ExploredCounterexample | null
}

/** `deadlock`: the counterexample ends where nothing but faults can happen any more. */
export type ProgressVerdict =
  | { readonly verdict: 'held' }
  | { readonly verdict: 'deadlock' | 'livelock' }
  | { readonly verdict: 'not checked'; readonly why: string }

export type ExploredCounterexample = {
  readonly spec: string
  readonly why: string
  readonly steps: readonly ScheduleStep[]
  /** How many steps at the end repeat for ever; 0 where the end is the violation. */
  readonly cycle: number
  /** Runs with `conclave sim`. */
  readonly scenario: PlainObject
}

/** The specification that a stuck state violates; it has no monitor, because no single run can show it. */
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

/** As after an election among all: the preferred node leads. */
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
  // Whoever waits for the end of a lock would seem to wait for ever.
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
