/** Whether a view says that its node leads: applications are told that they lead only then. */
import type { PlainObject, Role } from '../../core/index.ts'

export function isLeading(role: Role | 'crashed', detail: PlainObject | null | undefined): boolean {
  return role === 'leader' && idleness(detail) === null
}

/**
 * Why the leader of a view leads nobody; null when it does. Where views have a quorum, it may be out of it; and its
 * application may have said that it would not lead.
 */
export function idleness(detail: PlainObject | null | undefined): 'out of quorum' | 'would not lead' | null {
  if (detail?.['inQuorum'] === false) return 'out of quorum'
  return detail?.['inQuorum'] === true && detail['willing'] === false ? 'would not lead' : null
}
