/** Whether a view says that its node leads. Where views have a quorum, their leader leads nobody while it is out of it. */
import type { PlainObject, Role } from '../core/index.ts'

export function leads(role: Role | 'crashed', detail: PlainObject | null | undefined): boolean {
  return role === 'leader' && detail?.['inQuorum'] !== false
}
