/** Whether a view says that its node leads. Only then is the application notified of a term. */
import type { PlainObject, Role } from '../../core/index.ts'

export function isLeading(role: Role | 'crashed', detail: PlainObject | null | undefined): boolean {
  return role === 'leader' && idleness(detail) === null
}

/**
 * Why the leader of a view does not act; null if it does. The view may lack a quorum, or its application may
 * be unwilling to lead.
 */
export function idleness(detail: PlainObject | null | undefined): 'out of quorum' | 'would not lead' | null {
  if (detail?.['inQuorum'] === false) return 'out of quorum'
  return detail?.['inQuorum'] === true && detail['willing'] === false ? 'would not lead' : null
}
