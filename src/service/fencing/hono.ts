/** Fencing for applications of hono: `app.use(fenced({ resource: 'billing' }))`. */
import type { MiddlewareHandler } from 'hono'
import { type GateOptions, isSafe, openGate, PROOF_HEADER, TOKEN_HEADER } from './gate.ts'

export { type GateOptions, PROOF_HEADER, TOKEN_HEADER, tokenHeaders } from './gate.ts'
export { tokensInFile } from './token-file.ts'
export { type TokenMemory, tokensInMemory } from './tokens.ts'

/** Passes a request with side effects on only if its token is not stale; otherwise responds with 409. */
export function fenced(options: GateOptions): MiddlewareHandler {
  const gate = openGate(options)
  return async (context, next) => {
    if (isSafe(context.req.method)) {
      await next()
      return undefined
    }
    const entry = await gate.enter(context.req.header(TOKEN_HEADER), context.req.header(PROOF_HEADER))
    if (!entry.admitted) {
      const { status, headers, body } = entry.refusal
      return context.json(body, status, headers)
    }
    try {
      await next()
    } finally {
      entry.leave()
    }
    return undefined
  }
}
