/** Fencing for servers of node:http: `createServer(fenced(handler, { resource: 'billing' }))`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type GateOptions, isSafe, openGate, PROOF_HEADER, TOKEN_HEADER } from './gate.ts'

export { type GateOptions, PROOF_HEADER, TOKEN_HEADER, tokenHeaders } from './gate.ts'
export { tokensInFile } from './token-file.ts'
export { type TokenMemory, tokensInMemory } from './tokens.ts'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Passes a request with side effects to the listener only if its token is not stale; otherwise responds with 409. */
export function fenced(listener: Listener, options: GateOptions): Listener {
  const gate = openGate(options)

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [token, proof] = [request.headers[TOKEN_HEADER], request.headers[PROOF_HEADER]]
    const entry = await gate.enter(
      typeof token === 'string' ? token : null,
      typeof proof === 'string' ? proof : null,
    )
    if (!entry.admitted) {
      const { status, headers, body } = entry.refusal
      response.writeHead(status, headers).end(JSON.stringify(body))
      return
    }
    response.once('close', entry.leave)
    // The client disconnected while it waited, so `close` was emitted already.
    if (response.destroyed) entry.leave()
    else listener(request, response)
  }

  return (request, response) => {
    if (isSafe(request.method)) {
      listener(request, response)
      return
    }
    // Nothing is admitted if the greatest token cannot be stored.
    handle(request, response).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error)
      response.writeHead(503, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { code: 'FenceFailed', message }, current: null }))
    })
  }
}
