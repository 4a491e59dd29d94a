/**
 * The description of a guarantee card: the bounds that follow from the constants of a protocol, the simulations that check
 * them, and the text. `src/workbench/guarantees` runs the simulations and completes the card.
 */
import type { Command, Micros, NodeId, Plain, PlainObject } from '../core/index.ts'
import type { Chosen, Problem, ProfileName } from './hosting.ts'

/** Milliseconds, or a range of them. */
export type Span = number | readonly [least: number, most: number]

/** The configuration of a card from a file and flags, after the checks that all protocols share. */
export type PlanAsked = {
  readonly nodes: readonly NodeId[]
  readonly voters?: readonly NodeId[]
  readonly observers?: readonly NodeId[]
  readonly witnesses?: readonly NodeId[]
  readonly profile?: ProfileName
  readonly mode?: 'local' | 'majority'
  /** Options of the protocol from the file. `chosen`: options from flags, which override them. */
  readonly options: PlainObject
  readonly chosen: PlainObject
  readonly network?: { readonly delayMs?: Span; readonly loss?: number }
  readonly registers?: { readonly delayMs?: Span }
  readonly store?: PlannedStore
  readonly seeds: number
}

/** The configured store: its kind, whether a weak store is accepted, and assumptions that conclave cannot check. */
export type PlannedStore = {
  readonly kind: string
  readonly acceptWeak: boolean
  readonly assumed: readonly string[]
}

/** Fields of the configuration file that only some protocols accept. */
export type PlanField =
  | 'group'
  | 'id'
  | 'voters'
  | 'observers'
  | 'witnesses'
  | 'profile'
  | 'network'
  | 'registers'
  | 'store'

/** The checked configuration of a card. Plain data, so that it can be sent to worker threads. */
export type Plan = { readonly asked: PlanAsked; readonly options: PlainObject }

export type Planning = {
  readonly fields: readonly PlanField[]
  readonly leastNodes: number
  readonly mostNodes: number
  /** The default number of runs of each main trial. */
  readonly seeds: number
  /** The options before defaults are filled in. */
  optionsFor(asked: PlanAsked): Chosen
  /** The problems with the options, once defaults are filled in. */
  problemsWith(options: PlainObject, asked: PlanAsked): readonly Problem[]
  /** With several levels: of the worst. */
  describe(plan: Plan): PlanDescription
  /**
   * Where the timing adapts: the levels that get a card each, from the shortest leases to the longest. `present`: the level
   * of a running group, if it is known. Null: the timing is fixed, and there is one card.
   */
  levels?(plan: Plan, present: number | null): readonly PlannedLevel[] | null
}

/** A level of adaptive timing, and the same configuration with this level only. */
export type PlannedLevel = {
  readonly names: readonly ('best' | 'present' | 'worst')[]
  readonly level: number
  readonly lease: Micros
  readonly plan: Plan
}

export type PlanDescription = TrialPlan | MilestonePlan

// ---- Trials: one fault in a steady world, many seeds ----

/** A fault of a trial. */
export type TrialEvent =
  | { readonly crash: NodeId; readonly afterEffects?: number }
  | { readonly recover: NodeId }
  | { readonly pause: NodeId; readonly forMs: number }
  | { readonly hang: 'store'; readonly forMs: number }
  | { readonly partition: readonly (readonly NodeId[])[] }
  | { readonly cut: readonly (readonly [NodeId, NodeId])[] }
  | { readonly cutOneWay: readonly (readonly [NodeId, NodeId])[] }
  | { readonly command: Command & { readonly node: NodeId } }

/** The faults of a trial, and the nodes among which a leader is expected afterwards. */
export type TrialFault = { readonly events: readonly TrialEvent[]; readonly among: readonly NodeId[] }

/** The world of a trial. */
export type TrialWorld = {
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  /** Each seed draws one of these. */
  readonly delaysMs: readonly [Span, ...Span[]]
  readonly latenessMs: readonly [Span, ...Span[]]
  readonly loss: number
  /** Shared registers: how long accesses take, and when a caller gives up. */
  readonly store?: { readonly delaysMs: readonly [Span, ...Span[]]; readonly timeoutMs: number }
  readonly driftPpm: number
  /** The minimum and maximum time without faults before the fault. */
  readonly calm: readonly [Micros, Micros]
  /** How long the world is observed after the fault. */
  readonly watched: Micros
}

/** The random draws that a fault may need. */
export type Draw = { integer(least: number, most: number): number }

