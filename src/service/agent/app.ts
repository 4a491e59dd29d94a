/**
 * An agent's answers over HTTP. Whoever can reach it may ask; what changes something needs the admin token. Health and
 * readiness are about this process and never about leadership: `/leader` is. What there is stands in openapi.ts.
 */
import { setMaxListeners } from 'node:events'
import { type Context, Hono } from 'hono'
import { stream, streamSSE } from 'hono/streaming'
import type { NodeId } from '../../core/index.ts'
import type { ClaimResponse } from '../client/index.ts'
import { CommandRefusedError, type MemberStatus } from '../node/index.ts'
import { errorResponse, checkAdminToken } from './admin.ts'
import { readBody, type WithBody } from './body.ts'
import { streamEvents } from './events.ts'
import { refuseOtherHosts } from './hosts.ts'
import { renderMetrics } from './metrics.ts'
import { openApi } from './openapi.ts'
import { PAGE_POLICY, renderPage } from './page.ts'
import { leaderResponse, membersResponse, type ServedGroup, statusResponse } from './responses.ts'
import { claimBodySchema, removeBodySchema } from './schemas.ts'

export type { ServedGroup } from './responses.ts'

export type AppOptions = {
  /** By name; at least one. */
  readonly groups: ReadonlyMap<string, ServedGroup>
  /** Without one nobody may change anything. */
  readonly adminToken: string | null
  /** Whether only this machine can ask: then the trace needs no token. */
  readonly isLoopback: boolean
  /** Names by which it may be asked, besides addresses and localhost; null: by any. */
  readonly hosts: readonly string[] | null
  readonly version: string
  /** Ends the streams. */
  readonly ending: AbortSignal
}

/** Watchers at once; more are refused. */
const MOST_STREAMS = 256
/** How long a hand-over may take before the caller is told that it lasts. */
const LONGEST_STEP_DOWN_MS = 10_000
const LOOK_AGAIN_MS = 50
/** Whoever reads a trace more slowly is left behind: only one may at a time. */
const LONGEST_TRACE_MS = 30_000

