/**
 * Reads the whole body of a request, up to a limit, before its handler runs. Not Hono's bodyLimit: it copies a request
 * whose body has no Content-Length (any chunked request), and that fails with the requests of Node's server.
 */
import type { MiddlewareHandler } from 'hono'
import { errorResponse } from './admin.ts'

const MAX_BODY_BYTES = 64 * 1024

export type WithBody = { Variables: { body: string } }

export const readBody: MiddlewareHandler<WithBody> = async (c, next) => {
  const { method } = c.req
  // Content-Length can be trusted: Node reads no more than it declares.
  const isTooLong = Number(c.req.header('Content-Length') ?? 0) > MAX_BODY_BYTES
  const body = method === 'GET' || method === 'HEAD' ? '' : isTooLong ? null : await readText(c.req.raw.body)
  if (body === null)
    return errorResponse(c, 413, 'BodyTooLarge', `the body exceeds the limit of ${MAX_BODY_BYTES} bytes`)
  c.set('body', body)
  return next()
}

/** Null if the body exceeds the limit. Does not wait for the rest. */
async function readText(stream: ReadableStream<Uint8Array> | null): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream ?? []) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
