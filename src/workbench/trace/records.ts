/**
 * The trace: everything that happened in a run, one JSON object a line, the first line saying whose run it was.
 *
 * A record of a step holds the input and the local time that the protocol was given and the effects that it
 * answered with, so a trace can be run again through the same code (replay.ts), whoever wrote it.
 */
import type { Effect, Input, Micros, NodeId, Outcome, Plain, PlainObject, View } from '../../core/index.ts'

export type TraceHeader = {
  readonly trace: 1
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly seed: number
  /** Options of single nodes that were set up differently, by their ids as text. */
  readonly nodeOptions?: { readonly [node: string]: PlainObject }
  /** In a trace of a real process: whose it is. */
  readonly recording?: Recording
}

/** What is known of a trace that one real process has kept: only its own steps, on its own clock. */
export type Recording = {
  readonly group: string
  readonly node: NodeId
  /** Names the run of the process: two traces of one run overlap. */
  readonly run: string
  /** How many steps of the run came before these. */
  readonly skipped: number
  /** Processes that write the same text read the same clock; null where nobody can tell. */
  readonly clock: string | null
  /** When it was taken, on its own clock, and how far the wall clock was ahead of that. */
  readonly takenAt: Micros
  readonly wallAhead: Micros
}

/** What every step has: when, whose, the node's own clock, what it asked, and what it then answered when asked. */
type StepRecord = {
  /** True time. */
  readonly at: Micros
  readonly node: NodeId
  /** The node's own clock. */
  readonly now: Micros
  readonly effects: readonly Effect[]
  /** The numbers of the messages that its `send` effects became, in order. */
  readonly sent: readonly number[]
  /** How many effects were carried out before a crash, or null when all were. */
  readonly cutAfter: number | null
  /** What the node answers from now on, or null when that is what it was. */
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
      /** Its data could not be made safe, so it did not happen: nothing was carried out, the state is as before. */
      readonly takenBack?: true
      /** The protocol's code threw: no effect was carried out, the state is as before. */
      readonly failed?: FailedStep
    })
  /** The state of a node whose first steps are not kept: from here the trace goes on. */
  | {
      readonly type: 'resume'
      readonly at: Micros
      readonly node: NodeId
      readonly now: Micros
      readonly state: Plain
    }
  | { readonly type: 'world'; readonly at: Micros; readonly event: PlainObject }
  /**
   * In a world whose clocks stand still time passes all the same: the instants in every running node's state are nearer
   * by this much. `views`: what nodes answer from now on, where that is no longer what it was.
   */
  | { readonly type: 'tick'; readonly at: Micros; readonly by: Micros; readonly views: readonly Seen[] }
  | { readonly type: 'lost'; readonly at: Micros; readonly message: number; readonly why: LossReason }

export type LossReason = 'chance' | 'cut' | 'rule' | 'down'
