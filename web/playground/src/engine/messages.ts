/** What the page asks of its workers, and what they reply. Each request gets one `done` or `failed`, after any progress. */
import type { NodeId, PlainObject } from '../../../../src/core/index.ts'
import type { ScheduleStep } from '../../../../src/workbench/scenario/index.ts'
import type { Cause, Inspection, Picture } from './picture.ts'

/** A scenario as in a file: with defaults left out. The engine checks it. */
export type ScenarioFile = PlainObject

type ModuleText = { readonly name: string; readonly text: string }

/** A module that follows docs/tutorials/your-first-protocol.md. `parts`: files beside it that it imports by `./NAME`. */
export type OwnModule = ModuleText & { readonly parts?: readonly ModuleText[] }

export type Request =
  | { readonly type: 'run'; readonly scenario: ScenarioFile; readonly module: OwnModule | null }
  /** The trace of the last run, byte for byte as `conclave sim --trace` writes it. */
  | { readonly type: 'trace' }
  | { readonly type: 'inspect'; readonly moment: number; readonly node: NodeId }
  | { readonly type: 'why'; readonly moment: number }
  /** A trace, or the black boxes of agents: several files of one recording. */
  | { readonly type: 'open'; readonly files: readonly { readonly name: string; readonly text: string }[] }
  | {
      readonly type: 'tryseeds'
      readonly scenario: ScenarioFile
      readonly module: OwnModule | null
      readonly seeds: number
      /** Draw faults at random too, as `conclave sim --faults swarm`. */
      readonly swarm: boolean
    }
  /** Where a text is not JSON. The messages of browsers do not always say it. */
  | { readonly type: 'syntax'; readonly text: string }
  | { readonly type: 'explore'; readonly settings: ExploreForm; readonly module: OwnModule | null }

export type ExploreForm = {
  readonly protocol: string
  readonly nodes: readonly NodeId[]
  readonly options: PlainObject
  readonly crashes: number
  readonly recoveries: number
  readonly cuts: number
  readonly depth: number
  readonly maxStates: number
}

export type Done = {
  readonly run: { readonly picture: Picture; readonly scenario: ScenarioFile; readonly tookMs: number }
  readonly trace: string
  readonly inspect: Inspection
  readonly why: readonly Cause[]
  readonly open: { readonly picture: Picture; readonly notice: string | null }
  readonly syntax: Problem | null
  readonly tryseeds: {
    readonly seeds: number
    readonly steps: number
    readonly tookMs: number
    readonly found: Found | null
  }
  readonly explore: {
    readonly states: number
    readonly complete: boolean
    readonly cutShort: string | null
    readonly tookMs: number
    readonly found: Found | null
    /** Whether some state could still be reached for ever without progress, in words. */
    readonly progress: string
  }
}

/** A violation, with the smallest scenario that was found for it. */
export type Found = {
  readonly spec: string
  readonly why: string
  readonly seed: number | null
  readonly scenario: ScenarioFile
  readonly schedule: readonly ScheduleStep[] | null
}

export type Progress = { readonly done: number; readonly of: number | null; readonly text: string }

/** `place`: a field of the scenario (`events[1].crash`) or a line of a module (`line 7`); null if unknown. */
export type Problem = { readonly place: string | null; readonly message: string }

export type Reply =
  | { readonly id: number; readonly type: 'done'; readonly result: Done[keyof Done] }
  | { readonly id: number; readonly type: 'failed'; readonly problems: readonly Problem[] }
  | { readonly id: number; readonly type: 'progress'; readonly progress: Progress }
