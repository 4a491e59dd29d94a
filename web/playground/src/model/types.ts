/** What the page knows: plain, readonly data. The store changes it; the view draws it. */
import type { Micros, NodeId } from '../../../../src/core/index.ts'
import type { ScenarioEvent } from '../../../../src/workbench/scenario/index.ts'
import type {
  Done,
  ExploreForm,
  Found,
  OwnModule,
  Problem,
  Progress,
  Request,
  ScenarioFile,
} from '../engine/messages.ts'
import type { Cause, Inspection, Picture } from '../engine/picture.ts'

type WithoutTime<E> = E extends unknown ? Omit<E, 'atMs'> : never

/** Something a person does to the world at the cursor: an event of a scenario file without its instant. */
export type Intervention = WithoutTime<ScenarioEvent>

/**
 * Where the reader is in the run. `moment`: the last moment that has happened, -1 before the first. Several moments may
 * share one instant, so that `at` alone does not determine it.
 */
export type Cursor = { readonly at: Micros; readonly moment: number }

/** What a step of the transport moves to. `record` stops at routine moments too, `event` does not. */
export type StepKind = 'record' | 'event' | 'message' | 'leadership' | 'violation'
export type Direction = 1 | -1

/** `time`: true time, scaled by the speed. `film`: one event after another, each for about as long. */
export type Pace = 'time' | 'film'

export type Selection =
  | { readonly type: 'node'; readonly node: NodeId }
  | { readonly type: 'message'; readonly message: number; readonly copy: number }
  | { readonly type: 'link'; readonly from: NodeId; readonly to: NodeId }
  | { readonly type: 'moment'; readonly moment: number }
  | { readonly type: 'spec'; readonly name: string }

/** Where a run comes from. A trace and black boxes can be looked at, but not changed. */
export type Source = 'scenario' | 'trace'

/** One history: what was loaded, and what a person did since. */
export type Branch = {
  readonly id: number
  readonly name: string
  readonly parent: number | null
  /** Where it left its parent; null for a first branch. */
  readonly forkedAt: Micros | null
  readonly source: Source
  /** As loaded, with its own events. */
  readonly base: ScenarioFile
  /** Events made by hand, in the order of time. */
  readonly made: readonly ScenarioEvent[]
  /** When the run ends, if it was made longer than the base says. */
  readonly untilMs: number | null
  readonly module: OwnModule | null
  /** Null until it has run, and again when too many others ran since. */
  readonly picture: Picture | null
}

/** Two branches side by side. */
export type Comparison = {
  readonly branch: number
  readonly other: number
  /** Null until the other branch has run. */
  readonly picture: Picture | null
  /** One sentence per difference, the first difference first. */
  readonly sentences: readonly string[]
  /** The first instant at which the two differ; null if they do not. */
  readonly differsAt: Micros | null
}

export type Search = {
  readonly type: 'seeds' | 'explore'
  readonly status: 'running' | 'done' | 'failed' | 'cancelled'
  readonly progress: Progress | null
  /** One sentence: what came out of it. */
  readonly text: string
  readonly found: Found | null
  readonly problems: readonly Problem[]
}

export type Caption = { readonly atMs: number; readonly text: string }

/** What the page shows of a lesson. The lessons themselves are in ../lessons. */
export type LessonCard = {
  readonly id: string
  readonly title: string
  /** What it is about, in one sentence. */
  readonly summary: string
  /** The paper, or the page of the documentation. */
  readonly source: string
  readonly protocol: string
}

export type OpenLesson = LessonCard & {
  readonly captions: readonly Caption[]
  /** The caption at the cursor; null before the first. */
  readonly caption: string | null
  /** What to do, in one or two sentences. */
  readonly task: string
  readonly hint: string
  readonly isHintShown: boolean
  /** `before`: how far the present run is from the solution, in one sentence. */
  readonly check: { readonly isDone: boolean; readonly text: string }
  /** Shown when the task is done. */
  readonly afterwards: string
}

export type ProtocolCard = {
  readonly name: string
  readonly title: string
  readonly summary: string
  /** Faithful to a paper's text including its mistake. */
  readonly isPrinted: boolean
  readonly scenario: ScenarioFile
}

export type Why = { readonly moment: number; readonly chain: readonly Cause[] }

