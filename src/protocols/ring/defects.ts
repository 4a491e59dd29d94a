/**
 * Readings of the lecture that do not work, each as the rules that it replaces. The option `misreading` chooses one in
 * simulations and searches, where the specifications must catch it.
 */
import { compareKeys } from './messages.ts'
import { type RingRules, RULES } from './rules.ts'

export const MISREADINGS = ['none', 'no-discard', 'no-freeze'] as const
export type Misreading = (typeof MISREADINGS)[number]

const DEFECTS: { readonly [name in Misreading]: Partial<RingRules> } = {
  none: {},
  /** A participant that receives a smaller identifier sends its own again. */
  'no-discard': { shouldAnswerSmaller: () => true },
  /** A node uses its current identifier, and recognises its own message by that value. */
  'no-freeze': {
    keyInElection: (present) => present,
    isOwn: (key, _self, own) => compareKeys(key, own) === 0,
  },
}

export function rulesWith(misreading: Misreading): RingRules {
  return { ...RULES, ...DEFECTS[misreading] }
}
