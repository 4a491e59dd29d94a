/** Error responses, which all have the same shape, and the check of the admin token. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import type { ErrorResponse } from '../client/index.ts'

export function errorResponse(
  c: Context,
  status: 400 | 401 | 403 | 404 | 405 | 409 | 413 | 500 | 503,
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
  if (carriesToken(c, adminToken)) return null
  c.header('WWW-Authenticate', 'Bearer')
  return errorResponse(c, 401, 'InvalidAdminToken', 'the admin token is missing or wrong', 'Authorization')
}

/** Checks of load balancers, which cannot send a token, and the files of the page, which contain no state. */
const OPEN_PATHS = /^\/(?:healthz|readyz|leader|(?:playground\/)?assets\/[^/]*|playground\/)$/

/** Refuses to read the state without one of these tokens. Other requests check the admin token themselves. */
export function requireReadToken(tokens: readonly (string | null)[]): MiddlewareHandler {
  return async (c, next) => {
    const { method, path } = c.req
    const isPage = path === '/' && (c.req.header('Accept') ?? '').includes('text/html')
    if ((method !== 'GET' && method !== 'HEAD') || isPage || OPEN_PATHS.test(path)) return next()
    if (tokens.some((token) => token !== null && carriesToken(c, token))) return next()
    c.header('WWW-Authenticate', 'Bearer')
    const message = 'the read token is missing or wrong: send it as "Authorization: Bearer TOKEN"'
    return errorResponse(c, 401, 'InvalidReadToken', message, 'Authorization')
  }
}

/** The case of the scheme does not matter (RFC 9110, 11.1). */
function carriesToken(c: Context, token: string): boolean {
  const given = /^bearer +(.*)$/i.exec(c.req.header('Authorization') ?? '')?.[1]
  return given !== undefined && isSame(given, token)
}

/** Constant-time comparison. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
