/** The state of a fault manager, and its messages. */
import type { NodeId } from '../../core/index.ts'
import type { Assignment, CheckpointId, Code, Commit, JobRecord, Owner, Source, Token } from './types.ts'

/** A job as all members know it. `commit`: its newest committed checkpoint. */
export type Entry = { readonly record: JobRecord; readonly commit: Commit | null }

/** A column on the disk of a node. */
export type Held = {
  readonly id: CheckpointId
  readonly column: number
  readonly code: Code
  readonly bytes: number
  readonly digest: string
}

/** A job under one of its assignments. */
export type Run = { readonly job: string; readonly assignment: Assignment }

/** How a run ended at its owner. */
export type End = Run & {
  readonly how: 'finished' | 'threw' | 'declined' | 'stopped'
  readonly reason: string
  /** The checkpoint that could not be read, and these of its columns; null if it was not for that. */
  readonly id: CheckpointId | null
  readonly bad: readonly Source[]
}

/** Written before any message that depends on it. */
export type ManagerStable = {
  /** The largest token that this node has promised. It accepts nothing under a smaller one. */
  readonly fence: Token
  /** The last rank or assignment that this node issued as leader. */
  readonly issued: Assignment
  /** By name. */
  readonly table: readonly Entry[]
  readonly columns: readonly Held[]
}

/** The view of the group, as the protocol below reports it; members in the order of their ids. */
export type GroupView = {
  readonly token: Token
  readonly leader: NodeId
  readonly members: readonly Owner[]
  readonly inQuorum: boolean
}

/** A checkpoint that this node stores. `columns`: acknowledged ones, once the host has reported them. */
export type Upload = {
  readonly id: CheckpointId
  readonly code: Code
  readonly holders: readonly NodeId[]
  readonly bytes: number
  readonly digest: string
  /** The same content encoded again for other members. */
  readonly isCopy: boolean
  readonly columns: readonly number[] | null
}

/** An entry that the leader has sent to the members, and the nodes that have persisted it. */
export type Put = {
  readonly job: string
  readonly rank: Assignment
  readonly nodes: readonly NodeId[]
  readonly isDecided: boolean
}

export type Located = { readonly node: NodeId; readonly held: Held }

export type LeaderState = {
  readonly phase: 'fencing' | 'adopting' | 'ready'
  /** Members whose inventory is complete. */
  readonly answered: readonly NodeId[]
  /** The rank of each entry at the members that reported it: the others need a copy. */
  readonly reported: readonly { readonly node: NodeId; readonly job: string; readonly rank: Assignment }[]
  /** The newest entries of all inventories. */
  readonly merged: readonly Entry[]
  /** The rank under which the table is adopted. */
  readonly rank: Assignment
  readonly adoptedBy: readonly NodeId[]
  /** The columns of all members: reported by them, or acknowledged to the owner of a commit. */
  readonly columns: readonly Located[]
  /** Columns that their members have reported as lost: an earlier acknowledgement to the owner does not count. */
  readonly missing: readonly Located[]
  readonly runs: readonly (Run & { readonly node: NodeId })[]
  readonly slots: readonly (readonly [node: NodeId, slots: number])[]
  readonly puts: readonly Put[]
  /** Re-encodings and repairs that members were asked for. */
  readonly asked: readonly string[]
  /** `waitMs` has passed: jobs of lost owners may start elsewhere. */
  readonly hasWaited: boolean
}

export type ManagerState = {
  readonly stable: ManagerStable
  readonly life: number
  readonly view: GroupView | null
  readonly slots: number
  /** Assignments that were recorded in memory only: none, except under a defect. */
  readonly unrecorded: readonly Entry[]
  readonly running: readonly Run[]
  readonly uploads: readonly Upload[]
  /** Requests that the leader has not answered yet. */
  readonly submits: readonly string[]
  readonly cancels: readonly string[]
  readonly ends: readonly End[]
  /** Entries that the leader sent before `adopt`. */
  readonly incoming: readonly Entry[]
  /** Whether the leader of this view takes requests. */
  readonly isReady: boolean
  readonly leader: LeaderState | null
  /** The step of recovery that this node began last; 0: none. */
  readonly step: number
}

