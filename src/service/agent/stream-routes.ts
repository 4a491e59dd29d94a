/** The routes with long responses: the event stream and the black box. Both are limited in number. */
import type { Hono } from 'hono'
import { stream } from 'hono/streaming'
import { checkAdminToken, errorResponse } from './admin.ts'
import type { AppOptions, WithGroup } from './app.ts'
import type { WithBody } from './body.ts'

/** Limit of concurrent event streams. */
const MAX_STREAMS = 2000
/** Only one client can read a trace at a time, so a slow reader is cut off. */
const TRACE_TIMEOUT_MS = 30_000

type StreamOptions = Pick<AppOptions, 'groups' | 'adminToken' | 'isLoopback' | 'closing'>

export function addStreamRoutes(app: Hono<WithBody>, withGroup: WithGroup, options: StreamOptions): void {
  addEvents(app, withGroup, options)
  addTrace(app, withGroup, options)
}

function addEvents(app: Hono<WithBody>, withGroup: WithGroup, { groups, closing }: StreamOptions): void {
  const endAll = (): void => {
    for (const { watchers } of groups.values()) watchers.close()
  }
  closing.addEventListener('abort', endAll, { once: true })
  const headers = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }
  app.get(
    '/v1/events',
    withGroup((c, { watchers }) => {
      if (c.req.method === 'HEAD') return c.body(null, 200, headers)
      const only = c.req.query('only')
      if (only !== undefined && only !== 'events')
        return errorResponse(c, 400, 'InvalidParameter', `only=${only}: must be events, or omitted`, 'only')
      let streams = 0
      for (const group of groups.values()) streams += group.watchers.size
      if (streams >= MAX_STREAMS) {
        const message = `limit of ${MAX_STREAMS} watchers reached: try again later`
        return errorResponse(c, 503, 'TooManyWatchers', message)
      }
      const lastSeen = c.req.header('Last-Event-ID')
      const events = watchers.watch({ lastSeen, eventsOnly: only === 'events' })
      if (closing.aborted) endAll()
      return c.body(events, 200, headers)
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
