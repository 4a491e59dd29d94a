/** The state of a node: the paper's variables, and what it needs in timed worlds. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Block } from './block.ts'

/**
 * The statuses of the paper, without Dead (the world handles crashes). `Starting`: the node reads and takes over its own
 * register. `Stopped`: the store does not behave like a register, and the node has stopped permanently.
 */
export type Status = 'Starting' | 'Suspended' | 'Participant' | 'PreviousLeader' | 'Leader' | 'Stopped'

/**
 * The write in progress. `renewal`: the tick of a leader, which is its vote. `led`: announces the leader to the other
 * nodes. `release`: gives up its leases (leaving.ts). `contend`: enters the oracle (oracle.ts).
 */
export type Writing =
  | 'claim'
  | 'tick'
  | 'renewal'
  | 'ballot'
  | 'vote'
  | 'led'
  | 'release'
  | 'contend'
  | 'raise'
  | 'bury'

export type Reading = readonly [of: NodeId, block: Block]

export type EpochsState = {
  readonly status: Status
  /** ctrv: the epoch. */
  readonly ctr: number
  readonly phase: 0 | 1 | 2
  readonly diskWritten: boolean
  /** The last block that the node has written to its own register, or is writing. */
  readonly own: Block
  readonly writing: Writing | null
  /** blocksRead, in the order of the nodes. */
  readonly read: readonly Reading[]
  /** The leader of this epoch, once phase 2 has ended. */
  readonly learned: NodeId | null
  /** Null in untimed worlds. */
  readonly time: Timed | null
}

/** What a node knows of another register. `at`: when it first saw the stamp (lctr, lbal). */
export type Seen = {
  readonly of: NodeId
  readonly ctr: number
  readonly pbal: number
  readonly lctr: number
  readonly lbal: number
  readonly gone: boolean
  readonly at: Micros
}

/** The lease of a leader. It may act from `startAt` to `until`. `acting`: whether it does. */
export type Lease = {
  /** The first epoch of this term. */
  readonly token: number
  readonly startAt: Micros
  readonly until: Micros
  readonly acting: boolean
}

export type Timed = {
  /** Tags the reads of a round. */
  readonly round: number
  /** The nodes whose blocks a look still waits for; null if no look is in progress. */
  readonly looking: readonly NodeId[] | null
  /** The time on the clock before the decisive write was issued. */
  readonly w: Micros
  /** START: if the node wins this election, it does not act before this time. */
  readonly startAt: Micros
  readonly lease: Lease | null
  /** What it has seen of other registers, and of its own previous incarnation. */
  readonly seen: readonly Seen[]
  /** The greatest counter seen, and when it last advanced. */
  readonly greatest: number
  readonly advancedAt: Micros
  /** The node that published the greatest `led` so far; null if it is presumed to lead no longer. */
  readonly hint: NodeId | null
  readonly led: number
  /** The token in the same block; 0 if there is none. */
  readonly term: number
  /** The node from which the order of succession counts. */
  readonly last: NodeId | null
  /** The last leader has released its lease, and no counter has advanced since. */
  readonly isVacant: boolean
  /** x of the oracle; null if no node has written it. */
  readonly oracle: Oracle | null
  /** The node is in x, and waits for other nodes that may write themselves into it. */
  readonly contends: boolean
  /** How often the node has started phase 1 again in this epoch. */
  readonly restarts: number
  /** A renewal became due while a write was in progress. */
  readonly isDue: boolean
  /** `expiring`: the node no longer renews its lease. `withdrawn`: it steps down at once, and is not a candidate. */
  readonly candidacy: 'willing' | 'expiring' | 'withdrawn'
  /** The node has stepped down, but a write is still in progress. */
  readonly isLeaving: boolean
  /** Why the node has stopped permanently. */
  readonly alarm: string | null
  readonly removal: Removal | null
  readonly partition: Partition
}

/** The owner of x, its generation, and when this node learned of it: see oracle.ts. */
export type Oracle = { readonly gen: number; readonly of: NodeId; readonly at: Micros }

/** The removal of a node that is permanently gone: see membership.ts. */
export type Removal = {
  readonly of: NodeId
  readonly stage: 'read' | 'tombstone' | 'wait' | 'delete'
  /** The tombstone's counter. */
  readonly to: number
  /** When this node learned that the tombstone is written; null before. */
  readonly since: Micros | null
}

/** The primary partition: see partition.ts. */
export type Partition = {
  /** The reachable nodes, including this one; null if unknown. */
  readonly view: readonly NodeId[] | null
  /** The nodes that the leader still has to fence, and the token; null if there are none. */
  readonly fencing: Fencing | null
}

export type Fencing = {
  readonly token: number
  readonly targets: readonly NodeId[]
  /** Whether the leader has asked for it: only once START lets it act, and within its lease. */
  readonly asked: boolean
}
