/**
 * Trials: wait until a leader is established, inject one fault, and time the recovery.
 *
 * Everything except the fault comes from the seed: delays, drift, timer lateness, the phase of the fault.
 * Many seeds give a distribution; the same seeds give the same distribution.
 */
import type { Definition, Micros, NodeId } from '../../core/index.ts'
import { factsOf, promisedSpecs } from '../scenario/options.ts'
import { Random } from '../scenario/random.ts'
import type { Scenario, ScenarioEvent, Span } from '../scenario/scenario.ts'
import { monitor, Watch } from '../specs/index.ts'
import {
  addDistributions,
  type Distribution,
  EMPTY_DISTRIBUTION,
  type Observation,
  type TraceRecord,
  withCensored,
  withSample,
} from '../trace/index.ts'
import { World } from './world.ts'

/** An event whose time is not yet drawn. */
type UndatedEvent<E> = E extends unknown ? Omit<E, 'atMs'> : never

/** The fault to inject, and the nodes that should have a leader afterwards. */
export type TrialFault = {
  readonly events: readonly UndatedEvent<ScenarioEvent>[]
  readonly among: readonly NodeId[]
}

/** The same for every run of a trial. */
export type TrialSettings = {
  readonly nodes: readonly NodeId[]
  readonly options: Scenario['options']
  /** Each seed draws one of these. */
  readonly delaysMs: readonly [Span, ...Span[]]
  readonly latenessMs: readonly [Span, ...Span[]]
  readonly loss: number
  /** For protocols with shared registers: how long accesses take, and the caller's timeout. */
  readonly store?: { readonly delaysMs: readonly [Span, ...Span[]]; readonly timeoutMs: number }
  readonly driftPpm: number
  /** How long the world is left alone before the fault: minimum and maximum. */
  readonly calm: readonly [Micros, Micros]
  /** How long it is observed after the fault. */
  readonly watched: Micros
}

/** Durations from the fault on. */
export type Durations = {
  /** The first candidacy among the nodes that should have a leader. */
  readonly detected: Micros | null
  /** When these nodes had a leader again; 0 if they always had one, null if they have none. */
  readonly restored: Micros | null
  /** When the last other leader stopped; 0 if there was none, null if one still leads. */
  readonly stopped: Micros | null
}

export type TrialTally = {
  readonly runs: number
  /** Runs without a leader at the time of the fault. They are not counted. */
  readonly idle: number
  readonly detected: Distribution
  readonly restored: Distribution
  readonly stopped: Distribution
  readonly violations: readonly { readonly seed: number; readonly spec: string; readonly why: string }[]
}

export const EMPTY_TRIALS: TrialTally = {
  runs: 0,
  idle: 0,
  detected: EMPTY_DISTRIBUTION,
  restored: EMPTY_DISTRIBUTION,
  stopped: EMPTY_DISTRIBUTION,
  violations: [],
}

export function addTrials(a: TrialTally, b: TrialTally): TrialTally {
  return {
    runs: a.runs + b.runs,
    idle: a.idle + b.idle,
    detected: addDistributions(a.detected, b.detected),
    restored: addDistributions(a.restored, b.restored),
    stopped: addDistributions(a.stopped, b.stopped),
    violations: [...a.violations, ...b.violations].sort((x, y) => x.seed - y.seed),
  }
}

/** Makes the phase of the fault independent of the first delay that the world draws. */
const OWN_SEEDS = 0x9e37_79b9

