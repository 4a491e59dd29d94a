/** What the host of the fault manager needs: the protocol, and the columns of checkpoints. */
import type { NodeId } from '../../../core/index.ts'
import type {
  CheckpointId,
  Code,
  Commit,
  JobView,
  ManagerCommand,
  Source,
} from '../../../recovery/manager/types.ts'

/** The group as this node sees it. */
export type Outlook = {
  /** Null without a view. */
  readonly token: number | null
  readonly leader: NodeId | null
  readonly members: readonly NodeId[]
  readonly jobs: readonly JobView[]
  /** The largest token that this node has promised. */
  readonly fence: number
  /** The step of recovery that this node began last; 0: none. */
  readonly step: number
}

export type ManagerPort = {
  /** Resolves to null, or to why the protocol refuses the command. It has been carried out when the call returns. */
  command(command: ManagerCommand): Promise<string | null>
  look(): Outlook
}

export type StoreRequest = {
  readonly id: CheckpointId
  readonly code: Code
  readonly holders: readonly NodeId[]
  readonly bytes: number
  readonly digest: string
  /** The content, to be joined in order. */
  readonly chunks: readonly Uint8Array[]
}

export type StoreProblem = {
  readonly node: NodeId
  readonly message: string
  /** The disk of the node is full. */
  readonly isFull: boolean
}

export type Stored = {
  /** The columns that their holders have acknowledged. */
  readonly columns: readonly number[]
  readonly problems: readonly StoreProblem[]
}

/** Thrown by `restore`: fewer columns than needed could be read. */
export class UnrestorableError extends Error {
  override readonly name = 'UnrestorableError'
  /** Columns that are missing or damaged. */
  readonly bad: readonly Source[]

  constructor(message: string, bad: readonly Source[]) {
    super(message)
    this.bad = bad
  }
}

/** Stores and restores contents as columns on the nodes. `token` is that of the caller's present view. */
export type Columns = {
  store(request: StoreRequest, token: number, signal: AbortSignal): Promise<Stored>
  /** Rejects with UnrestorableError. */
  restore(commit: Commit, sources: readonly Source[], token: number, signal: AbortSignal): Promise<Uint8Array>
  /** Computes one column from the others, and stores it on this node. */
  repair(
    commit: Commit,
    column: number,
    sources: readonly Source[],
    token: number,
    signal: AbortSignal,
  ): Promise<void>
  /** Deletes the columns of the job on this node except those of these checkpoints. */
  drop(job: string, keep: readonly CheckpointId[]): Promise<void>
}
