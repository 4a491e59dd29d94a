/** Rules that each prevent a known failure. Simulations replace single rules to show what each is for. */
import type { Commit } from './types.ts'

export type ManagerRules = {
  /** Whether the leader acts only after all members have promised its token and reported their tables. */
  waitsForFences(): boolean
  /** Whether older columns stay until a newer checkpoint is committed. */
  keepsUntilCommit(): boolean
  /** Whether an assignment is recorded before the job starts. */
  recordsAssignment(): boolean
  /** The checkpoint to restore. `stored`: the newest one with enough columns at members, committed or not. */
  chooseCommit(committed: Commit, stored: Commit | null): Commit
}

export const RULES: ManagerRules = {
  waitsForFences: () => true,
  keepsUntilCommit: () => true,
  recordsAssignment: () => true,
  chooseCommit: (committed) => committed,
}
