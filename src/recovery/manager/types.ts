/**
 * What the fault manager and its host exchange: ids, records, commands and outputs. The host is a real process
 * (disks, applications, data transport) or the model of one in a simulation.
 *
 * The manager handles metadata only. The bytes of a checkpoint travel between hosts.
 */
import type { NodeId } from '../../core/index.ts'

/** The fencing token of a view: totally ordered, and larger for every later view. Stores refuse smaller tokens. */
export type Token = number

/** The view in which the leader recorded an assignment, and a counter within it. Compared lexicographically. */
export type Assignment = readonly [token: Token, n: number]

/**
 * Identifies a stored checkpoint. `epoch` counts the checkpoints of a job from 0, its definition as submitted. `token` is
 * the view under which the columns were encoded: encoding the same content again for other members keeps assignment and
 * epoch. Ordered by assignment, then epoch, then token.
 */
export type CheckpointId = {
  readonly job: string
  readonly assignment: Assignment
  readonly epoch: number
  readonly token: Token
}

/** `columns` columns, any `data` of which restore the content. With `data` 1 every column is a copy. */
export type Code = {
  readonly name: 'evenodd' | 'reed-solomon'
  readonly columns: number
  readonly data: number
}

/** A checkpoint that may be restored. `holders[c]` has stored column c; null: not acknowledged. */
export type Commit = {
  readonly id: CheckpointId
  readonly code: Code
  readonly holders: readonly (NodeId | null)[]
  readonly bytes: number
  readonly digest: string
}

export type JobStatus = 'submitted' | 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'lost'

/** A node in one of its lives: after a restart it no longer runs what it was assigned. */
export type Owner = readonly [node: NodeId, life: number]

/** What all nodes know about a job. The leader of a view writes it, and the larger rank replaces the smaller. */
export type JobRecord = {
  readonly name: string
  readonly rank: Assignment
  readonly status: JobStatus
  /** Only while `submitted` (the node that stores the definition) or `running`. */
  readonly owner: Owner | null
  /** The last assignment of the job; every `running` period has its own. */
  readonly assignment: Assignment
  /** The assignment of its submission: larger for every later job of the same name. */
  readonly submission: Assignment
  /** Why it failed, was lost or cannot be placed; empty otherwise. */
  readonly reason: string
  /** Nodes that declined to run it. */
  readonly declined: readonly NodeId[]
}

/** A column and a node that stores it. */
export type Source = { readonly node: NodeId; readonly column: number }

/** A job name: 1 to 100 characters of this alphabet, the first one a letter or a digit. */
export const JOB_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
/** Jobs that a group keeps, ended ones included until they are cancelled and forgotten. */
export const MOST_JOBS = 256
/** Longest reason, in characters. Longer ones are cut. */
export const LONGEST_REASON = 100
/** Longest digest, in characters. */
export const LONGEST_DIGEST = 64

/**
 * From the host to its manager. A command that does not fit the state is answered with the output `refused`.
 *
 * `submit`: answered by `submitted` or `submissionFailed`.
 * `checkpoint`: the application is quiesced; the answer is `upload` or `checkpointFailed`. `epoch` is 0 for the
 * definition of a submitted job, and one more than the last committed epoch for a running job.
 * `uploaded`: the holders of `columns` have acknowledged; `problems` describes the others.
 * `held`: a column is on this node's disk, and synced. The answer is `holds`, or `refused` if the fence has passed.
 * `lost`: a read or a scrub found the column bad or missing.
 * `finished`: the job has ended, and its last checkpoint, already committed, is its result.
 * `interrupted`: a checkpoint could not be stored, and the job is to continue from the last one.
 * `unrestorable`: these columns of the commit could not be read.
 */
export type ManagerCommand =
  | { readonly do: 'slots'; readonly slots: number }
  | { readonly do: 'submit'; readonly job: string }
  | { readonly do: 'cancel'; readonly job: string }
  | {
      readonly do: 'checkpoint'
      readonly job: string
      readonly assignment: Assignment
      readonly epoch: number
      readonly bytes: number
      readonly digest: string
    }
  | {
      readonly do: 'uploaded'
      readonly id: CheckpointId
      readonly columns: readonly number[]
      readonly problems: readonly string[]
    }
  | {
      readonly do: 'held'
      readonly id: CheckpointId
      readonly column: number
      readonly code: Code
      readonly bytes: number
      readonly digest: string
    }
  | { readonly do: 'lost'; readonly id: CheckpointId; readonly column: number; readonly problem: string }
  | { readonly do: 'finished'; readonly job: string; readonly assignment: Assignment }
  | { readonly do: 'threw'; readonly job: string; readonly assignment: Assignment; readonly reason: string }
  | {
      readonly do: 'declined'
      readonly job: string
      readonly assignment: Assignment
      readonly reason: string
    }
  | {
      readonly do: 'interrupted'
      readonly job: string
      readonly assignment: Assignment
      readonly reason: string
    }
  | {
      readonly do: 'unrestorable'
      readonly job: string
      readonly assignment: Assignment
      readonly id: CheckpointId
      readonly bad: readonly Source[]
    }

