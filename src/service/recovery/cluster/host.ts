/**
 * The host of the fault manager in a real process: carries out its outputs. Outputs arrive within a step of the protocol,
 * so all effects are deferred.
 */
import { setMaxListeners } from 'node:events'
import type { Assignment, CheckpointId, Commit, ManagerOutput } from '../../../recovery/manager/types.ts'
import { compareAssignments } from '../../../recovery/manager/types.ts'
import { type BadColumn, type Checkpoints, UnrestorableError } from '../checkpoints/index.ts'
import { encodeContent, type JobDefinition, type JobProgress } from '../jobs/content.ts'
import { JobExistsError, JobFencedError, JobRefusedError } from '../jobs/errors.ts'
import { type Execute, JobRun, type RunEnd } from '../jobs/run.ts'
import { submissionOf } from '../sink/index.ts'
import { CheckpointWriter } from './checkpoint-writer.ts'
import { ColumnTasks } from './column-tasks.ts'
import { Interruptions } from './interruptions.ts'
import { type Delivery, Outbox } from './outbox.ts'
import { pause } from './pause.ts'
import type { ManagerPort } from './ports.ts'

type Output<T extends ManagerOutput['type']> = Extract<ManagerOutput, { readonly type: T }>

export type HostEvents = {
  /** The table of jobs, or the view, has changed. */
  changed(): void
  step(step: number, token: number): void
  progressed(job: string, progress: JobProgress): void
  log(job: string, text: string): void
  /** Columns were found missing or damaged. */
  suspect(commit: Commit, bad: readonly BadColumn[]): void
  warn(what: string, detail: string): void
}

export type HostOptions = {
  readonly manager: ManagerPort
  readonly checkpoints: Checkpoints
  /** Checkpoints of which this node has columns from before. */
  readonly stored: readonly CheckpointId[]
  readonly delivery: Delivery
  readonly execute: Execute
  readonly events: HostEvents
  readonly maxCheckpointBytes: number
}

type Running = { readonly assignment: Assignment; readonly run: JobRun; readonly ended: Promise<void> }

type Submission = {
  readonly definition: JobDefinition
  resolve(): void
  reject(error: Error): void
}

const RETRY_MS = 500

export class Host {
  readonly #options: HostOptions
  readonly #writer: CheckpointWriter
  readonly #tasks: ColumnTasks
  readonly #outbox: Outbox
  readonly #interruptions: Interruptions
  readonly #runs = new Map<string, Running>()
  readonly #submissions = new Map<string, Submission>()
  readonly #closing = new AbortController()

