/** The errors of jobs. Each has a stable `code`. */
import { InvalidFieldError } from '../../runtime/errors.ts'

/** A state, an output, an input or a result contains what cannot be stored. `field` says where. */
export class InvalidJobValueError extends InvalidFieldError {
  override readonly name = 'InvalidJobValueError'
  readonly code = 'ERR_CONCLAVE_INVALID_JOB_VALUE'
}

/** The job no longer belongs to this run: another node runs it, or will. Nothing that this run does counts any more. */
export class JobFencedError extends Error {
  override readonly name = 'JobFencedError'
  readonly code = 'ERR_CONCLAVE_JOB_FENCED'

  constructor(job: string, why: string) {
    super(`job "${job}" no longer runs here: ${why}`)
  }
}

/** This node cannot run the job; another may. */
export class JobDeclinedError extends Error {
  override readonly name = 'JobDeclinedError'
}

/** The signal of the call was aborted before the checkpoint was committed. `cause` is its reason. */
export class CheckpointAbortedError extends Error {
  override readonly name = 'CheckpointAbortedError'
  readonly code = 'ERR_CONCLAVE_CHECKPOINT_ABORTED'

  constructor(job: string, cause: unknown) {
    super(`the checkpoint of job "${job}" was aborted. The last committed checkpoint stays`, { cause })
  }
}

/** The checkpoint could not be stored. Another try may succeed. */
export class CheckpointFailedError extends Error {
  override readonly name = 'CheckpointFailedError'
  readonly code = 'ERR_CONCLAVE_CHECKPOINT_FAILED'

  constructor(job: string, epoch: number, why: string) {
    super(`checkpoint ${epoch} of job "${job}" failed: ${why}. The last committed checkpoint stays`)
  }
}

/** The disks of too many nodes are full. */
export class CheckpointDiskFullError extends Error {
  override readonly name = 'CheckpointDiskFullError'
  readonly code = 'ERR_CONCLAVE_CHECKPOINT_DISK_FULL'

  constructor(job: string, epoch: number, why: string) {
    super(
      `checkpoint ${epoch} of job "${job}" does not fit on the disks: ${why}. The last committed checkpoint stays`,
    )
  }
}

/** The state is larger than `maxCheckpointBytes`. */
export class CheckpointTooLargeError extends Error {
  override readonly name = 'CheckpointTooLargeError'
  readonly code = 'ERR_CONCLAVE_CHECKPOINT_TOO_LARGE'

  constructor(job: string, bytes: number, most: number) {
    super(
      `a checkpoint of job "${job}" has ${bytes} bytes, and at most ${most} are allowed: store less, or raise maxCheckpointBytes. The last committed checkpoint stays`,
    )
  }
}

/** The group already has a job of this name. */
export class JobExistsError extends Error {
  override readonly name = 'JobExistsError'
  readonly code = 'ERR_CONCLAVE_JOB_EXISTS'

  constructor(job: string, why: string) {
    super(`job "${job}" exists: ${why}; choose another name`)
  }
}

/** The group did not accept the job. */
export class JobRefusedError extends Error {
  override readonly name = 'JobRefusedError'
  readonly code = 'ERR_CONCLAVE_JOB_REFUSED'

  constructor(job: string, why: string) {
    super(`job "${job}" was not accepted: ${why}`)
  }
}

/** No job of this name is known. */
export class UnknownJobError extends Error {
  override readonly name = 'UnknownJobError'
  readonly code = 'ERR_CONCLAVE_UNKNOWN_JOB'

  constructor(job: string) {
    super(`no job is called "${job}"; list the jobs with \`cluster.jobs()\` or \`conclave job list\``)
  }
}

/** The job threw. The message has its reason. */
export class JobFailedError extends Error {
  override readonly name = 'JobFailedError'
  readonly code = 'ERR_CONCLAVE_JOB_FAILED'

  constructor(job: string, reason: string) {
    super(`job "${job}" failed: ${reason}`)
  }
}

/** The job was cancelled. */
export class JobCancelledError extends Error {
  override readonly name = 'JobCancelledError'
  readonly code = 'ERR_CONCLAVE_JOB_CANCELLED'

  constructor(job: string) {
    super(`job "${job}" was cancelled`)
  }
}
