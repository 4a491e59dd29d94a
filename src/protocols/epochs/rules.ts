/**
 * Rules of the protocol that are easy to get wrong, as small functions. Nodes always run these. Tests replace single
 * rules with those of a defect (defects.ts) to show that the specifications catch it. E1 to E18:
 * docs/explanation/papers/epochs.md.
 */
import type { Micros, NodeId, Plain, RegisterModel } from '../../core/index.ts'
import { type Block, blockOf, isAfter } from './block.ts'
import { type Change, stopActing } from './lease.ts'
import type { EpochsState, Timed } from './state.ts'

/** What a search may do with registers. */
export type RegisterOptions = {
  readonly registers: 'atomic' | 'regular' | 'late'
  readonly tick: 'split' | 'atomic'
  readonly removals: boolean
  readonly burials: boolean
}

type Deletable = (value: Plain, others: readonly Plain[]) => boolean

export type EpochsRules = {
  /** Whether a vote is taken instead of the best vote so far: the greater (bal, id) wins. E1. */
  isBetterVote(bal: number, of: NodeId, bestBal: number, bestOf: NodeId): boolean
  /** Whether a node that ticks keeps the blocks that it read in the epoch before. E2. */
  keepsRound(isRenewal: boolean): boolean
  /** Whether a ballot of another node restarts phase 1: the greater (pbal, id) wins. E3 to E5. */
  isGreaterBallot(pbal: number, of: NodeId, ownPbal: number, self: NodeId): boolean
  /** Whether a new ballot must exceed those in a block, given the epochs of the block and of the node. E7. */
  countsBallot(blockEpoch: number, epoch: number): boolean
  /** The counter that a node continues from after a restart. E12. */
  recallCounter(block: Block): number
  /** What a node persists after a step; null: nothing. E13. */
  persistedPhase(before: EpochsState, after: EpochsState): { phase: number; diskWritten: boolean } | null
  /** Whether a leader may renew in one round. E15. */
  canRenew(epoch: number, to: number): boolean
  /** Whether the blocks read in phase 0 end the node's attempt. E17. */
  givesUpInPhase0(state: EpochsState, self: NodeId): boolean
  /** Whether a reply to a read of some round counts in the current round. Section 3. */
  acceptsReply(round: number, current: number): boolean
  /** From when on a new leader acts, where earlier leases may last until `startAt`. Section 4(c). */
  actsFrom(startAt: Micros, now: Micros): Micros
  /** What a leader does before it releases its lease. Section 4(c). */
  stopBeforeRelease(time: Timed, cause: string): Change
  /** When the register of a dead node may be deleted; null: never. Section 4(d). */
  deletable(options: RegisterOptions): Deletable | null
  /** How registers behave in searches. Section 4(e). */
  registerModel(options: RegisterOptions): RegisterModel
}

export const RULES: EpochsRules = {
  isBetterVote: isAfter,
  keepsRound: () => false,
  isGreaterBallot: isAfter,
  countsBallot: () => true,
  recallCounter: ({ ctr }) => ctr,
  persistedPhase: () => null,
  canRenew: (epoch, to) => to === epoch + 1,
  givesUpInPhase0: () => false,
  acceptsReply: (round, current) => round === current,
  actsFrom: (startAt) => startAt,
  stopBeforeRelease: stopActing,
  deletable: ({ removals, burials }) => (removals || burials ? isDeletable : null),
  registerModel: ({ registers, tick, burials }) => ({
    semantics: registers,
    compare: true,
    acknowledged: tick === 'split' ? 'apart' : 'at once',
    forgets: false,
    burials: burials ? 'compared' : 'none',
  }),
}

/** The block of a removed node; null where the register holds something else. */
export function tombstoneIn(value: Plain): Block | null {
  const block = blockOf(value)
  return block === null || block.ctr === 0 || block.val !== null ? null : block
}

/** A dead node's register may go when it holds a tombstone, and all others have reached the tombstone's counter. */
export function isDeletable(value: Plain, others: readonly Plain[]): boolean {
  const tombstone = tombstoneIn(value)
  return tombstone !== null && others.every((other) => (blockOf(other)?.ctr ?? 0) >= tombstone.ctr)
}
