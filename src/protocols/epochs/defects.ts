/**
 * Ways to read the paper, or to build on it, that elect two leaders. They exist so that the tools can show it: each is
 * found by the explorer (or, where time has a part in it, by simulation). Never for use. E1 to E18: docs/explanation/papers/epochs.md.
 */
export const MISREADINGS = {
  'tie-lowest-id': 'E1: of votes with equal ballots, that of the lowest id is taken',
  'leader-keeps-round': 'E2: a leader that ticks keeps what it read in the epoch before',
  'participant-keeps-round': 'E2: whoever else ticks keeps what it read in the epoch before',
  'negation-scope': 'E3: case 3 by precedence, so that it holds where case 2 does',
  parentheses: 'E4: the other grouping of case 2: a lower id with a higher ballot is ignored',
  'ballots-without-id': 'E5: of equal ballots none is greater',
  'ballots-of-own-epoch': 'E7: a new ballot is above those of its own epoch only',
  'forgotten-counter': 'E12: a process that comes back counts from 0',
  'lost-block': 'E12: a crash takes the register with it',
  'kept-phase': 'E13: a crash keeps the phase, as ReIncarnate is printed (breaks INV4k, not the promise)',
  'leader-jumps': 'E15: a leader renews in one round whatever the distance',
  'phase-0-suspends': 'E17: whoever sees a greater ballot of any epoch gives up in phase 0',
  'delete-at-once': '4(d): the block of a dead process is deleted as it stands',
  'tombstone-only': '4(d): it is deleted before all others have reached the tombstone',
  'blind-burial': '4(d): a tombstone overwrites whatever was written since the block was read',
  'stale-reads': '4(e): a read may return what was there before the last write',
  'torn-blocks': '4(e): a read during a write may return a mixture',
  'late-writes': '4(e): a write of a dead incarnation takes place after it has come back',
  'no-start': '4(c): a new leader acts at once, without waiting for the lease before its own',
  'early-release':
    '4(c): a leader that steps down gives its lease up in its register, and acts on until it ends',
  'no-rounds': '3: replies to reads of an earlier round are counted',
} as const

export type Misreading = keyof typeof MISREADINGS