/**
 * From the manager to its host.
 *
 * `submitted`: the submission is recorded under this assignment; store the definition as checkpoint 0.
 * `submissionFailed`: the job was not accepted, and will not run.
 * `upload`: encode, and send column c to `holders[c]`, with the id. Then report `uploaded`.
 * `committed`: the checkpoint survives, and the outputs that it contains may be released.
 * `checkpointFailed`: the last committed checkpoint stays.
 * `holds`: the column is recorded; acknowledge it to its sender.
 * `start`: restore the commit from the sources and run the job, at most once per assignment. `token` is the sink's fence.
 * `stop`: end the job under this assignment; none of its outputs may be released any more.
 * `drop`: of the columns of the job that this node recorded (`holds`), delete all except those of these checkpoints.
 * `reencode`: restore `commit` from the sources and store it again as `id`; then report `uploaded` for `id`.
 * `repair`: this node lacks a column of the commit: restore it from the sources, then report `held`.
 * `jobs`: the table of jobs changed; it is in the view's detail.
 * `step`: the step of recovery (1 to 8) that the manager begins.
 * `refused`: the command was not carried out.
 */
export type ManagerOutput =
  | { readonly type: 'submitted'; readonly job: string; readonly assignment: Assignment }
  | { readonly type: 'submissionFailed'; readonly job: string; readonly reason: string }
  | {
      readonly type: 'upload'
      readonly id: CheckpointId
      readonly code: Code
      readonly holders: readonly NodeId[]
      readonly bytes: number
      readonly digest: string
    }
  | { readonly type: 'committed'; readonly commit: Commit }
  | {
      readonly type: 'checkpointFailed'
      readonly job: string
      readonly assignment: Assignment
      readonly epoch: number
      readonly reason: string
    }
  | {
      readonly type: 'holds'
      readonly id: CheckpointId
      readonly column: number
      readonly digest: string
    }
  | {
      readonly type: 'start'
      readonly job: string
      readonly assignment: Assignment
      readonly token: Token
      readonly commit: Commit
      readonly sources: readonly Source[]
    }
  | {
      readonly type: 'stop'
      readonly job: string
      readonly assignment: Assignment
      readonly reason: string
    }
  | { readonly type: 'drop'; readonly job: string; readonly keep: readonly CheckpointId[] }
  | {
      readonly type: 'reencode'
      readonly commit: Commit
      readonly sources: readonly Source[]
      readonly id: CheckpointId
      readonly code: Code
      readonly holders: readonly NodeId[]
    }
  | {
      readonly type: 'repair'
      readonly commit: Commit
      readonly column: number
      readonly sources: readonly Source[]
    }
  | { readonly type: 'jobs' }
  | { readonly type: 'step'; readonly step: number; readonly token: Token }
  | { readonly type: 'refused'; readonly command: string; readonly why: string }

/** A job as the view's detail and the insight show it. */
export type JobView = JobRecord & {
  /** The newest committed epoch; null before the definition is stored. */
  readonly epoch: number | null
  readonly commit: Commit | null
  /** Nodes that may still be lost without losing the newest checkpoint, as the leader knows; null elsewhere. */
  readonly tolerated: number | null
}

export function compareAssignments(a: Assignment, b: Assignment): number {
  return a[0] - b[0] || a[1] - b[1]
}

/** Checkpoints of one job: by assignment, then epoch, then token. */
export function compareCheckpoints(a: CheckpointId, b: CheckpointId): number {
  return compareAssignments(a.assignment, b.assignment) || a.epoch - b.epoch || a.token - b.token
}

export function isSameCheckpoint(a: CheckpointId, b: CheckpointId): boolean {
  return a.job === b.job && compareCheckpoints(a, b) === 0
}

/**
 * Whether two columns belong together. A checkpoint that failed can be tried again with another content under the same
 * id: only columns with the same digest restore the same content.
 */
export function isSameContent(
  a: { readonly id: CheckpointId; readonly digest: string },
  b: { readonly id: CheckpointId; readonly digest: string },
): boolean {
  return a.digest === b.digest && isSameCheckpoint(a.id, b.id)
}

/** The code for the members of a view: any two columns may be lost; of two members each has a copy. */
export function codeFor(members: number): Code {
  const data = Math.max(1, members - 2)
  return { name: members < 3 ? 'reed-solomon' : 'evenodd', columns: members, data }
}
