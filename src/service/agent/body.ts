/**
 * The bodies of requests, read whole and up to a limit before anything is answered. Hono's own limit makes the request
 * anew when a body comes without its length (any `curl -X POST`, any chunked one), which the requests of Node's server
 * do not survive.
 */
import type { MiddlewareHandler } from 'hono'
import { failure } from './admin.ts'

const LARGEST_BODY = 64 * 1024

export type WithBody = { Variables: { body: string } }

export const readBody: MiddlewareHandler<WithBody> = async (c, next) => {
  const { method } = c.req
  // A length that is said is believed: Node hands on no more than that.
  const isTooLong = Number(c.req.header('Content-Length') ?? 0) > LARGEST_BODY
  const body = method === 'GET' || method === 'HEAD' ? '' : isTooLong ? null : await textOf(c.req.raw.body)
  if (body === null) return failure(c, 413, 'BodyTooLarge', `a body may have ${LARGEST_BODY} bytes at most`)
  c.set('body', body)
  return next()
}

/** Null when there is more of it than there may be; the rest is not waited for. */
async function textOf(stream: ReadableStream<Uint8Array> | null): Promise<string | null> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of stream ?? []) {
    size += piece.length
    if (size > LARGEST_BODY) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