/** One run. `faultFor` builds the fault for the current leader. */
export function runTrial(
  definition: Definition,
  settings: TrialSettings,
  faultFor: (leader: NodeId, random: Random) => TrialFault,
  seed: number,
): TrialTally {
  const random = new Random((seed ^ OWN_SEEDS) >>> 0)
  const scenario = scenarioOf(definition, settings, random, seed)
  const watch = new Watch(
    monitor(
      promisedSpecs(definition, scenario.options),
      [],
      factsOf(definition, scenario.nodes, scenario.options),
    ),
  )
  const stopwatch = new Stopwatch()
  const world = new World(
    definition,
    scenario,
    {
      observe(seen) {
        watch.observe(seen)
        stopwatch.observe(seen)
      },
      record: null,
    },
    false,
  )
  const at = random.integer(...settings.calm)
  world.run(at)
  const leader = stopwatch.leaderAt(at)
  if (leader === null) return { ...EMPTY_TRIALS, runs: 1, idle: 1 }
  const { events, among } = faultFor(leader, random)
  stopwatch.start(at, among, events.some(isDelayedCrash))
  for (const event of events) world.applyEvent({ ...event, atMs: at / 1000 })
  let end = at
  while (end < at + settings.watched && !stopwatch.isOver(end)) {
    end = Math.min(at + settings.watched, end + settings.watched / 16)
    world.run(Math.ceil(end))
  }
  world.finish()
  const { detected, restored, stopped } = stopwatch.result(Math.ceil(end))
  const violated = watch.verdicts().filter((spec) => spec.verdict === 'violated')
  return {
    runs: 1,
    idle: 0,
    detected: distributionOf(detected),
    restored: distributionOf(restored),
    stopped: distributionOf(stopped),
    violations: violated.map(({ name, why }) => ({ seed, spec: name, why })),
  }
}

function distributionOf(sample: Micros | null): Distribution {
  return sample === null ? withCensored(EMPTY_DISTRIBUTION) : withSample(EMPTY_DISTRIBUTION, sample)
}

/** Such a crash happens during a later step that has enough effects. */
function isDelayedCrash(event: TrialFault['events'][number]): boolean {
  return 'afterEffects' in event
}

function scenarioOf(definition: Definition, settings: TrialSettings, random: Random, seed: number): Scenario {
  const { store } = settings
  return {
    protocol: definition.name,
    nodes: settings.nodes,
    options: settings.options,
    seed,
    links: 'full',
    network: {
      delayMs: random.pick(settings.delaysMs),
      loss: settings.loss,
      duplicate: 0,
      fifo: definition.order === 'fifo',
      rules: [],
    },
    clocks: { driftPpm: settings.driftPpm, lateMs: random.pick(settings.latenessMs) },
    registers:
      store === undefined
        ? null
        : { delayMs: random.pick(store.delaysMs), late: 0, lateMs: 0, timeoutMs: store.timeoutMs },
    initial: null,
    events: [],
    untilMs: 0,
    checkpointsMs: [],
    schedule: null,
  }
}

/**
 * The traffic of a group without faults: datagrams per kind and their total length; per node the writes and
 * read rounds on shared registers.
 */
export type SteadyState = {
  readonly micros: Micros
  readonly kinds: { readonly [kind: string]: { readonly count: number; readonly bytes: number } }
  readonly accesses: ReadonlyMap<NodeId, { readonly writes: number; readonly rounds: number }>
}

/** Observes an undisturbed world for a while, after it has settled. */
export function steadyState(definition: Definition, settings: TrialSettings, seed: number): SteadyState {
  const random = new Random((seed ^ OWN_SEEDS) >>> 0)
  const kinds: { [kind: string]: { count: number; bytes: number } } = {}
  const accesses = new Map<NodeId, { writes: number; rounds: number }>()
  const [, begin] = settings.calm
  const hooks = {
    observe: () => {},
    record(record: TraceRecord) {
      if (record.at < begin || (record.type !== 'step' && record.type !== 'start')) return
      const calls = record.effects.flatMap((effect) => (effect.type === 'register' ? [effect.call] : []))
      const before = accesses.get(record.node) ?? { writes: 0, rounds: 0 }
      // Reads in the same step form one round.
      accesses.set(record.node, {
        writes: before.writes + calls.filter(({ op }) => op !== 'read').length,
        rounds: before.rounds + (calls.some(({ op }) => op === 'read') ? 1 : 0),
      })
      for (const effect of record.effects) {
        if (effect.type !== 'send') continue
        const kind = definition.kindOf(effect.body)
        const sum = kinds[kind] ?? { count: 0, bytes: 0 }
        // As long as the canonical text, whose fields are sorted, and several times as fast.
        kinds[kind] = { count: sum.count + 1, bytes: sum.bytes + JSON.stringify(effect.body).length }
      }
    },
  }
  const world = new World(definition, scenarioOf(definition, settings, random, seed), hooks, false)
  world.run(begin + settings.watched)
  return { micros: settings.watched, kinds, accesses }
}

