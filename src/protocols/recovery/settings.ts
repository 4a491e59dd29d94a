/** The settings of both parts from the options of the protocol. */
import { RULES } from '../omega/rules.ts'
import type { OmegaSettings } from '../omega/settings.ts'
import { type Misreading, rulesWith } from './defects.ts'
import type { RecoverySettings } from './recovery.ts'

export function settingsOf(chosen: {
  readonly weights: OmegaSettings['weights']
  readonly waitMs: number
  readonly stopMs: number
  readonly misreading: Misreading
}): RecoverySettings {
  const { weights, waitMs, stopMs, misreading } = chosen
  return {
    omega: { quorum: 'static', tie: false, reinit: 'quorum', filter: true, weights, rules: RULES },
    manager: { waitMs, stopMs, rules: rulesWith(misreading) },
  }
}