/**
 * `token` is that of the leader's view, in both directions.
 *
 * Inventory: `fence` asks; `entry`, `column` and `runs` answer, and `inventory` ends the answer. Adoption: `transfer`
 * brings entries that a member lacks, `adopt` makes the whole table that of this view, `adopted` acknowledges, `ready`
 * opens the view for requests. Changes: `put`, `have`, `decided`. Requests: `submit`, `cancelJob`, `store`, `ended`,
 * `slots`; answered by `decided` or `refusal`. Orders: `recode`, `mend`, `forget`.
 */
export type ManagerMessage =
  | { readonly kind: 'fence'; readonly token: Token }
  | { readonly kind: 'entry'; readonly token: Token; readonly entry: Entry }
  | { readonly kind: 'column'; readonly token: Token; readonly held: Held; readonly isHeld: boolean }
  | { readonly kind: 'runs'; readonly token: Token; readonly job: string; readonly assignment: Assignment }
  | { readonly kind: 'inventory'; readonly token: Token; readonly slots: number }
  | { readonly kind: 'transfer'; readonly token: Token; readonly entry: Entry }
  | { readonly kind: 'adopt'; readonly token: Token; readonly rank: Assignment }
  | { readonly kind: 'adopted'; readonly token: Token; readonly rank: Assignment }
  | { readonly kind: 'ready'; readonly token: Token }
  | { readonly kind: 'put'; readonly token: Token; readonly entry: Entry }
  | { readonly kind: 'have'; readonly token: Token; readonly job: string; readonly rank: Assignment }
  | {
      readonly kind: 'decided'
      readonly token: Token
      readonly job: string
      readonly rank: Assignment
      readonly sources: readonly Source[]
    }
  | { readonly kind: 'submit'; readonly token: Token; readonly job: string }
  | { readonly kind: 'cancelJob'; readonly token: Token; readonly job: string }
  | { readonly kind: 'store'; readonly token: Token; readonly commit: Commit }
  | { readonly kind: 'ended'; readonly token: Token; readonly end: End }
  | { readonly kind: 'slots'; readonly token: Token; readonly slots: number }
  | {
      readonly kind: 'refusal'
      readonly token: Token
      readonly request: 'submit' | 'cancel' | 'store'
      readonly job: string
      /** Of `store`: the epoch and token of the checkpoint. */
      readonly epoch: number
      readonly stored: Token
      readonly reason: string
    }
  | {
      readonly kind: 'recode'
      readonly token: Token
      readonly commit: Commit
      readonly sources: readonly Source[]
    }
  | {
      readonly kind: 'mend'
      readonly token: Token
      readonly commit: Commit
      readonly column: number
      readonly sources: readonly Source[]
    }
  | { readonly kind: 'forget'; readonly token: Token; readonly job: string; readonly rank: Assignment }

export const MANAGER_KINDS: readonly ManagerMessage['kind'][] = [
  'fence',
  'entry',
  'column',
  'runs',
  'inventory',
  'transfer',
  'adopt',
  'adopted',
  'ready',
  'put',
  'have',
  'decided',
  'submit',
  'cancelJob',
  'store',
  'ended',
  'slots',
  'refusal',
  'recode',
  'mend',
  'forget',
]

export const NOTHING_STORED: ManagerStable = { fence: 0, issued: [0, 0], table: [], columns: [] }

export const NEW_LEADER: LeaderState = {
  phase: 'fencing',
  answered: [],
  reported: [],
  merged: [],
  rank: [0, 0],
  adoptedBy: [],
  columns: [],
  missing: [],
  runs: [],
  slots: [],
  puts: [],
  asked: [],
  hasWaited: false,
}
