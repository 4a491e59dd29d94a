/** The model of a host in simulations: its disk, its applications, and the transport of columns. */
import type { NodeId } from '../../../core/index.ts'
import type { Assignment, CheckpointId, Code, Commit, Held, Source } from '../../../recovery/manager/index.ts'

/**
 * The content of a checkpoint: the outputs of a job so far, each with the assignment that produced it. `from`: the first
 * output that no earlier checkpoint contains.
 */
export type Content = { readonly from: number; readonly log: readonly string[] }

/** A column on a disk. In the model every column has the whole content, and is useless alone. */
export type Column = Held & { readonly content: Content; readonly isGood: boolean }

/** With the digest: a checkpoint that failed may be tried again with another content under the same id. */
export type ColumnKey = { readonly id: CheckpointId; readonly column: number; readonly digest: string }

/** A column that is being written; `from` waits for the acknowledgement. */
export type Write = { readonly no: number; readonly from: NodeId; readonly column: Column }

export type ModelUpload = {
  readonly id: CheckpointId
  readonly digest: string
  readonly holders: readonly NodeId[]
  readonly acknowledged: readonly number[]
}

/** Reads a checkpoint to start a job, to store it again under `target`, or to repair `column`. */
export type Restore = {
  readonly no: number
  readonly why: 'start' | 'recode' | 'repair'
  readonly assignment: Assignment
  readonly commit: Commit
  readonly sources: readonly Source[]
  readonly found: readonly { readonly column: number; readonly content: Content }[]
  readonly bad: readonly Source[]
  readonly target: {
    readonly id: CheckpointId
    readonly code: Code
    readonly holders: readonly NodeId[]
  } | null
  readonly column: number
}

export type App = {
  readonly job: string
  readonly assignment: Assignment
  readonly token: number
  readonly content: Content
  /** The last committed epoch. */
  readonly epoch: number
  readonly isCheckpointing: boolean
}

export type ModelStable = { readonly disk: readonly Column[] }

export type ModelState = ModelStable & {
  readonly writes: readonly Write[]
  readonly uploads: readonly ModelUpload[]
  readonly restores: readonly Restore[]
  readonly apps: readonly App[]
}

export type ModelMessage =
  | { readonly kind: 'copy'; readonly column: Column }
  | ({ readonly kind: 'copied' } & ColumnKey)
  | ({ readonly kind: 'fetch' } & ColumnKey)
  | ({ readonly kind: 'fetched'; readonly content: Content | null } & ColumnKey)

export const MODEL_KINDS: readonly ModelMessage['kind'][] = ['copy', 'copied', 'fetch', 'fetched']

/** `corrupt` silently damages all columns on the disk of the node. */
export type ModelCommand = { readonly do: 'corrupt' }

/** `delivered`: an output of a job at the sink. `corrupted`: a column was damaged; only specifications see it. */
export type ModelOutput =
  | {
      readonly type: 'delivered'
      readonly job: string
      readonly seq: number
      readonly value: string
      readonly token: number
    }
  | ({ readonly type: 'corrupted' } & ColumnKey)

export type ModelSettings = {
  /** How many jobs there are; the node at each place submits its own. */
  readonly jobs: number
  /** After how many outputs a job ends. */
  readonly length: number
  /** How many outputs a checkpoint contains. */
  readonly every: number
  readonly slots: number
}
