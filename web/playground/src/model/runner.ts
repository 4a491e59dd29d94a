/**
 * Runs branches in the engine and shows their pictures.
 *
 * The engine answers questions about the last run only. So the runner knows which branch that was, and runs the shown
 * one again before a question, if another one ran meanwhile. Runs and questions take place one after another.
 */
import type { Micros } from '../../../../src/core/index.ts'
import type { Picture } from '../engine/picture.ts'
import { scenarioOf, withBranch } from './branches.ts'
import { type Context, problemsOf } from './context.ts'
import type { TextFile } from './files.ts'
import { cursorAt, START } from './playback.ts'
import type { Branch, Cursor, State } from './types.ts'

export type Runner = {
  freshId(): number
  /** How often something was opened that replaces every branch. */
  timesOpened(): number
  /** The latest instant that the reader has seen of a branch. */
  seenTo(branch: number): Micros
  markSeen(branch: number, at: Micros): void
  /** Runs a branch and shows it. False if it failed: then everything stays as it was, and `problems` says why. */
  show(branch: Branch, settings?: ShowSettings): Promise<boolean>
  /** Runs a branch without showing it. */
  pictureOf(branch: Branch): Promise<Picture>
  /** Asks the engine something about the shown branch. */
  question<T>(ask: () => Promise<T>): Promise<T>
  /** The files of a branch that shows a recording. */
  keepFiles(branch: number, files: readonly TextFile[]): void
}

export type ShowSettings = {
  readonly cursor?: (picture: Picture) => Cursor
  readonly patch?: Partial<State>
  /** The only branches from now on are this and those of the patch. */
  readonly isFresh?: boolean
  readonly notice?: string | null
}

export function createRunner({ engine, get, set }: Context): Runner {
  let lastId = 0
  /** Only the newest request to show something is shown. */
  let newest = 0
  let opened = 0
  let current: Branch | null = null
  const seen = new Map<number, Micros>()
  const recordings = new Map<number, readonly TextFile[]>()

  let last: Promise<unknown> = Promise.resolve()
  function inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }

  type Run = { readonly picture: Picture; readonly notice: string | null }
  const ask = (branch: Branch): Promise<Run> => inOrder(() => run(branch))

  async function run(branch: Branch): Promise<Run> {
    current = null
    const done = branch.source === 'trace' ? await openRecording(branch) : await runScenario(branch)
    current = branch
    return done
  }

  function openRecording({ id }: Branch): Promise<Run> {
    return engine.ask({ type: 'open', files: recordings.get(id) ?? [] })
  }

  async function runScenario(branch: Branch): Promise<Run> {
    const scenario = scenarioOf(branch)
    const { picture } = await engine.ask({ type: 'run', scenario, module: branch.module })
    return { picture, notice: picture.cutShort }
  }

  async function show(branch: Branch, settings: ShowSettings = {}): Promise<boolean> {
    newest += 1
    const mine = newest
    if (settings.isFresh === true) opened += 1
    set({ isRunning: true })
    try {
      const { picture, notice } = await ask(branch)
      if (mine !== newest) return false
      const shown = { ...named(branch, picture), picture }
      const cursor = settings.cursor?.(picture) ?? START
      const known = settings.isFresh === true ? [] : get().branches
      set({
        branches: withBranch(known, shown),
        branch: shown.id,
        scenario: branch.source === 'trace' ? {} : scenarioOf(shown),
        module: branch.module,
        source: branch.source,
        picture,
        isRunning: false,
        problems: [],
        notice: settings.notice ?? notice,
        cursor,
        inspection: null,
        why: null,
        comparison: null,
        ...settings.patch,
      })
      seen.set(shown.id, Math.max(seen.get(shown.id) ?? 0, cursor.at))
      return true
    } catch (error) {
      if (mine === newest) set({ isRunning: false, isPlaying: false, problems: problemsOf(error) })
      return false
    }
  }

  return {
    freshId() {
      lastId += 1
      return lastId
    },
    timesOpened: () => opened,
    seenTo: (branch) => seen.get(branch) ?? 0,
    markSeen: (branch, at) => {
      if (at > (seen.get(branch) ?? 0)) seen.set(branch, at)
    },
    show,
    async pictureOf(branch) {
      const { picture } = await ask(branch)
      return picture
    },
    question: (askEngine) =>
      inOrder(async () => {
        const { branch, branches } = get()
        const shown = branches.find(({ id }) => id === branch)
        if (shown !== undefined && (current === null || !isSameRun(current, shown))) await run(shown)
        return await askEngine()
      }),
    keepFiles: (branch, files) => {
      recordings.set(branch, files)
    },
  }
}

/** A name, a picture and the protocol of a module do not change the run. */
function isSameRun(a: Branch, b: Branch): boolean {
  const isSameBase = a.base === b.base || a.module !== null
  return a.id === b.id && isSameBase && a.made === b.made && a.untilMs === b.untilMs && a.module === b.module
}

/** A module's scenario may leave out the protocol: then it is the module's. */
function named(branch: Branch, picture: Picture): Branch {
  if (branch.source === 'trace' || typeof branch.base['protocol'] === 'string') return branch
  return { ...branch, base: { protocol: picture.protocol, ...branch.base } }
}

/** The same instant in another picture. */
export function sameInstant({ at, moment }: Cursor): (picture: Picture) => Cursor {
  return (picture) => {
    const cursor = cursorAt(picture, at)
    // Several moments may share the instant: stay at the one where the reader was.
    return picture.moments[moment]?.at === at && cursor.moment > moment ? { at, moment } : cursor
  }
}
