/**
 * The engine of the playground: runs scenarios, keeps the last run, and answers questions about it. It needs no worker,
 * so tests use it directly; worker/main.ts makes it a worker.
 */
import { count } from '../../../../src/core/text.ts'
import { findSyntaxProblem } from '../../../../src/workbench/scenario/json-positions.ts'
import { writeTrace } from '../../../../src/workbench/trace/index.ts'
import { pictureOf } from './draw/index.ts'
import { EngineError } from './engine-error.ts'
import { Inspector } from './inspect.ts'
import type { Done, Problem, Progress } from './messages.ts'
import { DATA_URLS, type ModuleTools, OwnModules } from './modules.ts'
import { problemsOf } from './problems.ts'
import type { RecordedRun } from './recorded-run.ts'
import { runFile, withProtocol } from './run.ts'
import { SeedTrials } from './seeds.ts'
import { causesIn } from './why.ts'
import type { RequestOf, WorkerDone, WorkerRequest } from './worker-messages.ts'

/** How often a long request says that it goes on. */
const PROGRESS_INTERVAL_MS = 150

type OnProgress = (progress: Progress) => void

export class Session {
  readonly #modules: OwnModules
  #run: RecordedRun | null = null
  #inspector: Inspector | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(tools: ModuleTools = DATA_URLS) {
    this.#modules = new OwnModules(tools)
  }

  /**
   * Rejects with an EngineError. One request after another: a question about the last run must not overtake that run.
   */
  answer<T extends WorkerRequest['type']>(
    request: RequestOf<T>,
    onProgress: OnProgress = () => {},
  ): Promise<WorkerDone[T]> {
    const answered = this.#last.then(() => this.#answer(request, onProgress))
    this.#last = answered.catch(() => {})
    return answered as Promise<WorkerDone[T]>
  }

  async #answer(request: WorkerRequest, onProgress: OnProgress): Promise<WorkerDone[keyof WorkerDone]> {
    try {
      return await this.#dispatch(request, every(PROGRESS_INTERVAL_MS, onProgress))
    } catch (error) {
      if (error instanceof EngineError) throw error
      const protocols =
        'module' in request ? await this.#modules.load(request.module).catch(() => null) : null
      throw new EngineError(problemsOf(error, protocols?.placeOf))
    }
  }

  #dispatch(request: WorkerRequest, onProgress: OnProgress): Promise<WorkerDone[keyof WorkerDone]> {
    switch (request.type) {
      case 'run':
        return this.#runFile(request, onProgress)
      case 'trace':
        return Promise.resolve(writeTrace(this.#present()))
      case 'inspect':
        return Promise.resolve(this.#inspect(request))
      case 'why':
        return Promise.resolve(causesIn(this.#present(), request.moment))
      case 'open':
        return this.#open(request)
      case 'syntax':
        return Promise.resolve(syntaxProblem(request.text))
      case 'tryseeds':
        return this.#trySeeds(request, onProgress)
      case 'explore':
        return this.#explore(request, onProgress)
      case 'seeds':
        return this.#seeds(request, onProgress)
      case 'shrink':
        return this.#shrink(request, onProgress)
      default:
        return request satisfies never
    }
  }

  async #runFile({ scenario, module }: RequestOf<'run'>, onProgress: OnProgress): Promise<Done['run']> {
    const protocols = await this.#modules.load(module)
    const began = performance.now()
    const file = withProtocol(scenario, protocols)
    const run = runFile(file, protocols, (records) => {
      if (records % 64 === 0) onProgress({ done: records, of: null, text: `${count(records)} events` })
    })
    this.#keep(run)
    const progress = { done: run.records.length, of: null, text: 'drawing' }
    return {
      picture: pictureOf(run, () => onProgress(progress)),
      scenario: file,
      tookMs: performance.now() - began,
    }
  }

  async #open({ files }: RequestOf<'open'>): Promise<Done['open']> {
    const { openTraces } = await import('./open-trace.ts')
    const { run, notice } = openTraces(files, this.#modules.latest)
    this.#keep(run)
    return { picture: pictureOf(run), notice }
  }

  async #trySeeds(request: RequestOf<'tryseeds'>, onProgress: OnProgress): Promise<Done['tryseeds']> {
    const { scenario, module, swarm, seeds: last } = request
    const began = performance.now()
    const trials = new SeedTrials(scenario, swarm, await this.#modules.load(module))
    const { seeds, steps, violation } = trials.run(1, last, (tally) =>
      onProgress({ done: tally.seeds, of: last, text: `${count(tally.seeds)} of ${count(last)} seeds` }),
    )
    const found = violation === null ? null : trials.shrink(violation)
    return { seeds, steps, tookMs: performance.now() - began, found }
  }

  async #seeds(request: RequestOf<'seeds'>, onProgress: OnProgress): Promise<WorkerDone['seeds']> {
    const { scenario, module, swarm, first, last } = request
    const trials = new SeedTrials(scenario, swarm, await this.#modules.load(module))
    return trials.run(first, last, ({ seeds }) =>
      onProgress({ done: seeds, of: last - first + 1, text: `seed ${count(first + seeds - 1)}` }),
    )
  }

  async #shrink(request: RequestOf<'shrink'>, onProgress: OnProgress): Promise<WorkerDone['shrink']> {
    const { scenario, module, swarm, violation } = request
    const trials = new SeedTrials(scenario, swarm, await this.#modules.load(module))
    const text = `seed ${violation.seed} violates ${violation.spec}; looking for a smaller scenario`
    return trials.shrink(violation, () => onProgress({ done: 0, of: null, text }))
  }

  async #explore(
    { settings, module }: RequestOf<'explore'>,
    onProgress: OnProgress,
  ): Promise<Done['explore']> {
    const { exploreForm } = await import('./exploration.ts')
    const protocols = await this.#modules.load(module)
    return exploreForm(
      settings,
      protocols,
      () => performance.now(),
      ({ states, depth, waiting }) =>
        onProgress({
          done: states,
          of: null,
          text: `${count(states)} states, depth ${depth}, ${count(waiting)} waiting`,
        }),
    )
  }

  #inspect({ moment, node }: RequestOf<'inspect'>): Done['inspect'] {
    const run = this.#present()
    this.#inspector ??= new Inspector(run)
    return this.#inspector.inspect(moment, node)
  }

  #keep(run: RecordedRun): void {
    this.#run = run
    this.#inspector = null
  }

  #present(): RecordedRun {
    if (this.#run !== null) return this.#run
    const problem: Problem = { place: null, message: 'there is no run yet: run a scenario first' }
    throw new EngineError([problem])
  }
}

function syntaxProblem(text: string): Done['syntax'] {
  const found = findSyntaxProblem(text)
  if (found === null) return null
  const { line, column, message } = found
  return { place: `line ${line}, column ${column}`, message: `This is not JSON: ${message}` }
}

/** At most one report in this time. */
function every(intervalMs: number, onProgress: OnProgress): OnProgress {
  let last = performance.now()
  return (progress) => {
    const now = performance.now()
    if (now - last < intervalMs) return
    last = now
    onProgress(progress)
  }
}

/** The engine in this thread, for tests. */
export function createSession(tools: ModuleTools = DATA_URLS): {
  ask<T extends keyof Done>(
    request: RequestOf<T>,
    settings?: { readonly signal?: AbortSignal; readonly onProgress?: OnProgress },
  ): Promise<Done[T]>
} {
  const session = new Session(tools)
  return {
    ask: <T extends keyof Done>(request: RequestOf<T>, settings: { readonly onProgress?: OnProgress } = {}) =>
      session.answer<T>(request, settings.onProgress),
  }
}
