/** What an endpoint reads from the state and the stable data of the host protocol. */
import type { Plain } from '../../core/index.ts'
import type { FailAwareState } from '../../links/index.ts'

/** The stable data of all groups, by name. */
export function groupsIn(stable: Plain): { readonly [group: string]: Plain } {
  const { upper } = (stable ?? {}) as { readonly upper?: { readonly [group: string]: Plain } | null }
  return upper ?? {}
}

export function sessionsIn(state: Plain): FailAwareState {
  return (state as unknown as { readonly layer: FailAwareState }).layer
}
