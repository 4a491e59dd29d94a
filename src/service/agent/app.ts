/**
 * The HTTP interface of an agent. Anyone who can reach the address can read; requests that change something need the
 * admin token. `/healthz` and `/readyz` are about this process, never about leadership: `/leader` is. openapi.ts
 * describes every path.
 */
import { setMaxListeners } from 'node:events'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import type { LocalResponse } from '../client/index.ts'
import { errorResponse, requireReadToken } from './admin.ts'
import { addAdminRoutes } from './admin-routes.ts'
import { readBody, type WithBody } from './body.ts'
import { refuseOtherHosts } from './hosts.ts'
import { renderMetrics } from './metrics.ts'
import { openApi, ROUTES } from './openapi.ts'
import {
  historyResponse,
  leaderResponse,
  measureGroup,
  membersResponse,
  statusResponse,
} from './responses.ts'
import type { ServedGroup } from './served-group.ts'
import { addStreamRoutes } from './stream-routes.ts'
import { loadPlayground, loadWebPage } from './web-page.ts'

export type AppOptions = {
  /** By name; at least one. */
  readonly groups: ReadonlyMap<string, ServedGroup>
  /** Null disables all admin requests. */
  readonly adminToken: string | null
  /** If given, reading the state needs this token or the admin token. */
  readonly readToken?: string | null
  /** Whether only this machine can reach the agent. Then `/v1/trace` needs no token. */
  readonly isLoopback: boolean
  /** Host names that requests may use, in addition to addresses and localhost. Null: any. */
  readonly hosts: readonly string[] | null
  readonly version: string
  /** Under `conclave up`: what its supervisor says. The page may send requests to it. */
  readonly local?: () => LocalResponse | null
  /** Aborted when the agent closes; ends the streams. */
  readonly closing: AbortSignal
}

export type Handler = (c: Context<WithBody>) => Response | Promise<Response>

/** Makes a handler for the group that a request names. */
export type WithGroup = (
  respond: (c: Context<WithBody>, group: ServedGroup) => Response | Promise<Response>,
) => Handler

export function createApp(options: AppOptions): Hono<WithBody> {
  const { groups, hosts, version, closing } = options
  const app = new Hono<WithBody>()
  // Every stream listens to it.
  setMaxListeners(0, closing)
  app.use(async (c, next) => {
    await next()
    if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store')
    c.header('X-Content-Type-Options', 'nosniff')
  })
  if (hosts !== null) app.use(refuseOtherHosts(hosts))
  app.use(refuseWebSockets)
  const { readToken = null } = options
  if (readToken !== null) app.use(requireReadToken([readToken, options.adminToken]))
  app.use(readBody)

  const withGroup: WithGroup = (respond) => (c) => {
    const group = findGroup(c, groups)
    return group instanceof Response ? group : respond(c, group)
  }
  addStatusRoutes(app, withGroup, version)
  addAdminRoutes(app, withGroup, options)
  addStreamRoutes(app, withGroup, options)
  addChecks(app, withGroup, groups)
  addMetrics(app, groups)
  addPage(app, withGroup, options)
  app.notFound(respondUnknown)
  app.onError((error, c) => errorResponse(c, 500, error.name, error.message))
  return app
}

const refuseWebSockets: MiddlewareHandler = (c, next) => {
  if (c.req.header('Upgrade')?.toLowerCase() !== 'websocket') return next()
  const message = 'this agent has no WebSocket: read the events with GET /v1/events (server-sent events)'
  return Promise.resolve(errorResponse(c, 400, 'NoWebSocket', message, 'Upgrade'))
}

/** A path that exists for other methods names them. */
function respondUnknown(c: Context): Response {
  const { method, path } = c.req
  const methods = ROUTES.filter((route) => route.path === path).map((route) => route.method.toUpperCase())
  if (methods.length === 0) return errorResponse(c, 404, 'NotFound', `unknown path: ${method} ${path}`)
  c.header('Allow', methods.join(', '))
  return errorResponse(
    c,
    405,
    'MethodNotAllowed',
    `${path} does not accept ${method}; use ${methods.join(' or ')}`,
  )
}