  constructor(options: HostOptions) {
    const { manager, checkpoints, stored, events, delivery } = options
    const { warn, suspect } = events
    this.#options = options
    // Every transfer of a column listens to it.
    setMaxListeners(0, this.#closing.signal)
    this.#writer = new CheckpointWriter(manager, checkpoints)
    this.#interruptions = new Interruptions((detail) => warn('checkpoint', detail))
    this.#outbox = new Outbox(delivery, (detail) => warn('sink', detail))
    this.#tasks = new ColumnTasks({
      manager,
      checkpoints,
      stored,
      signal: this.#closing.signal,
      warn,
      suspect,
    })
  }

  /** May be called within a step of the protocol. */
  receive(output: ManagerOutput): void {
    queueMicrotask(() => {
      if (!this.#closing.signal.aborted) this.#handle(output)
    })
  }

  /**
   * Resolves when the group has stored the definition. Rejects with JobExistsError or JobRefusedError. Without a quorum
   * it waits.
   */
  async submit(job: string, definition: JobDefinition): Promise<void> {
    if (this.#submissions.has(job)) throw new JobExistsError(job, 'it is being submitted by this node')
    const submitting = new Promise<void>((resolve, reject) => {
      this.#submissions.set(job, { definition, resolve, reject })
    })
    const refusal = await this.#options.manager.command({ do: 'submit', job })
    if (refusal !== null) this.#settle(job, new JobRefusedError(job, refusal))
    await submitting
  }

  progressOf(job: string): JobProgress | null {
    return this.#runs.get(job)?.run.progress ?? this.#interruptions.progressOf(job)
  }

  /** Stops all runs without a word to the group, as a crash would. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('this node is closed'))
    const running = [...this.#runs.values()]
    for (const { run } of running) run.stop('this node is closed')
    for (const job of this.#submissions.keys())
      this.#settle(job, new JobRefusedError(job, 'this node is closed'))
    await Promise.all(running.map(({ ended }) => ended))
    await this.#tasks.close()
  }

  #handle(output: ManagerOutput): void {
    switch (output.type) {
      case 'submitted':
        void this.#storeDefinition(output.job, output.assignment)
        break
      case 'submissionFailed':
        this.#failSubmission(output)
        break
      case 'upload':
        this.#writer.handleUpload(output)
        break
      case 'committed':
        this.#writer.handleCommitted(output)
        break
      case 'checkpointFailed':
        this.#writer.handleFailed(output)
        break
      case 'start':
        this.#start(output)
        break
      case 'stop':
        this.#stop(output)
        break
      case 'drop':
        this.#tasks.drop(output)
        break
      case 'reencode':
        this.#tasks.reencode(output)
        break
      case 'repair':
        this.#tasks.repair(output)
        break
      case 'jobs':
        this.#options.events.changed()
        break
      case 'step':
        this.#options.events.step(output.step, output.token)
        break
      case 'holds':
        this.#tasks.record(output)
        break
      // A refusal is the answer of its command.
      case 'refused':
        break
      default:
        output satisfies never
    }
  }

  // ---- Submissions ----

  async #storeDefinition(job: string, assignment: Assignment): Promise<void> {
    const submission = this.#submissions.get(job)
    if (submission === undefined) return
    const content = await encodeContent({
      submission: submissionOf(assignment),
      definition: submission.definition,
      state: null,
      outputs: [],
      progress: null,
      result: null,
    })
    try {
      await this.#writer.store(job, assignment, content, this.#closing.signal)
      this.#settle(job, null)
    } catch (error) {
      const { manager } = this.#options
      if (this.#closing.signal.aborted) this.#settle(job, error as Error)
      // This node left the group in between, so the submission never happened.
      else if (error instanceof JobFencedError) await manager.command({ do: 'submit', job })
      else {
        // Without its definition the job would keep the name, and never run.
        await manager.command({ do: 'cancel', job })
        this.#settle(job, error as Error)
      }
    }
  }

  #failSubmission({ job, reason }: Output<'submissionFailed'>): void {
    const isTaken = reason.startsWith('the name is in use')
    this.#settle(job, isTaken ? new JobExistsError(job, reason) : new JobRefusedError(job, reason))
  }

  #settle(job: string, error: Error | null): void {
    const submission = this.#submissions.get(job)
    this.#submissions.delete(job)
    if (error === null) submission?.resolve()
    else submission?.reject(error)
  }

  // ---- Runs ----

  #start(start: Output<'start'>): void {
    const { job, assignment, token, commit, sources } = start
    this.#runs.get(job)?.run.stop('it was assigned again')
    const { checkpoints, execute, events, maxCheckpointBytes } = this.#options
    const run = new JobRun(
      { job, token, maxCheckpointBytes },
      {
        restore: async (signal) => {
          const { payload, bad } = await checkpoints.restore(commit, sources, { signal })
          events.suspect(commit, bad)
          return payload
        },
        execute,
        store: async (content, signal) => {
          await this.#writer.store(job, assignment, content, signal)
          this.#interruptions.forget(job)
        },
        release: (output, submission, signal) =>
          this.#outbox.release({ job, submission, token }, output, signal),
        publish: (value, submission, signal) =>
          this.#outbox.publish({ job, submission, token }, value, signal),
        progressed: (progress) => events.progressed(job, progress),
        log: (text) => events.log(job, text),
      },
    )
    const ended = run.run().then(async (end) => {
      if (this.#runs.get(job)?.run === run) this.#runs.delete(job)
      await this.#report(start, end, run.progress)
    })
    this.#runs.set(job, { assignment, run, ended })
  }

  #stop({ job, assignment, reason }: Output<'stop'>): void {
    const running = this.#runs.get(job)
    if (running !== undefined && compareAssignments(running.assignment, assignment) === 0)
      running.run.stop(reason)
  }

  /** The protocol ignores a report about a run that was replaced. */
  async #report(
    { job, assignment, commit }: Output<'start'>,
    end: RunEnd,
    progress: JobProgress | null,
  ): Promise<void> {
    const { manager, events } = this.#options
    const { signal } = this.#closing
    if (signal.aborted) return
    if (end.how !== 'interrupted') this.#interruptions.forget(job)
    switch (end.how) {
      case 'interrupted':
        // Until then the job belongs to this node.
        if (await this.#interruptions.wait(job, end.reason, progress, signal))
          await manager.command({ do: 'interrupted', job, assignment, reason: end.reason })
        break
      case 'finished':
        await manager.command({ do: 'finished', job, assignment })
        break
      case 'threw':
      case 'declined':
        await manager.command({ do: end.how, job, assignment, reason: end.reason })
        break
      case 'unrestorable': {
        events.warn('restore', `job "${job}": ${(end.error as Error).message}`)
        const found = end.error instanceof UnrestorableError ? end.error.bad : []
        // Their holders check them, so that they are rebuilt.
        events.suspect(commit, found)
        // The column of a node that does not answer may be good.
        const bad = found.filter(({ isLost }) => isLost).map(({ node, column }) => ({ node, column }))
        if (bad.length === 0) await pause(RETRY_MS, signal).catch(() => {})
        await manager.command({ do: 'unrestorable', job, assignment, id: commit.id, bad })
        break
      }
      case 'stopped':
        break
      default:
        end satisfies never
    }
  }
}
