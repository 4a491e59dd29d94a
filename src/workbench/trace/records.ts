/**
 * The trace format: everything that happened in a run, one JSON object per line, starting with a header.
 *
 * A step record holds the input, the local time and the resulting effects. So a trace can be replayed through
 * the same code (replay.ts), regardless of which world wrote it.
 */
import type { Effect, Input, Micros, NodeId, Outcome, Plain, PlainObject, View } from '../../core/index.ts'

export type TraceHeader = {
  readonly trace: 1
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly seed: number
  /** Options of nodes that are configured differently, by node id. */
  readonly nodeOptions?: { readonly [node: string]: PlainObject }
  /** In a trace of a real process: its origin. */
  readonly recording?: Recording
  /** Real processes took the steps, in this group: then they are steps of everything that the process ran. */
  readonly hosted?: string
}

/**
 * The origin of a trace that a real process recorded. It contains only the process's own steps, on its own
 * clock.
 */
export type Recording = {
  readonly group: string
  readonly node: NodeId
  /** Identifies the run of the process: two traces of one run overlap. */
  readonly run: string
  /** Number of earlier steps of the run that are not in the trace. */
  readonly skipped: number
  /** Processes with the same value share a clock; null if unknown. */
  readonly clock: string | null
  /** When the recording was taken, on the process's clock, and how far the wall clock was ahead of it. */
  readonly takenAt: Micros
  readonly wallAhead: Micros
}

/** The common part of all steps. */
type StepRecord = {
  /** True time. */
  readonly at: Micros
  readonly node: NodeId
  /** The node's own clock. */
  readonly now: Micros
  readonly effects: readonly Effect[]
  /** The numbers of the messages sent, in the order of the `send` effects. */
  readonly sent: readonly number[]
  /** The number of effects before a crash, or null if all were carried out. */
  readonly cutAfter: number | null
  /** The node's view from now on, or null if it has not changed. */
  readonly view: View | null
}

/** `isFatal`: the node stopped; otherwise it dropped the message. */
export type FailedStep = { readonly error: string; readonly isFatal: boolean }

type Seen = { readonly node: NodeId; readonly view: View }

export type TraceRecord =
  | (StepRecord & { readonly type: 'start'; readonly stable: Plain; readonly settledOn: Outcome | null })
  | (StepRecord & {
      readonly type: 'step'
      readonly input: Input
      readonly message: number | null
      /** The step was rolled back because its data could not be made durable: no effect was carried out. */
      readonly takenBack?: true
      /** The protocol's code threw: no effect was carried out, and the state is as before. */
      readonly failed?: FailedStep
    })
  /** The state of a node whose first steps are not in the trace. */
  | {
      readonly type: 'resume'
      readonly at: Micros
      readonly node: NodeId
      readonly now: Micros
      readonly state: Plain
    }
  | { readonly type: 'world'; readonly at: Micros; readonly event: PlainObject }
  /**
   * A clock tick in an untimed world: the deadlines in every running node's state move nearer by this much.
   * `views`: the views that changed.
   */
  | { readonly type: 'tick'; readonly at: Micros; readonly by: Micros; readonly views: readonly Seen[] }
  | { readonly type: 'lost'; readonly at: Micros; readonly message: number; readonly why: LossReason }

/** `dropped`: by an event that names the message. */
export type LossReason = 'chance' | 'cut' | 'rule' | 'down' | 'dropped'