function addStatusRoutes(app: Hono<WithBody>, withGroup: WithGroup, version: string): void {
  app.get(
    '/v1/leader',
    withGroup((c, { node }) => c.json(leaderResponse(node, node.status()))),
  )
  app.get(
    '/v1/members',
    withGroup((c, { node }) => c.json(membersResponse(node, node.status()))),
  )
  app.get(
    '/v1/status',
    withGroup((c, group) => c.json(statusResponse(group))),
  )
  app.get(
    '/v1/history',
    withGroup((c, group) => c.json(historyResponse(group))),
  )
  // Built at the first request: it takes longer than a thousand responses.
  let description: string | null = null
  app.get('/v1/openapi.json', (c) => {
    description ??= JSON.stringify(openApi(version))
    return c.body(description, 200, { 'Content-Type': 'application/json' })
  })
}

/** Health checks for orchestrators and load balancers. HAProxy sends OPTIONS by default, others GET or HEAD. */
function addChecks(app: Hono<WithBody>, withGroup: WithGroup, groups: AppOptions['groups']): void {
  const addCheck = (path: string, handler: Handler): void => {
    app.get(path, handler)
    app.options(path, handler)
  }
  const idleReasons = (): readonly string[] =>
    [...groups.values()].flatMap(({ node }) => {
      const { idle } = node.status()
      if (idle === null) return []
      return [groups.size === 1 ? idle : `${node.group}: ${idle}`]
    })
  addCheck('/healthz', (c) => {
    const isHealthy = [...groups.values()].every(({ node }) => node.status().idle !== 'closed')
    const reason = isHealthy ? null : idleReasons().join('; ')
    return c.json({ ok: isHealthy, reason }, isHealthy ? 200 : 503)
  })
  addCheck('/readyz', (c) => {
    const reasons = idleReasons()
    const isReady = reasons.length === 0
    return c.json({ ready: isReady, reason: isReady ? null : reasons.join('; ') }, isReady ? 200 : 503)
  })
  addCheck(
    '/leader',
    withGroup((c, { node }) => {
      const status = node.status()
      return c.json(leaderResponse(node, status), status.role === 'leader' ? 200 : 503)
    }),
  )
  app.options('/', (c) => c.body(null, 204, { Allow: 'GET, HEAD, OPTIONS' }))
}

function addMetrics(app: Hono<WithBody>, groups: AppOptions['groups']): void {
  app.get('/metrics', (c) => {
    const text = renderMetrics([...groups.values()].map(measureGroup))
    return c.body(text, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  })
}

/** For programs the leader's id, as Kubernetes' leader-elector sidecar reports it; for browsers the live page. */
function addPage(app: Hono<WithBody>, withGroup: WithGroup, options: AppOptions): void {
  const { groups, version, local = () => null } = options
  const web = loadWebPage()
  const respondAsSidecar = withGroup((c, { node }) =>
    c.json({ name: String(node.status().leader?.id ?? '') }),
  )
  app.get('/', (c) => {
    c.header('Vary', 'Accept')
    if (!(c.req.header('Accept') ?? '').includes('text/html')) return respondAsSidecar(c)
    return web.page(c, local()?.url ?? null)
  })
  app.get('/assets/:name', (c) => web.asset(c, c.req.param('name')))
  const playground = loadPlayground('none')
  app.get('/playground/', (c) => playground.page(c))
  app.get('/playground/assets/:name', (c) => playground.asset(c, c.req.param('name')))
  app.get('/v1/local', (c) => {
    const body = local()
    const message = 'this agent was not started by conclave up: it has no local supervisor'
    return body === null ? errorResponse(c, 404, 'NotLocal', message) : c.json(body)
  })
  app.get('/v1/groups', (c) => c.json({ version, groups: [...groups.keys()] }))
}

/** The group that `?group=` names. It can be omitted when the agent serves one group. */
function findGroup(c: Context, groups: AppOptions['groups']): ServedGroup | Response {
  const names = [...groups.keys()].join(', ')
  const name = c.req.query('group')
  const [only] = groups.values()
  if (name === undefined && groups.size === 1 && only !== undefined) return only
  if (name === undefined) {
    const message = `this agent serves several groups (${names}): add ?group=NAME (--group NAME)`
    return errorResponse(c, 400, 'GroupRequired', message, 'group')
  }
  const group = groups.get(name)
  if (group !== undefined) return group
  const message = `this agent does not serve the group ${name}; it serves ${names}`
  return errorResponse(c, 404, 'UnknownGroup', message, 'group')
}