export function createApp(asked: AppOptions): Hono<WithBody> {
  const { groups, adminToken, isLoopback, hosts, version, ending } = asked
  const app = new Hono<WithBody>()
  /** Built when it is first asked for: that takes longer than a thousand answers. */
  let description: string | null = null
  // Every stream waits for it.
  setMaxListeners(0, ending)
  let streams = 0
  let isTracing = false

  app.use(async (c, next) => {
    await next()
    c.header('Cache-Control', 'no-store')
    c.header('X-Content-Type-Options', 'nosniff')
  })
  if (hosts !== null) app.use(refuseOtherHosts(hosts))
  app.use(readBody)

  /** Answers about the group that is asked for. */
  const about =
    (answer: (c: Context<WithBody>, served: ServedGroup) => Response | Promise<Response>) =>
    (c: Context<WithBody>): Response | Promise<Response> => {
      const served = groupAsked(c, groups)
      return served instanceof Response ? served : answer(c, served)
    }

  app.get(
    '/v1/leader',
    about((c, { node }) => c.json(leaderResponse(node, node.status()))),
  )
  app.get(
    '/v1/members',
    about((c, { node }) => c.json(membersResponse(node, node.status()))),
  )
  app.get(
    '/v1/status',
    about((c, served) => c.json(statusResponse(served))),
  )
  app.get('/v1/openapi.json', (c) => {
    description ??= JSON.stringify(openApi(version))
    return c.body(description, 200, { 'Content-Type': 'application/json' })
  })

  app.post(
    '/v1/step-down',
    about(async (c, { node, events: history }) => {
      const refused = checkAdminToken(c, adminToken)
      if (refused !== null) return refused
      const { role, leader } = node.status()
      if (role !== 'leader') return notLeading(c, node.id, leader)
      const signal = AbortSignal.timeout(LONGEST_STEP_DOWN_MS)
      const isOver = (): boolean => {
        const now = node.status()
        return now.role !== 'leader' || now.leader?.token !== leader?.token
      }
      // Work that goes on keeps the lead until its lease has lapsed.
      let isDone = await node.stepDown({ signal })
      while (!isDone && !signal.aborted) {
        isDone = isOver()
        // oxlint-disable-next-line no-await-in-loop -- until it is over
        if (!isDone) await history.next(signal, LOOK_AGAIN_MS)
      }
      if (!isDone) {
        const message = 'whoever has claimed the lead has not ended: it is handed over then, or lapses'
        return errorResponse(c, 503, 'StillLeading', message)
      }
      return c.json({ group: node.group, steppedDown: { id: node.id, token: leader?.token ?? null } })
    }),
  )

  app.post(
    '/v1/remove',
    about(async (c, { node }) => {
      const refused = checkAdminToken(c, adminToken)
      if (refused !== null) return refused
      const body = removeBodySchema.safeParse(parsed(c.get('body')))
      if (!body.success) return errorResponse(c, 400, 'BadBody', 'write {"id": "..."}, the node to remove', 'id')
      const { mode, nodes } = node.status()
      // Who has a register is only known by asking the store, which removing does.
      if (mode !== 'store' && !nodes.some(({ id }) => id === body.data.id)) {
        const named = nodes.map(({ id }) => id).join(', ')
        return errorResponse(
          c,
          404,
          'UnknownNode',
          `${body.data.id} is no node of ${node.group}: ${named} are`,
          'id',
        )
      }
      try {
        await node.removeVoter(body.data.id)
      } catch (error) {
        if (!(error instanceof CommandRefusedError)) throw error
        return errorResponse(c, 409, 'CommandRefusedError', error.message)
      }
      return c.json({ group: node.group, removing: body.data.id })
    }),
  )

  app.post(
    '/v1/claim',
    about(async (c, { node, claims }) => {
      const refused = checkAdminToken(c, adminToken)
      if (refused !== null) return refused
      const body = claimBodySchema.safeParse(parsed(c.get('body')))
      if (!body.success) {
        const message = 'write {"claim": null}, or the name of a claim'
        return errorResponse(c, 400, 'BadBody', message, 'claim')
      }
      const { role, leader, leaseMs } = node.status()
      if (role !== 'leader' || leader === null || leaseMs === null) return notLeading(c, node.id, leader)
      const claim = claims.acquire(body.data.claim, leaseMs)
      if (claim === null) {
        const why = claims.isEnding ? 'the lead is being handed over' : 'there is no such claim, or too many'
        return errorResponse(c, 409, 'NoClaim', why)
      }
      const { group, id } = node
      const ends = { expiresInMs: leaseMs, ending: claims.isEnding }
      return c.json({ group, id, claim, token: leader.token, ...ends } satisfies ClaimResponse)
    }),
  )
  app.delete(
    '/v1/claim',
    about((c, { node, claims }) => {
      const refused = checkAdminToken(c, adminToken)
      if (refused !== null) return refused
      claims.release(c.req.query('claim') ?? '')
      return c.json({ group: node.group })
    }),
  )

  app.get(
    '/v1/events',
    about((c, served) => {
      if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' })
      if (streams >= MOST_STREAMS)
        return errorResponse(c, 503, 'TooManyWatchers', `${MOST_STREAMS} watch already: try again later`)
      streams += 1
      return streamSSE(c, async (writing) => {
        try {
          await streamEvents(writing, served, c.req.header('Last-Event-ID'), ending)
        } finally {
          streams -= 1
        }
      })
    }),
  )

  app.get(
    '/v1/trace',
    about((c, { node }) => {
      const refused = isLoopback ? null : checkAdminToken(c, adminToken)
      if (refused !== null) return refused
      if (isTracing) return errorResponse(c, 503, 'TraceBusy', 'somebody is being told the trace: try again')
      c.header('Content-Type', 'application/x-ndjson')
      // Hono answers HEAD with the head of the answer to GET, and nobody would ever read the rest of that.
      if (c.req.method === 'HEAD') return c.body(null, 200)
      isTracing = true
      return stream(c, async (writing) => {
        const late = setTimeout(() => writing.abort(), LONGEST_TRACE_MS)
        try {
          for await (const piece of node.trace()) {
            if (writing.aborted || ending.aborted) return
            await writing.write(piece)
          }
        } finally {
          clearTimeout(late)
          isTracing = false
        }
      })
    }),
  )

  const idleOf = (): readonly string[] =>
    [...groups.values()].flatMap(({ node }) => {
      const { idle } = node.status()
      if (idle === null) return []
      return [groups.size === 1 ? idle : `${node.group}: ${idle}`]
    })
  // HAProxy's own check is OPTIONS; other load balancers send GET or HEAD.
  const check = (path: string, answer: (c: Context<WithBody>) => Response | Promise<Response>): void => {
    app.get(path, answer)
    app.options(path, answer)
  }
  check('/healthz', (c) => {
    const ended = [...groups.values()].filter(({ node }) => node.status().idle === 'closed')
    const reason = ended.length === 0 ? null : idleOf().join('; ')
    return c.json({ ok: reason === null, reason }, reason === null ? 200 : 503)
  })
  check('/readyz', (c) => {
    const idle = idleOf()
    const reason = idle.length === 0 ? null : idle.join('; ')
    return c.json({ ready: reason === null, reason }, reason === null ? 200 : 503)
  })
  check(
    '/leader',
    about((c, { node }) => {
      const status = node.status()
      return c.json(leaderResponse(node, status), status.role === 'leader' ? 200 : 503)
    }),
  )
  app.options('/', (c) => c.body(null, 204, { Allow: 'GET, HEAD, OPTIONS' }))
  app.get('/metrics', (c) => {
    const text = renderMetrics(
      [...groups.values()].map(({ node, monitor: observer }) => ({
        group: node.group,
        id: String(node.id),
        status: node.status(),
        leaderships: observer.terms,
        views: observer.views,
        alarm: observer.alarm !== null,
      })),
    )
    return c.body(text, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  })
  app.get('/', (c) => {
    c.header('Vary', 'Accept')
    if (!(c.req.header('Accept') ?? '').includes('text/html'))
      return about((_, { node }) => c.json({ name: String(node.status().leader?.id ?? '') }))(c)
    c.header('Content-Security-Policy', PAGE_POLICY)
    const asksFor = c.req.query('group')
    const shown = asksFor === undefined ? [...groups.values()] : [groupAsked(c, groups)]
    const [first] = shown
    if (first instanceof Response) return first
    return c.html(renderPage((shown as readonly ServedGroup[]).map(statusResponse)))
  })

  app.notFound((c) => errorResponse(c, 404, 'NotFound', `there is no ${c.req.method} ${c.req.path} here`))
  app.onError((error, c) => errorResponse(c, 500, error.name, error.message))
  return app
}

/** Null for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

function notLeading(c: Context, id: NodeId, leader: MemberStatus['leader']): Response {
  const other = leader === null ? '' : `, ${leader.id} does`
  return errorResponse(c, 409, 'NotLeader', `${id} does not lead${other}`)
}

/** With one group it need not be named. */
function groupAsked(c: Context, groups: AppOptions['groups']): ServedGroup | Response {
  const names = [...groups.keys()].join(', ')
  const name = c.req.query('group')
  const [only] = groups.values()
  if (name === undefined && groups.size === 1 && only !== undefined) return only
  if (name === undefined) {
    const message = `this agent is in the groups ${names}: add ?group=NAME (--group NAME)`
    return errorResponse(c, 400, 'GroupNeeded', message, 'group')
  }
  const served = groups.get(name)
  if (served !== undefined) return served
  const message = `this agent is in the group${groups.size === 1 ? '' : 's'} ${names}, not in ${name}`
  return errorResponse(c, 404, 'UnknownGroup', message, 'group')
}
