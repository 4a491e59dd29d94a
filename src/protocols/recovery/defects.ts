/**
 * Defects, each as the rules that it replaces. The option `misreading` chooses one in simulations and searches, where the
 * specifications must catch it. Real nodes refuse the option.
 */
import { MANAGER_RULES, type ManagerRules } from '../../recovery/manager/index.ts'

export const MISREADINGS = [
  'none',
  'no-fence',
  'delete-before-commit',
  'assignment-not-recorded',
  'uncommitted-epoch-used',
] as const
export type Misreading = (typeof MISREADINGS)[number]

const DEFECTS: { readonly [name in Misreading]: Partial<ManagerRules> } = {
  none: {},
  /** The leader does not wait for the promises and tables of the members: it acts on its own table. */
  'no-fence': { waitsForFences: () => false },
  /** A node deletes its older columns as soon as it has a newer one. */
  'delete-before-commit': { keepsUntilCommit: () => false },
  /** The owner starts the job, but no node persists that it owns the job. */
  'assignment-not-recorded': { recordsAssignment: () => false },
  /** The newest checkpoint with enough columns is restored, whether it was committed or not. */
  'uncommitted-epoch-used': { chooseCommit: (committed, stored) => stored ?? committed },
}

export function rulesWith(misreading: Misreading): ManagerRules {
  return { ...MANAGER_RULES, ...DEFECTS[misreading] }
}