/** Tracks the leases of leaders and takes the times from the fault on. */
class Stopwatch {
  /** The end of each leader's lease, in true time. */
  readonly #leases = new Map<NodeId, Micros>()
  #startedAt: Micros | null = null
  #awaitsCrash = false
  #among: readonly NodeId[] = []
  #detected: Micros | null = null
  /** Since when one of the relevant nodes leads, and when the last other leader stopped. */
  #ledSince: Micros | null = null
  #stopped: Micros = 0

  observe(seen: Observation): void {
    if (seen.type === 'down') {
      this.#ends(seen.node, seen.at)
      if (this.#awaitsCrash) {
        this.#awaitsCrash = false
        this.#startedAt = seen.at
        this.#ledSince = null
      }
    } else if (seen.type === 'view') {
      const { node, at, view, until } = seen
      if (view.role === 'leader') this.#begins(node, at, until ?? Number.POSITIVE_INFINITY)
      else {
        this.#ends(node, at)
        if (view.role === 'candidate') this.#stands(node, at)
      }
    }
  }

  leaderAt(at: Micros): NodeId | null {
    for (const [node, until] of this.#leases) if (until > at) return node
    return null
  }

  start(at: Micros, among: readonly NodeId[], awaitsCrash: boolean): void {
    this.#among = among
    this.#startedAt = at
    this.#awaitsCrash = awaitsCrash
    this.#ledSince = among.some((node) => (this.#leases.get(node) ?? 0) > at) ? at : null
  }

  /** Whether the trial is over: the nodes without a leader have one again, and no other node leads. */
  isOver(at: Micros): boolean {
    this.#lapse(at)
    const others = [...this.#leases.keys()].some((node) => !this.#among.includes(node))
    return !this.#awaitsCrash && this.#ledSince !== null && this.#ledSince > (this.#startedAt ?? 0) && !others
  }

  result(at: Micros): Durations {
    this.#lapse(at)
    const begin = this.#startedAt ?? 0
    const others = [...this.#leases.keys()].some((node) => !this.#among.includes(node))
    return {
      detected: this.#detected === null ? null : this.#detected - begin,
      restored: this.#awaitsCrash || this.#ledSince === null ? null : Math.max(0, this.#ledSince - begin),
      stopped: others ? null : Math.max(0, this.#stopped - begin),
    }
  }

  #begins(node: NodeId, at: Micros, until: Micros): void {
    this.#lapse(at)
    this.#leases.set(node, until)
    if (this.#among.includes(node)) this.#ledSince ??= at
  }

  #stands(node: NodeId, at: Micros): void {
    if (this.#startedAt === null || this.#awaitsCrash || this.#detected !== null) return
    if (this.#among.includes(node)) this.#detected = at
  }

  #ends(node: NodeId, at: Micros): void {
    this.#lapse(at)
    if (this.#leases.has(node)) this.#over(node, at)
  }

  /** A lease ends at its deadline, whether or not its holder has noticed. */
  #lapse(at: Micros): void {
    for (const [node, until] of this.#leases) if (until <= at) this.#over(node, until)
  }

  #over(node: NodeId, at: Micros): void {
    this.#leases.delete(node)
    if (!this.#among.includes(node)) this.#stopped = Math.max(this.#stopped, at)
    else if (![...this.#leases.keys()].some((other) => this.#among.includes(other))) this.#ledSince = null
  }
}
