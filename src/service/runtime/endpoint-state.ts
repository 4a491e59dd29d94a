/** What an endpoint reads from the state and the stable data of the host protocol. */
import type { Micros, NodeId, Plain, View } from '../../core/index.ts'
import type { Datagram, FailAwareState } from '../../links/index.ts'

/** The stable data of all groups, by name. */
export function groupsIn(stable: Plain): { readonly [group: string]: Plain } {
  const { upper } = (stable ?? {}) as { readonly upper?: { readonly [group: string]: Plain } | null }
  return upper ?? {}
}

export function sessionsIn(state: Plain): FailAwareState {
  return (state as unknown as { readonly layer: FailAwareState }).layer
}

/**
 * How long the datagram that a peer returns and this one took together, without the time that the peer held it. Null if
 * it returns none, or the clock of this process stood still in between.
 */
export function roundTripOf(
  { incarnation, startedAt, awakeSince }: FailAwareState,
  { for: meant, echo, sent }: Datagram,
  now: Micros,
): Micros | null {
  if (echo === null || meant !== incarnation || (awakeSince !== null && echo.sent < awakeSince)) return null
  const whole = now - startedAt - echo.sent
  return whole < 0 ? null : whole - (sent - echo.received)
}

/** The incarnation of a peer; null before a session with it began. */
export function incarnationOf({ peers, sessions }: FailAwareState, peer: NodeId): number | null {
  return sessions[peers.indexOf(peer)]?.incarnation ?? null
}

/** The token of the term that a view shows; undefined when the node does not lead. */
export function termTokenIn(view: () => View): number | null | undefined {
  try {
    const { role, token } = view()
    return role === 'leader' ? token : undefined
  } catch {
    // A state that cannot be read may be a leader's.
    return null
  }
}
