/**
 * A defect, as the rule that it replaces. The option `misreading` chooses it in simulations and searches, where the
 * specifications must catch it.
 */
import { type GmRules, RULES } from './bully-gm.ts'

export const MISREADINGS = ['none', 'obey-last-halt'] as const
export type Misreading = (typeof MISREADINGS)[number]

const DEFECTS: { readonly [name in Misreading]: GmRules } = {
  none: RULES,
  /** A node obeys every halt, also one of a lower node that crossed with the halt of a higher node. */
  'obey-last-halt': { canOverride: () => true },
}

export function rulesWith(misreading: Misreading): GmRules {
  return DEFECTS[misreading]
}
