/** One call to another node: its failures, and its short replies. */
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { RequestSecrets } from './authentication.ts'
import { StaleTokenError, TransferFailedError, TransferRefusedError } from './errors.ts'
import { HEADERS } from './wire.ts'

const MAX_REPLY_BYTES = 65_536

export type Call = {
  readonly request: ClientRequest
  readonly secrets: RequestSecrets
  readonly peer: string
}

/** The abort reason of the caller, or the failure with the name of the node. */
export function failure({ peer }: Call, error: unknown): Error {
  if (error instanceof Error && error.name === 'AbortError')
    return (error.cause as Error | undefined) ?? error
  return error instanceof TransferFailedError ? error : new TransferFailedError(peer, error)
}

type Refused = {
  readonly status: number
  readonly reason: string
  readonly isProven: boolean
  readonly error: Error
}

/** Reads a short reply. */
export async function readRefusal(call: Call, response: IncomingMessage): Promise<Refused> {
  const { secrets, peer } = call
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > MAX_REPLY_BYTES) throw new Error(`the reply has more than ${MAX_REPLY_BYTES} bytes`)
      chunks.push(chunk)
    }
  } catch (error) {
    call.request.destroy()
    throw failure(call, error)
  }
  const status = response.statusCode ?? 0
  const text = Buffer.concat(chunks).toString()
  const isProven = response.headers[HEADERS.proof] === secrets.proveReply(status, text)
  const { message, reason } = parseRefusal(text)
  const error =
    status === 409 && isProven
      ? new StaleTokenError(peer, status, message)
      : new TransferRefusedError(peer, status, message)
  return { status, reason, isProven, error }
}

function parseRefusal(text: string): { readonly message: string; readonly reason: string } {
  try {
    const { error, reason } = JSON.parse(text) as { readonly error?: unknown; readonly reason?: unknown }
    return {
      message: typeof error === 'string' ? error : text,
      reason: typeof reason === 'string' ? reason : '',
    }
  } catch {
    return { message: text.slice(0, 200), reason: '' }
  }
}
