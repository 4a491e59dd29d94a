/**
 * Stores checkpoints: asks the manager, sends the columns, and waits for the commit. What fails because the view changed
 * is tried again in the next view, as long as the job belongs to this node.
 */
import type { Assignment, ManagerOutput } from '../../../recovery/manager/types.ts'
import { compareAssignments } from '../../../recovery/manager/types.ts'
import type { Checkpoints, UploadProblem } from '../checkpoints/index.ts'
import type { EncodedContent } from '../jobs/content.ts'
import {
  CheckpointAbortedError,
  CheckpointDiskFullError,
  CheckpointFailedError,
  JobFencedError,
} from '../jobs/errors.ts'
import { pause } from './pause.ts'
import type { ManagerPort } from './ports.ts'

type Output<T extends ManagerOutput['type']> = Extract<ManagerOutput, { readonly type: T }>

/** One try. */
type Attempt = {
  readonly job: string
  readonly assignment: Assignment
  readonly epoch: number
  readonly content: EncodedContent
  readonly abort: AbortController
  problems: readonly UploadProblem[]
  resolve(): void
  reject(error: Error): void
}

/** The attempt failed, and another may succeed. */
class AttemptFailedError extends Error {
  readonly problems: readonly UploadProblem[]

  constructor(reason: string, problems: readonly UploadProblem[]) {
    super(reason)
    this.problems = problems
  }
}

/** How the store of a node says that it is full. */
const FULL = /no space left/
/** Between two attempts. */
const LEAST_PAUSE_MS = 50
const MOST_PAUSE_MS = 1000
/** How long attempts may fail in one view: a node that is gone leaves the view earlier. */
const MAX_FAILING_MS = 15_000

export class CheckpointWriter {
  readonly #manager: ManagerPort
  readonly #checkpoints: Pick<Checkpoints, 'upload'>
  readonly #maxFailingMs: number
  /** By job: one at a time. */
  readonly #attempts = new Map<string, Attempt>()

  constructor(
    manager: ManagerPort,
    checkpoints: Pick<Checkpoints, 'upload'>,
    maxFailingMs: number = MAX_FAILING_MS,
  ) {
    this.#maxFailingMs = maxFailingMs
    this.#manager = manager
    this.#checkpoints = checkpoints
  }

  /** Resolves when the content is committed. Rejects with a coded error. */
  async store(
    job: string,
    assignment: Assignment,
    content: EncodedContent,
    signal: AbortSignal,
  ): Promise<void> {
    let { fence } = this.#manager.look()
    let since = performance.now()
    for (let pauseMs = LEAST_PAUSE_MS; ; pauseMs = Math.min(MOST_PAUSE_MS, pauseMs * 2)) {
      this.#assertOwn(job, assignment, signal)
      try {
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        await this.#attempt(job, assignment, content, signal)
        return
      } catch (error) {
        if (!(error instanceof AttemptFailedError)) throw error
        const current = this.#manager.look().fence
        const hasChanged = current !== fence
        if (hasChanged) [fence, since] = [current, performance.now()]
        const epoch = this.#nextEpoch(job)
        if (!hasChanged) throwIfFull(job, epoch, error)
        if (performance.now() - since > this.#maxFailingMs)
          throw new CheckpointFailedError(job, epoch, error.message)
      }
      // oxlint-disable-next-line no-await-in-loop -- before it tries again
      await pause(pauseMs, signal).catch(() => this.#assertOwn(job, assignment, signal))
    }
  }

  handleUpload({ id, code, holders, bytes, digest }: Output<'upload'>): void {
    const attempt = this.#attempts.get(id.job)
    if (attempt?.epoch !== id.epoch || attempt.content.digest !== digest) {
      // The call was aborted before the manager answered.
      void this.#manager.command({ do: 'uploaded', id, columns: [], problems: ['aborted'] })
      return
    }
    const { content, abort } = attempt
    const plan = { id, code, holders, bytes, digest }
    const uploading = this.#checkpoints.upload(plan, content.chunks, { signal: abort.signal })
    const report = async (): Promise<void> => {
      const { columns, problems } = await uploading.catch((error: Error) => ({
        columns: [],
        problems: [{ node: '', column: 0, problem: error.message }],
      }))
      attempt.problems = problems
      const texts = problems.map(({ node, problem }) => (node === '' ? problem : `${node}: ${problem}`))
      await this.#manager.command({ do: 'uploaded', id, columns, problems: texts })
    }
    void report()
  }

  handleCommitted({ commit: { id } }: Output<'committed'>): void {
    const attempt = this.#attempts.get(id.job)
    if (attempt === undefined || attempt.epoch !== id.epoch || !isSame(attempt.assignment, id.assignment))
      return
    attempt.resolve()
  }

  handleFailed({ job, assignment, epoch, reason }: Output<'checkpointFailed'>): void {
    const attempt = this.#attempts.get(job)
    if (attempt === undefined || attempt.epoch !== epoch || !isSame(attempt.assignment, assignment)) return
    attempt.reject(new AttemptFailedError(reason, attempt.problems))
  }

  /** Throws if the run was stopped, if the call was aborted, or if the job belongs to another run. */
  #assertOwn(job: string, assignment: Assignment, signal: AbortSignal): void {
    if (signal.aborted) {
      const reason: unknown = signal.reason
      throw reason instanceof JobFencedError ? reason : new CheckpointAbortedError(job, reason)
    }
    const record = this.#manager.look().jobs.find(({ name }) => name === job)
    if (record === undefined) throw new JobFencedError(job, 'the group does not know it')
    if (!isSame(record.assignment, assignment)) throw new JobFencedError(job, 'it was assigned again')
    const { status } = record
    if (status !== 'submitted' && status !== 'running') throw new JobFencedError(job, `it is ${status}`)
  }

  #nextEpoch(job: string): number {
    return (this.#manager.look().jobs.find(({ name }) => name === job)?.epoch ?? -1) + 1
  }

  async #attempt(
    job: string,
    assignment: Assignment,
    content: EncodedContent,
    signal: AbortSignal,
  ): Promise<void> {
    const epoch = this.#nextEpoch(job)
    const abort = new AbortController()
    const { bytes, digest } = content
    let attempt: Attempt | null = null
    const ended = new Promise<void>((resolve, reject) => {
      attempt = { job, assignment, epoch, content, abort, problems: [], resolve, reject }
      this.#attempts.set(job, attempt)
    })
    const onAbort = (): void => {
      abort.abort(signal.reason)
      try {
        this.#assertOwn(job, assignment, signal)
      } catch (error) {
        this.#attempts.get(job)?.reject(error as Error)
      }
    }
    signal.addEventListener('abort', onAbort)
    try {
      const refusal = await this.#manager.command({ do: 'checkpoint', job, assignment, epoch, bytes, digest })
      if (refusal !== null) this.#attempts.get(job)?.reject(new AttemptFailedError(refusal, []))
      await ended
    } finally {
      signal.removeEventListener('abort', onAbort)
      // Another run of the job may have begun its own.
      if (this.#attempts.get(job) === attempt) this.#attempts.delete(job)
      abort.abort(new Error('the attempt has ended'))
    }
  }
}

function throwIfFull(job: string, epoch: number, { problems }: AttemptFailedError): void {
  const full = problems.filter(({ problem }) => FULL.test(problem))
  if (full.length > 0)
    throw new CheckpointDiskFullError(job, epoch, full.map(({ problem }) => problem).join('; '))
}

function isSame(a: Assignment, b: Assignment): boolean {
  return compareAssignments(a, b) === 0
}
