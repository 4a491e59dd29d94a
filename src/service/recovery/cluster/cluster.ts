/** A node of a cluster that runs jobs: the public object. */
import { EventEmitter } from 'node:events'
import { resolve as resolvePath } from 'node:path'
import type { NodeId } from '../../../core/index.ts'
import { compareAssignments, JOB_NAME, type JobView } from '../../../recovery/manager/types.ts'
import { InvalidArgumentError, NodeClosedError } from '../../node/index.ts'
import type { JobDefinition, JobProgress } from '../jobs/content.ts'
import type { JobFunction } from '../jobs/context.ts'
import {
  InvalidJobValueError,
  JobCancelledError,
  JobExistsError,
  JobRefusedError,
  UnknownJobError,
} from '../jobs/errors.ts'
import { digestOfModule } from '../jobs/module-run.ts'
import { decodeValue, encodeValue } from '../jobs/value.ts'
import { submissionOf } from '../sink/index.ts'
import type { NodeRequest, SentProgress } from './data-port.ts'
import { assertKnown, createHandle, type HandlePorts, type JobHandle, type JobState } from './handle.ts'
import type { ClusterParts } from './open.ts'
import { pause } from './pause.ts'

export type ClusterView = {
  /** Larger in every later view; null while the node is in none. */
  readonly token: number | null
  /** The node that acts as the fault manager. */
  readonly leader: string | null
  readonly members: readonly string[]
}

export type ClusterEvents = {
  view: [view: ClusterView]
  /** The table of jobs has changed. */
  jobs: []
  /** The fault manager on this node begins a step of recovery, 1 to 8. */
  step: [step: { readonly step: number; readonly token: number }]
  progress: [progress: { readonly job: string } & JobProgress]
  log: [line: { readonly job: string; readonly text: string }]
  warning: [warning: { readonly what: string; readonly detail: string }]
}

export type NumberedResult = { readonly seq: number; readonly output: unknown }

export type ModuleJob = {
  /** A module whose default export is the function of the job. It must be at the same path on every node. */
  readonly module: string
  readonly input?: unknown
}

const RETRY_MS = 100
const ASK_MS = 2000

export class Cluster extends EventEmitter<ClusterEvents> {
  readonly id: string
  readonly group: string
  /** Resolves when the node cannot continue. Never resolves after `close`. */
  readonly failed: Promise<Error>
  readonly #parts: ClusterParts
  readonly #ports: HandlePorts
  #closed: Promise<void> | null = null

