/** Omega+ with one rule removed, or with a disk that forgets: each must be caught. */
import type { Definition, Protocol } from '../../src/core/index.ts'
import { omegaDefinition } from '../../src/protocols/omega/index.ts'
import { omega } from '../../src/protocols/omega/omega.ts'
import type { Flaw, OmegaSettings } from '../../src/protocols/omega/settings.ts'
import type { OmegaStable } from '../../src/protocols/omega/state.ts'

export type Broken = Flaw | 'volatile attempts' | 'lost stable state'

/** With reported links and this defect. */
export function brokenOmega(broken: Broken): Definition {
  return {
    ...omegaDefinition,
    create(identity, options) {
      const flaws: readonly Flaw[] =
        broken === 'volatile attempts' || broken === 'lost stable state' ? [] : [broken]
      const settings = { ...options, flaws } as unknown as OmegaSettings
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
