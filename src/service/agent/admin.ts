/** Who may give orders: whoever knows the admin token. Errors have one form everywhere. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import type { ErrorAnswer } from '../client/index.ts'

export function failure(
  c: Context,
  code: 400 | 401 | 403 | 404 | 409 | 413 | 500 | 503,
  name: string,
  message: string,
  field: string | null = null,
): Response {
  return c.json({ error: { name, message, field } } satisfies ErrorAnswer, code)
}

/** Why the caller may not, or null. Without a configured token nobody may. */
export function refusal(c: Context, adminToken: string | null): Response | null {
  if (adminToken === null) {
    const message = 'this agent takes no orders: start it with --admin-token-file FILE'
    return failure(c, 403, 'AdminDisabled', message)
  }
  if (isSame(c.req.header('Authorization') ?? '', `Bearer ${adminToken}`)) return null
  c.header('WWW-Authenticate', 'Bearer')
  return failure(c, 401, 'BadAdminToken', 'the admin token is missing or wrong', 'Authorization')
}

/** Takes the same time whatever differs. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
