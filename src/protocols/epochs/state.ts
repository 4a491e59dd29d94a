/** What a node knows: the paper's variables, and beside them what only means something where time passes. */
import type { Micros, NodeId } from '../../core/index.ts'
import type { Block } from './block.ts'

/**
 * The paper's, without Dead (which is the world's business). `Starting`: the own register is being read and taken over.
 * `Stopped`: the store is not what it must be; nothing is done any more.
 */
export type Status = 'Starting' | 'Suspended' | 'Participant' | 'PreviousLeader' | 'Leader' | 'Stopped'

/**
 * Which write is under way. `renewal`: the tick of a leader, which is its vote. `led`: only news for the others.
 * `release`: it has given up its leases (leaving.ts). `contend`: it stands in the oracle (oracle.ts).
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
  /** The last value written to the own register, or under way to it. */
  readonly own: Block
  readonly writing: Writing | null
  /** blocksRead, in the order of the nodes. */
  readonly read: readonly Reading[]
  /** Whom phase 2 of this epoch ended with, once it has. */
  readonly learned: NodeId | null
  /** Null in worlds without time. */
  readonly time: Timed | null
}

/** What is known of another's register, and since when of the stamp of its last vote for itself. */
export type Seen = {
  readonly of: NodeId
  readonly ctr: number
  readonly pbal: number
  readonly lctr: number
  readonly lbal: number
  readonly gone: boolean
  readonly at: Micros
}

/** A lease. It may be used from `startAt` to `until`; `acting` once it is. */
export type Lead = {
  /** The first epoch of this leadership. */
  readonly token: number
  readonly startAt: Micros
  readonly until: Micros
  readonly acting: boolean
}

export type Timed = {
  /** Tags the reads of a round. */
  readonly round: number
  /** Whose blocks a look around still waits for; null when there is none. */
  readonly looking: readonly NodeId[] | null
  /** Read from the clock before the decisive write was issued. */
  readonly w: Micros
  /** START: not before this, should it win the present run. */
  readonly startAt: Micros
  readonly lead: Lead | null
  /** By the order of the nodes; also the former incarnation of this one. */
  readonly seen: readonly Seen[]
  /** The greatest counter seen, and when it was seen to advance. */
  readonly greatest: number
  readonly advancedAt: Micros
  /** Who published the greatest `led` so far; null when it is taken to be gone. */
  readonly hint: NodeId | null
  readonly led: number
  /** The token that stood beside it; 0 where none did. */
  readonly term: number
  /** Whom the order of succession counts from. */
  readonly last: NodeId | null
  /** Whoever led last has given its lease up, and nobody has gone further since. */
  readonly isVacant: boolean
  /** x of the oracle; null while nobody has written it. */
  readonly oracle: Oracle | null
  /** It stands in x, and waits for whoever else may. */
  readonly contends: boolean
  /** How often phase 1 was begun anew in this epoch. */
  readonly restarts: number
  /** A renewal fell due while a write was under way. */
  readonly isDue: boolean
  /** Whether it would lead. `lapses`: it no longer renews; `aside`: it gives up at once, and does not stand. */
  readonly campaign: 'stands' | 'lapses' | 'aside'
  /** It has given up its lead; what it was writing is not known to be written yet. */
  readonly isLeaving: boolean
  /** Why it stopped for good. */
  readonly alarm: string | null
  readonly removal: Removal | null
  readonly partition: Partition
}

/** Who stands in x, in which generation, and since when that is known: see oracle.ts. */
export type Oracle = { readonly gen: number; readonly of: NodeId; readonly at: Micros }

/** The removal of a process that is gone for good: see membership.ts. */
export type Removal = {
  readonly of: NodeId
  readonly stage: 'read' | 'tombstone' | 'wait' | 'delete'
  /** The tombstone's counter. */
  readonly to: number
  /** When the tombstone was known to stand there; null before. */
  readonly since: Micros | null
}

/** The primary partition: see partition.ts. */
export type Partition = {
  /** Who can be talked to, itself included; null where nobody said. */
  readonly view: readonly NodeId[] | null
  /** Whom the leader still has to fence, and with which token; null when nothing is to be fenced. */
  readonly fencing: Fencing | null
}

export type Fencing = {
  readonly token: number
  readonly targets: readonly NodeId[]
  /** Whether that was asked for: only once the leader may act, inside its lease. */
  readonly asked: boolean
}
