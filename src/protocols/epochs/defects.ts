/**
 * Defects of the paper as printed, of a reading of it, or of a store, each as the rules that it replaces. Almost all
 * elect two leaders. The option `misreading` chooses one in searches and simulations, where the specifications must
 * catch it. Real nodes refuse the option. E1 to E18: docs/explanation/papers/epochs.md.
 */
import { NOTHING, type RegisterModel } from '../../core/index.ts'
import { isAfter } from './block.ts'
import { type EpochsRules, isDeletable, RULES, tombstoneIn } from './rules.ts'

const onRegisters = (change: Partial<RegisterModel>): Partial<EpochsRules> => ({
  registerModel: (options) => ({ ...RULES.registerModel(options), ...change }),
})

const DEFECTS = {
  /** E1: of votes with equal ballots, the vote of the lowest id is taken. */
  'tie-lowest-id': { isBetterVote: (bal, _of, bestBal) => bal > bestBal },
  /** E2: a leader that ticks keeps what it read in the epoch before. */
  'leader-keeps-round': { keepsRound: (isRenewal) => isRenewal },
  /** E2: any other node that ticks keeps what it read in the epoch before. */
  'participant-keeps-round': { keepsRound: (isRenewal) => !isRenewal },
  /** E3: case 3 by operator precedence, so that it holds where case 2 does. */
  'negation-scope': { isGreaterBallot: () => false },
  /** E4: the other grouping of case 2: a lower id with a higher ballot is ignored. */
  parentheses: { isGreaterBallot: (pbal, of, ownPbal, self) => pbal >= ownPbal && isAfter(0, of, 0, self) },
  /** E5: of equal ballots neither is greater. */
  'ballots-without-id': { isGreaterBallot: (pbal, _of, ownPbal) => pbal > ownPbal },
  /** E7: a new ballot exceeds only those of its own epoch. */
  'ballots-of-own-epoch': { countsBallot: (blockEpoch, epoch) => blockEpoch === epoch },
  /** E12: a restarted node counts from 0. */
  'forgotten-counter': { recallCounter: () => 0 },
  /** E12: a crash loses the register. */
  'lost-block': onRegisters({ forgets: true }),
  /** E13: a crash keeps the phase, as ReIncarnate is printed. This breaks INV4k, but elects no second leader. */
  'kept-phase': {
    persistedPhase: (before, { phase, diskWritten }) =>
      phase === before.phase && diskWritten === before.diskWritten ? null : { phase, diskWritten },
  },
  /** E15: a leader renews in one round, however far it ticks. */
  'leader-jumps': { canRenew: () => true },
  /** E17: a node that reads a greater ballot of any epoch gives up in phase 0. */
  'phase-0-suspends': {
    givesUpInPhase0: ({ read, own }, self) =>
      read.some(([of, { pbal }]) => isAfter(pbal, of, own.pbal, self)),
  },
  /** 4(d): the block of a dead node is deleted as it is. */
  'delete-at-once': { deletable: () => () => true },
  /** 4(d): the block is deleted before all others have reached the tombstone's counter. */
  'tombstone-only': { deletable: () => (value) => tombstoneIn(value) !== null },
  /** 4(d): a tombstone overwrites what was written after the block was read. */
  'blind-burial': { deletable: () => isDeletable, ...onRegisters({ burials: 'blind' }) },
  /** 4(e): a read may return the value before the last write. */
  'stale-reads': onRegisters({ semantics: 'stale' }),
  /** 4(e): a read during a write may return a mixture of both values. */
  'torn-blocks': onRegisters({ semantics: 'torn' }),
  /** 4(e): a write of a dead incarnation takes place after the node has restarted. */
  'late-writes': onRegisters({ semantics: 'late', compare: false }),
  /** 4(c): a new leader acts at once, without waiting for the lease before its own. */
  'no-start': { actsFrom: (_startAt, now) => now },
  /** 4(c): a leader that steps down releases its lease in its register, and continues to act until the lease ends. */
  'early-release': { stopBeforeRelease: (time) => ({ time, effects: NOTHING }) },
  /** 3: replies to reads of an earlier round are counted. */
  'no-rounds': { acceptsReply: () => true },
} satisfies { readonly [name: string]: Partial<EpochsRules> }

export type Misreading = keyof typeof DEFECTS
export const MISREADINGS = Object.keys(DEFECTS) as [Misreading, ...Misreading[]]

export function rulesWith(misreading: Misreading | null): EpochsRules {
  return misreading === null ? RULES : { ...RULES, ...DEFECTS[misreading] }
}
