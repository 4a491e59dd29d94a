/** Omega+ with one rule removed, or with a disk that forgets: each must be caught. */
import type { Definition, Protocol } from '../../src/core/index.ts'
import { omegaDefinition } from '../../src/protocols/omega/index.ts'
import { omega } from '../../src/protocols/omega/omega.ts'
import { type OmegaRules, RULES } from '../../src/protocols/omega/rules.ts'
import type { OmegaSettings } from '../../src/protocols/omega/settings.ts'
import type { OmegaStable } from '../../src/protocols/omega/state.ts'

const DEFECTS = {
  'no attempts': { recordAttempt: (attempts) => attempts },
  'no life': { nextLife: (life) => Math.max(life, 1) },
  'no yield': { diesWhenLeftOut: () => false },
  /** An attempt counts from the moment a node accepts it, with or without a quorum. */
  'early attempts': { recordsOnAccept: () => true },
  /** A peer supports the view that it is in, regardless of what it has recorded. */
  'double support': { isLoyal: () => true },
  /** With a static majority, too, the members of the view are counted and not all nodes. */
  'view majority': { staticElectorate: (_nodes, members) => members },
} satisfies { readonly [name: string]: Partial<OmegaRules> }

export type Defect = keyof typeof DEFECTS
export type Broken = Defect | 'volatile attempts' | 'lost stable state'

/** With reported links and this defect. */
export function brokenOmega(broken: Broken): Definition {
  return {
    ...omegaDefinition,
    create(identity, options) {
      const defect = broken === 'volatile attempts' || broken === 'lost stable state' ? {} : DEFECTS[broken]
      const settings = { ...options, rules: { ...RULES, ...defect } } as unknown as OmegaSettings
      const protocol = omega(identity, settings) as unknown as Protocol
      if (broken === 'volatile attempts') {
        return {
          ...protocol,
          start(stable, now) {
            const kept = stable as OmegaStable | null
            return protocol.start(kept === null ? null : { ...kept, attempts: [] }, now)
          },
        }
      }
      return broken === 'lost stable state'
        ? { ...protocol, start: (_stable, now) => protocol.start(null, now) }
        : protocol
    },
  }
}