  /** Use `openCluster`. */
  constructor(parts: ClusterParts, failed: Promise<Error>) {
    super()
    const { id, group } = parts.settings.election
    this.id = id
    this.group = group
    this.failed = failed
    this.#parts = parts
    this.#ports = {
      find: (job) => this.#find(job),
      until: (isSo, signal) => parts.watch.until(isSo, signal),
      resultOf: (job, signal) => this.#resultOf(job, signal),
      statusOf: (job) => this.#statusOf(job),
      cancel: (job) => this.cancel(job),
    }
  }

  /** The group as this node sees it. */
  view(): ClusterView {
    const { token, leader, members } = this.#parts.manager.look()
    return { token, leader: leader as string | null, members: members as readonly string[] }
  }

  /**
   * Registers the function of a job on this node, and submits the job unless the group has it. All nodes run the same
   * program, so that each can continue the job. With `submit: false` it is only registered.
   */
  job<State = unknown, Result = unknown>(
    name: string,
    run: JobFunction<State, Result>,
    { submit = true }: { readonly submit?: boolean } = {},
  ): JobHandle<Result> {
    this.#assertOpen()
    checkName(name)
    if (typeof run !== 'function') throw new InvalidArgumentError('run', 'must be a function')
    this.#parts.functions.register(name, run as JobFunction)
    const submitting = submit ? this.#submitOnce(name, { kind: 'function' }) : Promise.resolve()
    return createHandle<Result>(name, submitting, this.#ports)
  }

  /** Submits a module job. Rejects with JobExistsError if the group has a job of this name. */
  async submit<Result = unknown>(
    name: string,
    { module, input = null }: ModuleJob,
  ): Promise<JobHandle<Result>> {
    this.#assertOpen()
    checkName(name)
    encodeValue(input, 'input')
    const file = resolvePath(module)
    const digest = await digestOfModule(file).catch((error: Error) => {
      throw new InvalidJobValueError('module', `${file} cannot be read: ${error.message}`)
    })
    if (this.#isTaken(name)) throw new JobExistsError(name, `it is ${this.#find(name)?.status}`)
    await this.#parts.host.submit(name, { kind: 'module', file, digest, input })
    return this.handle<Result>(name)
  }

  /** A job that another node may have submitted. */
  handle<Result = unknown>(name: string): JobHandle<Result> {
    checkName(name)
    return createHandle<Result>(name, Promise.resolve(), this.#ports)
  }

  /** All jobs that the group has, by name. Progress is asked from the nodes that run them. */
  async jobs(): Promise<readonly JobState[]> {
    const { jobs } = this.#parts.manager.look()
    const progress = await this.#progressOf(jobs)
    return jobs.map((job) => this.#stateOf(job, progress.get(job.name) ?? null))
  }

  /** The released outputs of a job, in the order of their numbers. Empty with a sink of your own. */
  async logs(name: string): Promise<readonly NumberedResult[]> {
    checkName(name)
    const job = this.#find(name)
    return job === null ? [] : this.#parts.outputs.outputs(name, submissionOf(job.submission))
  }

  /** Ends a job and deletes its checkpoints. Rejects with UnknownJobError. */
  async cancel(name: string): Promise<void> {
    this.#assertOpen()
    checkName(name)
    assertKnown(name, this.#find(name))
    const refusal = await this.#parts.manager.command({ do: 'cancel', job: name })
    if (refusal !== null) throw new JobRefusedError(name, refusal)
    await this.#parts.watch.until(() => {
      const job = this.#find(name)
      return job === null || job.status === 'cancelled'
    })
  }

  /** The last steps of the protocol, for `conclave replay`. */
  trace(): AsyncIterable<string> {
    return this.#parts.manager.trace()
  }

  /** Stops the jobs on this node and leaves. The group continues them elsewhere. */
  close(): Promise<void> {
    this.#closed ??= this.#parts.close()
    return this.#closed
  }

  #assertOpen(): void {
    if (this.#closed !== null) throw new NodeClosedError('this node of the cluster is closed')
  }

  #find(job: string): JobView | null {
    return this.#parts.manager.look().jobs.find(({ name }) => name === job) ?? null
  }

  #isTaken(name: string): boolean {
    const status = this.#find(name)?.status
    return status !== undefined && status !== 'cancelled' && status !== 'failed'
  }

  /** All nodes submit the same job at about the same time: the first wins, and the others join it. */
  async #submitOnce(name: string, definition: JobDefinition): Promise<void> {
    const isKnown = (): boolean => {
      const job = this.#find(name)
      return job !== null && job.status !== 'cancelled'
    }
    for (;;) {
      if (isKnown()) return
      try {
        // oxlint-disable-next-line no-await-in-loop -- one try after the other
        await this.#parts.host.submit(name, definition)
        return
      } catch (error) {
        if (!(error instanceof JobExistsError)) {
          if (!isBeingCancelled(error)) throw error
        } else if (isKnown()) return
      }
      // oxlint-disable-next-line no-await-in-loop -- before it tries again
      await pause(RETRY_MS, this.#parts.signal)
    }
  }

  async #resultOf({ name, submission }: JobView, signal?: AbortSignal): Promise<{ readonly value: unknown }> {
    const either = signal === undefined ? this.#parts.signal : AbortSignal.any([signal, this.#parts.signal])
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until a node that has it answers
      const result = await this.#parts.outputs.result(name, submissionOf(submission))
      if (result !== null) return result
      const current = this.#find(name)?.submission
      if (current === undefined || compareAssignments(current, submission) !== 0)
        throw new JobCancelledError(name)
      // oxlint-disable-next-line no-await-in-loop -- before it asks again
      await pause(RETRY_MS, either)
    }
  }

  async #statusOf(name: string): Promise<JobState> {
    const job = this.#find(name)
    if (job === null) throw new UnknownJobError(name)
    const progress = await this.#progressOf([job])
    return this.#stateOf(job, progress.get(name) ?? null)
  }

  async #progressOf(jobs: readonly JobView[]): Promise<ReadonlyMap<string, JobProgress>> {
    const byOwner = new Map<NodeId, string[]>()
    for (const { owner, status, name } of jobs) {
      if (status !== 'running' || owner === null) continue
      byOwner.set(owner[0], [...(byOwner.get(owner[0]) ?? []), name])
    }
    const answers = await Promise.all([...byOwner].map(([node, names]) => this.#askProgress(node, names)))
    return new Map(answers.flat())
  }

  /** Empty if the node does not answer. */
  async #askProgress(node: NodeId, jobs: readonly string[]): Promise<SentProgress> {
    const { host, call } = this.#parts
    if (node === this.id) {
      return jobs.flatMap((job) => {
        const progress = host.progressOf(job)
        return progress === null ? [] : [[job, progress] as const]
      })
    }
    const request: NodeRequest = { node: 'progress', jobs }
    try {
      return decodeValue(
        await call(node, encodeValue(request, 'request'), AbortSignal.timeout(ASK_MS)),
      ) as SentProgress
    } catch {
      return []
    }
  }

  #stateOf(job: JobView, progress: JobProgress | null): JobState {
    const { name, status, owner, reason, epoch, commit, tolerated } = job
    const submission = submissionOf(job.submission)
    const holders = (commit?.holders ?? []) as readonly (string | null)[]
    const node = owner === null ? null : (owner[0] as string)
    const stalledMs = node === this.id ? (this.#parts.stalls.get(name) ?? null) : null
    return { name, status, node, reason, epoch, holders, tolerated, progress, stalledMs, submission }
  }
}

function isBeingCancelled(error: unknown): boolean {
  return error instanceof JobRefusedError && error.message.includes('is being cancelled')
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || !JOB_NAME.test(name))
    throw new InvalidArgumentError(
      'name',
      `${JSON.stringify(name)} must have 1 to 100 letters, digits, dots, hyphens or underscores, and start with a letter or digit`,
    )
}