export type PlannedTrial = {
  readonly name: string
  /** The fault, in words. */
  readonly what: string
  /** The share of the seeds that this trial runs. Trials with all seeds (1) are not listed among the shapes. */
  readonly share: number
  readonly settings: TrialWorld
  readonly fault: (leader: NodeId, random: Draw) => TrialFault
  /** The promised bound until a node leads again. Null: no bound. `never`: no node leads. */
  readonly restoredWithin: Micros | null | 'never'
  /** The promised bound until the old leader has stopped; null: no bound. */
  readonly stoppedWithin: Micros | null
}

/** The trials in which a figure is measured, all together. */
export type MeasuredIn = {
  readonly trials: readonly string[]
  readonly of: 'detected' | 'restored' | 'stopped'
}

/** A computed time, and the trials that measure it: `usual` in ordinary worlds, `worst` in the worst allowed ones. */
export type PlannedFigure = {
  readonly name: string
  readonly title: string
  /** Null if it can never happen: the figure is then omitted. */
  readonly computed: { readonly typical: Micros | null; readonly worst: Micros } | null
  readonly usual: MeasuredIn | null
  readonly worst: MeasuredIn
}

/** Messages and accesses of a steady world. */
export type SteadyLoad = {
  readonly micros: Micros
  readonly kinds: { readonly [kind: string]: { readonly count: number; readonly bytes: number } }
  readonly accesses: ReadonlyMap<NodeId, { readonly writes: number; readonly rounds: number }>
}

/** The computed and the measured load. */
export type LoadCard = {
  /** For `--json`. */
  readonly card: Plain
  /** The names of loads that exceeded the computed load. */
  readonly exceeded: readonly string[]
  /** As a table. A row that exceeds the computed load is marked. */
  readonly rows: readonly { readonly cells: readonly string[]; readonly exceeded: boolean }[]
}

export type TrialPlan = {
  readonly kind: 'trials'
  /** The fields of the card before the measurements. */
  readonly card: PlainObject
  /** How many nodes may fail. */
  readonly tolerance: PlainObject
  readonly trials: readonly PlannedTrial[]
  readonly steady: TrialWorld
  readonly figures: readonly PlannedFigure[]
  /** Whether a world may have no leader before the fault. */
  readonly mayBeIdle: boolean
  /** For `conclave chaos`: until another node leads, until an isolated leader has stopped, and the silence of a restarted node. */
  readonly bounds: { readonly failOver: Micros | null; readonly leaseEnd: Micros; readonly silence: Micros }
  /** The name of the load in the card, and how it is measured. */
  readonly load: { readonly field: string; measure(steady: SteadyLoad): LoadCard }
  readonly text: TrialText
}

/** The sentences of the card. */
export type TrialText = {
  readonly headline: string
  readonly assumes: readonly string[]
  /** The assumptions that the simulated world breaks. */
  readonly broken: readonly string[]
  readonly advice: readonly string[]
  /** The names of the ordinary and the worst worlds. `worldsMean` explains them. */
  readonly worlds: readonly [usual: string, worst: string]
  readonly worldsMean: string
  readonly overlap: readonly string[]
  /** What precedes the time until a node leads after a fault, and the time until the old leader has stopped. */
  readonly leaderWords: string
  readonly stoppedWords: string
  readonly shapesMean: readonly string[]
  readonly tolerance: readonly string[]
  readonly loadTitle: string
  readonly loadMeans: readonly string[]
}

// ---- Milestones: outputs of a group after a fault, in order ----

export type Milestone = {
  readonly name: string
  /** The output that marks it. The last one after the fault counts. */
  readonly output: string
  readonly computed: { readonly typical: number; readonly worst: number }
}

export type MilestonePlan = {
  readonly kind: 'milestones'
  /** The fields of the card that need no simulation. */
  readonly card: PlainObject
  readonly seeds: number
  /** A run: a scenario in the format of a scenario file, and the time of its fault. */
  run(seed: number): { readonly scenario: PlainObject; readonly faultMs: number }
  readonly milestones: readonly Milestone[]
  /** The rate of messages between these times of a run without faults, per pair and second. `most`: the computed rate. */
  readonly idle: {
    scenario(untilMs: number): PlainObject
    readonly betweenMs: readonly [number, number]
    readonly pairs: number
    readonly most: number
  }
  readonly text: {
    readonly headline: string
    readonly assumes: readonly string[]
    readonly tolerance: readonly string[]
    idle(measured: number): string
  }
}
