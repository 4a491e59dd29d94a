/** The code of jobs on this node: functions that the program registered, and modules. */

import type { JobDefinition } from '../jobs/content.ts'
import type { JobContext, JobFunction } from '../jobs/context.ts'
import { JobDeclinedError, JobExistsError } from '../jobs/errors.ts'
import { runModule } from '../jobs/module-run.ts'
import type { EncodedContext } from '../jobs/run.ts'
import { encodeValue } from '../jobs/value.ts'

export type JobFunctionsOptions = {
  readonly self: string
  readonly stallMs: number
  /** `null`: the thread of the job answers again. */
  stalled(job: string, forMs: number | null): void
}

/** A job may be assigned to a node whose program has just started: its function may be registered a moment later. */
const REGISTRATION_MS = 10_000
/** How long a stopped module job may take to end before its thread is ended. */
const STOP_MS = 1000

export class JobFunctions {
  readonly #options: JobFunctionsOptions
  readonly #functions = new Map<string, JobFunction>()
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(options: JobFunctionsOptions) {
    this.#options = options
  }

  /** Throws JobExistsError if the name is taken on this node. */
  register(job: string, run: JobFunction): void {
    if (this.#functions.has(job))
      throw new JobExistsError(job, 'this node has already registered a function for it')
    this.#functions.set(job, run)
    for (const wake of this.#waiting.get(job) ?? []) wake()
  }

  has(job: string): boolean {
    return this.#functions.has(job)
  }

  async execute(
    definition: JobDefinition,
    context: JobContext,
    encoded: EncodedContext,
  ): Promise<Uint8Array> {
    const { stallMs, stalled } = this.#options
    if (definition.kind === 'module') {
      const limits = {
        stallMs,
        stopMs: STOP_MS,
        stalled: (forMs: number | null) => stalled(context.name, forMs),
      }
      return runModule(definition, context, encoded, limits)
    }
    const run = await this.#registered(context)
    return encodeValue((await run(context)) ?? null, 'result')
  }

  async #registered({ name, signal }: JobContext): Promise<JobFunction> {
    const known = this.#functions.get(name)
    if (known !== undefined) return known
    const waiting = this.#waiting.get(name) ?? new Set()
    this.#waiting.set(name, waiting)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, REGISTRATION_MS)
      const wake = (): void => {
        clearTimeout(timer)
        resolve()
      }
      waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
    this.#waiting.delete(name)
    const registered = this.#functions.get(name)
    if (registered !== undefined) return registered
    throw new JobDeclinedError(
      `node ${this.#options.self} has no function for job "${name}": call cluster.job("${name}", ...) on every node`,
    )
  }
}