export type State = {
  readonly branches: readonly Branch[]
  /** The id of the branch that is shown. */
  readonly branch: number
  /** The scenario of that branch with the events made by hand; empty for a trace. */
  readonly scenario: ScenarioFile
  readonly module: OwnModule | null
  readonly source: Source
  /** Null until the first run ends. While another runs, the last picture stays. */
  readonly picture: Picture | null
  readonly isRunning: boolean
  /** Why the last action failed. Empty after the next success. */
  readonly problems: readonly Problem[]
  /** One sentence about what just happened, for the status line and screen readers. */
  readonly notice: string | null
  readonly cursor: Cursor
  readonly isPlaying: boolean
  readonly pace: Pace
  readonly speed: number
  readonly pausesAtViolation: boolean
  readonly selection: Selection | null
  /** Of the selected node, after the moment of the cursor. */
  readonly inspection: Inspection | null
  readonly why: Why | null
  readonly comparison: Comparison | null
  readonly search: Search | null
  readonly lesson: OpenLesson | null
  /** Ids of lessons whose task is done, in this browser. */
  readonly lessonsDone: readonly string[]
}

export type CopyKind = 'link' | 'scenario' | 'test' | 'command' | 'trace'

export type DroppedFile = { readonly name: string; readonly size: number; text(): Promise<string> }

export type Actions = {
  /** Loads a scenario as a first branch. */
  open(
    scenario: ScenarioFile,
    settings?: { readonly name?: string; readonly module?: OwnModule | null },
  ): Promise<void>
  /** Loads the text of a scenario file; a mistake in it is said in `problems`. */
  openText(text: string, name: string): Promise<void>
  openProtocol(name: string): Promise<void>
  /** Files by drag and drop or from a dialog: a scenario, a trace, black boxes or a module. */
  openFiles(files: readonly DroppedFile[]): Promise<void>
  /** The fragment of a shared link, with or without `#`. */
  openFragment(fragment: string): Promise<void>
  openLesson(id: string): Promise<void>
  closeLesson(): void
  showHint(): void
  /** Runs the module with this text in place of the present one. */
  openModule(module: OwnModule): Promise<void>
  /** Runs the present branch again with another seed. Forks. */
  setSeed(seed: number): Promise<void>
  /** Makes the run longer. */
  extend(byMs: number): Promise<void>

  /** Does something to the world at the cursor. Forks if the reader has seen more of the branch than that. */
  act(event: Intervention): Promise<void>
  /** Takes back the last event made by hand. */
  undo(): Promise<void>

  step(kind: StepKind, direction: Direction): void
  seek(at: Micros): void
  seekMoment(moment: number): void
  seekStart(): void
  seekEnd(): void
  play(): void
  pause(): void
  togglePlay(): void
  setSpeed(speed: number): void
  /** The next slower or faster of SPEEDS. */
  changeSpeed(direction: Direction): void
  setPace(pace: Pace): void
  setPausesAtViolation(pauses: boolean): void
  /** Advances a playing run by this much wall time: call it once per frame. */
  tick(elapsedMs: number): void

  select(selection: Selection | null): void
  askWhy(moment: number): Promise<void>
  closeWhy(): void

  switchBranch(id: number): Promise<void>
  renameBranch(id: number, name: string): void
  removeBranch(id: number): void
  compare(other: number | null): Promise<void>

  trySeeds(settings: { readonly seeds: number; readonly swarm: boolean }): Promise<void>
  explore(settings: Omit<ExploreForm, 'protocol' | 'nodes' | 'options'>): Promise<void>
  cancelSearch(): void
  closeSearch(): void
  /** Loads the violation that the search found, and plays it as a film. */
  openFound(): Promise<void>

  /** The text for the clipboard. A link is complete. */
  copy(kind: CopyKind): Promise<string>
  dismissProblems(): void
}

export type Store = Actions & {
  get(): State
  /** Calls `listener` after every change, once per change. Returns the way to stop it. */
  subscribe(listener: (state: State) => void): () => void
}

/** The side of the workers. A failed request rejects with an error that has `problems`. */
export type Engine = {
  ask<T extends keyof Done>(
    request: Extract<Request, { readonly type: T }>,
    settings?: { readonly signal?: AbortSignal; readonly onProgress?: (progress: Progress) => void },
  ): Promise<Done[T]>
}

/** What the store needs of the browser. */
export type Host = {
  /** The address of the page without its fragment. */
  address(): string
  /** Shows this fragment in the address bar; null removes it. */
  setFragment(fragment: string | null): void
  readKept(key: string): string | null
  keep(key: string, value: string): void
  /** A file beside the page, which `conclave playground FILE` serves. */
  fetchText(path: string): Promise<string>
}

export type { Done, ExploreForm, Found, OwnModule, Picture, Problem, Progress, ScenarioFile }
