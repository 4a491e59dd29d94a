/** A job, as any node of the group can follow it. */
import type { JobStatus, JobView } from '../../../recovery/manager/types.ts'
import type { JobProgress } from '../jobs/content.ts'
import { JobCancelledError, JobFailedError, JobRefusedError, UnknownJobError } from '../jobs/errors.ts'

export type JobState = {
  readonly name: string
  /** `lost`: too few columns of its newest checkpoint are reachable; it continues when nodes with columns return. */
  readonly status: JobStatus
  /** The node that runs it, or that stores its definition. */
  readonly node: string | null
  /** Why it failed, was lost or cannot be placed; empty otherwise. */
  readonly reason: string
  /** The newest committed checkpoint; 0 is the definition. Null before it is stored. */
  readonly epoch: number | null
  /** The nodes that hold the columns of that checkpoint, by column; null where none is known to have it. */
  readonly holders: readonly (string | null)[]
  /** Nodes that may still be lost without losing that checkpoint, as the leader knows; null elsewhere. */
  readonly tolerated: number | null
  readonly progress: JobProgress | null
  /** How long the thread of a module job has not answered; null while it answers, and where that is unknown. */
  readonly stalledMs: number | null
  /** Tells apart jobs that use the same name one after the other. Compared as text, that of a later job is larger. */
  readonly submission: string
}

export type WaitOptions = { readonly signal?: AbortSignal | undefined }

export type JobHandle<Result = unknown> = {
  readonly name: string
  /** Resolves when the group has the job. Rejects with JobRefusedError. */
  submitted(): Promise<void>
  /**
   * Resolves to what the job returned, at any node. Rejects with JobFailedError or JobCancelledError, and with the
   * signal's reason. A lost job is waited for.
   */
  result(options?: WaitOptions): Promise<Result>
  status(): Promise<JobState>
  /** Ends the job and deletes its checkpoints. Resolves when that is recorded. */
  cancel(): Promise<void>
}

/** What a handle needs of its cluster. */
export type HandlePorts = {
  find(job: string): JobView | null
  /** Resolves to true when the condition holds; to false when the node closes first. Rejects when aborted. */
  until(isSo: () => boolean, signal?: AbortSignal): Promise<boolean>
  /** Waits until it is known. Rejects with JobCancelledError if another job takes the name. */
  resultOf(job: JobView, signal?: AbortSignal): Promise<{ readonly value: unknown }>
  statusOf(job: string): Promise<JobState>
  cancel(job: string): Promise<void>
}

const ENDED: readonly JobStatus[] = ['done', 'failed', 'cancelled']

export function createHandle<Result>(
  name: string,
  submitting: Promise<void>,
  ports: HandlePorts,
): JobHandle<Result> {
  // A caller that waits only for the result learns it there.
  submitting.catch(() => {})
  return {
    name,
    submitted: () => submitting,
    async result({ signal } = {}) {
      await submitting
      let last: JobView | null = ports.find(name)
      const hasEnded = (): boolean => {
        const job = ports.find(name)
        if (job === null) return last !== null
        last = job
        return ENDED.includes(job.status)
      }
      const isOpen = await ports.until(hasEnded, signal)
      if (!isOpen) throw new JobRefusedError(name, 'this node was closed before the job ended')
      const job = ports.find(name)
      if (job === null || job.status === 'cancelled') throw new JobCancelledError(name)
      if (job.status === 'failed') throw new JobFailedError(name, job.reason)
      return (await ports.resultOf(job, signal)).value as Result
    },
    async status() {
      await submitting
      return ports.statusOf(name)
    },
    async cancel() {
      await submitting
      await ports.cancel(name)
    },
  }
}

export function assertKnown(job: string, view: JobView | null): JobView {
  if (view === null) throw new UnknownJobError(job)
  return view
}
