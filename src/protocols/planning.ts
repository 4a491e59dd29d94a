/**
 * The guarantee card of a protocol, described: what is computed from the constants, what is tried in simulated worlds to
 * check it, and how both are told. `src/workbench/guarantees` runs the simulations and fills the card in.
 */
import type { Command, Micros, NodeId, Plain, PlainObject } from '../core/index.ts'
import type { Chosen, Problem } from './hosting.ts'

/** Milliseconds, or a range of them. */
export type Span = number | readonly [least: number, most: number]

/** What a card is asked for: a file and flags, checked as far as every protocol wants it. Absent: not given. */
export type PlanAsked = {
  readonly nodes: readonly NodeId[]
  readonly voters?: readonly NodeId[]
  readonly observers?: readonly NodeId[]
  readonly witnesses?: readonly NodeId[]
  readonly profile?: 'lan' | 'region' | 'wan'
  readonly mode?: 'local' | 'majority'
  /** Options of the protocol from the file; `chosen` came by flags and wins. */
  readonly options: PlainObject
  readonly chosen: PlainObject
  readonly network?: { readonly delayMs?: Span; readonly loss?: number }
  readonly registers?: { readonly delayMs?: Span }
  readonly store?: PlannedStore
  readonly seeds: number
}

/** The store that was named: its kind, what it cannot show and must be so, and whether a weak one was accepted. */
export type PlannedStore = {
  readonly kind: string
  readonly acceptWeak: boolean
  readonly assumed: readonly string[]
}

/** Fields of a plan's file that only some protocols take. */
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

/** What a card is made for, when everything has been checked. Plain, so that threads can be given it. */
export type Plan = { readonly asked: PlanAsked; readonly options: PlainObject }

export type Planning = {
  readonly fields: readonly PlanField[]
  readonly leastNodes: number
  readonly mostNodes: number
  /** How many runs each of the main trials has unless told otherwise. */
  readonly seeds: number
  /** The options before defaults are filled in, and what is wrong with them afterwards. */
  optionsFor(asked: PlanAsked): Chosen
  problemsWith(options: PlainObject, asked: PlanAsked): readonly Problem[]
  describe(plan: Plan): PlanDescription
}

export type PlanDescription = TrialPlan | MilestonePlan

// ---- Trials: one fault in a quiet world, many seeds ----

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

/** What befalls a world, and among which nodes a leader is expected afterwards. */
export type TrialFault = { readonly events: readonly TrialEvent[]; readonly among: readonly NodeId[] }

/** The world of a trial. */
export type TrialWorld = {
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  /** From these each seed draws one. */
  readonly delaysMs: readonly [Span, ...Span[]]
  readonly latenessMs: readonly [Span, ...Span[]]
  readonly loss: number
  /** Of shared registers: how long accesses take, and when a caller gives up. */
  readonly store?: { readonly delaysMs: readonly [Span, ...Span[]]; readonly timeoutMs: number }
  readonly driftPpm: number
  /** How long the world is left alone first: at least, and at most. */
  readonly calm: readonly [Micros, Micros]
  /** How long it is watched afterwards. */
  readonly watched: Micros
}

/** The random draws that a fault may need. */
export type Draw = { integer(least: number, most: number): number }

export type PlannedTrial = {
  readonly name: string
  /** What happens, in words. */
  readonly what: string
  /** Part of the seeds that are tried; trials with all of them (1) are not listed among the shapes. */
  readonly share: number
  readonly settings: TrialWorld
  readonly fault: (leader: NodeId, random: Draw) => TrialFault
  /** Promised: there is a leader again by then (null: nothing is promised; never: there is none), and others stop. */
  readonly restoredWithin: Micros | null | 'never'
  readonly stoppedWithin: Micros | null
}

/** Where a figure is measured: in all of these trials together. */
export type MeasuredIn = {
  readonly trials: readonly string[]
  readonly of: 'detected' | 'restored' | 'stopped'
}

/** A computed time. `usual` and `worst`: where it is measured, in ordinary worlds and in the worst allowed ones. */
export type PlannedFigure = {
  readonly name: string
  readonly title: string
  /** Null where it can never happen: then the figure is left out. */
  readonly computed: { readonly typical: Micros | null; readonly worst: Micros } | null
  readonly usual: MeasuredIn | null
  readonly worst: MeasuredIn
}

/** Messages and accesses of a quiet world. */
export type SteadyLoad = {
  readonly micros: Micros
  readonly kinds: { readonly [kind: string]: { readonly count: number; readonly bytes: number } }
  readonly accesses: ReadonlyMap<NodeId, { readonly writes: number; readonly rounds: number }>
}

/** The load, computed beside measured. */
export type LoadCard = {
  /** As `--json` shows it. */
  readonly card: Plain
  /** Names of what was more than computed. */
  readonly exceeded: readonly string[]
  /** As a table; a row that exceeds what was computed is marked. */
  readonly rows: readonly { readonly cells: readonly string[]; readonly exceeded: boolean }[]
}

export type TrialPlan = {
  readonly kind: 'trials'
  /** The fields of the card that need no simulation: those before the measurements, and how many nodes may fail. */
  readonly card: PlainObject
  readonly tolerance: PlainObject
  readonly trials: readonly PlannedTrial[]
  readonly steady: TrialWorld
  readonly figures: readonly PlannedFigure[]
  /** Whether a world may be without a leader before anything befalls it. */
  readonly mayBeIdle: boolean
  /** For `conclave chaos`: when another leads, when a cut-off leader has stopped, how long a restarted node is silent. */
  readonly bounds: { readonly failOver: Micros | null; readonly leaseEnd: Micros; readonly silence: Micros }
  /** Under which name the load stands in the card, and how it comes about. */
  readonly load: { readonly field: string; measure(steady: SteadyLoad): LoadCard }
  readonly text: TrialText
}

/** The sentences of the card. */
export type TrialText = {
  readonly headline: string
  readonly assumes: readonly string[]
  /** In what way the simulated world is outside of what is assumed. */
  readonly broken: readonly string[]
  readonly advice: readonly string[]
  /** The names of ordinary and of worst worlds, and what they mean. */
  readonly worlds: readonly [usual: string, worst: string]
  readonly worldsMean: string
  readonly overlap: readonly string[]
  /** How a leader after a fault is told, and what is told where another must have stopped. */
  readonly leaderWords: string
  readonly stoppedWords: string
  readonly shapesMean: readonly string[]
  readonly tolerance: readonly string[]
  readonly loadTitle: string
  readonly loadMeans: readonly string[]
}

// ---- Milestones: what a group puts out after a fault, in the order of a scenario ----

export type Milestone = {
  readonly name: string
  /** The output that marks it; the last one after the fault counts. */
  readonly output: string
  readonly computed: { readonly typical: number; readonly worst: number }
}

export type MilestonePlan = {
  readonly kind: 'milestones'
  /** The fields of the card that need no simulation. */
  readonly card: PlainObject
  readonly seeds: number
  /** A run: a scenario as a file holds it, and the moment of the fault in it. */
  run(seed: number): { readonly scenario: PlainObject; readonly faultMs: number }
  readonly milestones: readonly Milestone[]
  /** Messages of a quiet run between these moments, per pair and second; `most` is what was computed. */
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
