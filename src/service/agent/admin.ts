/** Error responses, which all have the same shape, and the check of the admin token. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import type { ErrorResponse } from '../client/index.ts'

export function errorResponse(
  c: Context,
  status: 400 | 401 | 403 | 404 | 409 | 413 | 500 | 503,
  code: string,
  message: string,
  field: string | null = null,
): Response {
  return c.json({ error: { code, message, field } } satisfies ErrorResponse, status)
}

/** Null if the request carries the admin token; otherwise the error response. */
export function checkAdminToken(c: Context, adminToken: string | null): Response | null {
  if (adminToken === null) {
    const message = 'admin requests are disabled: start the agent with --admin-token-file FILE'
    return errorResponse(c, 403, 'AdminDisabled', message)
  }
  if (isSame(c.req.header('Authorization') ?? '', `Bearer ${adminToken}`)) return null
  c.header('WWW-Authenticate', 'Bearer')
  return errorResponse(c, 401, 'InvalidAdminToken', 'the admin token is missing or wrong', 'Authorization')
}

/** Constant-time comparison. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
