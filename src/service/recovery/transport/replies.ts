/** How the server of columns replies: refusals with a status, and bodies that wait for the receiver. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { ColumnMissingError, ColumnStoreFullError } from '../store/index.ts'
import type { RequestSecrets } from './authentication.ts'
import { InvalidBodyError } from './errors.ts'
import { HEADERS } from './wire.ts'

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** Ends a request with a status. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function assertAllowed(verdict: Verdict): void {
  if (!verdict.ok) throw new Refusal(409, verdict.reason)
}

export function statusOf(error: unknown): { readonly status: number; readonly message: string } {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof Refusal) return { status: error.status, message }
  if (error instanceof ColumnMissingError) return { status: 404, message }
  if (error instanceof InvalidBodyError) return { status: 400, message }
  if (error instanceof ColumnStoreFullError) return { status: 507, message }
  return { status: 500, message }
}

export function reply(
  response: ServerResponse,
  status: number,
  body: { readonly [name: string]: unknown },
  secrets: RequestSecrets | null,
): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(status === 503 ? { 'retry-after': '1' } : {}),
    ...(secrets === null ? {} : { [HEADERS.proof]: secrets.proveReply(status, text) }),
  })
  response.end(text)
}

/** Resolves when the chunks may be reused. */
export async function writeAll(
  response: ServerResponse,
  chunks: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  response.cork()
  let isReady = true
  for (const chunk of chunks) isReady = response.write(chunk)
  response.uncork()
  if (!isReady) await once(response, 'drain', { signal })
}
