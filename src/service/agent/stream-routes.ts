/** The routes with long responses: the event stream and the black box. Both are limited in number. */
import type { Hono } from 'hono'
import { stream, streamSSE } from 'hono/streaming'
import { checkAdminToken, errorResponse } from './admin.ts'
import type { AppOptions, WithGroup } from './app.ts'
import type { WithBody } from './body.ts'
import { streamEvents } from './events.ts'

/** Limit of concurrent event streams. */
const MAX_STREAMS = 256
/** Only one client can read a trace at a time, so a slow reader is cut off. */
const TRACE_TIMEOUT_MS = 30_000

type StreamOptions = Pick<AppOptions, 'adminToken' | 'isLoopback' | 'closing'>

export function addStreamRoutes(app: Hono<WithBody>, withGroup: WithGroup, options: StreamOptions): void {
  addEvents(app, withGroup, options)
  addTrace(app, withGroup, options)
}

function addEvents(app: Hono<WithBody>, withGroup: WithGroup, { closing }: StreamOptions): void {
  let streams = 0
  app.get(
    '/v1/events',
    withGroup((c, group) => {
      if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' })
      if (streams >= MAX_STREAMS)
        return errorResponse(
          c,
          503,
          'TooManyWatchers',
          `limit of ${MAX_STREAMS} watchers reached: try again later`,
        )
      streams += 1
      return streamSSE(c, async (writer) => {
        try {
          await streamEvents(writer, group, c.req.header('Last-Event-ID'), closing)
        } finally {
          streams -= 1
        }
      })
    }),
  )
}

function addTrace(
  app: Hono<WithBody>,
  withGroup: WithGroup,
  { adminToken, isLoopback, closing }: StreamOptions,
): void {
  let isTracing = false
  app.get(
    '/v1/trace',
    withGroup((c, { node }) => {
      const refused = isLoopback ? null : checkAdminToken(c, adminToken)
      if (refused !== null) return refused
      if (isTracing)
        return errorResponse(c, 503, 'TraceBusy', 'another client is reading the trace: try again later')
      c.header('Content-Type', 'application/x-ndjson')
      // Hono answers HEAD with the headers of GET; the body would never be read.
      if (c.req.method === 'HEAD') return c.body(null, 200)
      isTracing = true
      return stream(c, async (writer) => {
        const timeout = setTimeout(() => writer.abort(), TRACE_TIMEOUT_MS)
        try {
          for await (const chunk of node.trace()) {
            if (writer.aborted || closing.aborted) return
            await writer.write(chunk)
          }
        } finally {
          clearTimeout(timeout)
          isTracing = false
        }
      })
    }),
  )
}
