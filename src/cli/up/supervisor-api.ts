/**
 * The HTTP interface of `conclave up`, for the page: it kills, pauses and partitions the nodes as the keys and commands
 * do. It listens on loopback only, and accepts requests of the pages of its own agents only.
 */
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { z } from 'zod'
import { errorResponse } from '../../service/agent/admin.ts'
import { readBody, type WithBody } from '../../service/agent/body.ts'
import { listen } from '../../service/agent/listen.ts'
import type { LocalResponse } from '../../service/client/index.ts'
import { UsageError } from '../errors.ts'
import { execute } from './commands.ts'
import type { LocalGroup } from './local-group.ts'

/** How often the state of the group is compared with what the agents know. */
const COMPARE_INTERVAL_MS = 100

const nodeBody = z.strictObject({ id: z.string().min(1).max(200) })
const ids = z.array(z.string().min(1).max(200)).min(1).max(25)
const partitionBody = z.union([
  z.strictObject({ sides: z.array(ids).min(1).max(25) }),
  z.strictObject({
    cut: z
      .array(z.tuple([z.string().max(200), z.string().max(200)]))
      .min(1)
      .max(1000),
  }),
])
const stepDownBody = z.strictObject({ to: z.string().min(1).max(200).optional() })
const healBody = z.strictObject({})

const SHAPES = {
  node: '{"id": "n1"}',
  partition: '{"sides": [["n1"], ["n2", "n3"]]} or {"cut": [["n1", "n2"]]}',
  stepDown: '{} or {"to": "n2"}',
  heal: '{}',
} as const

export type SupervisorApi = {
  readonly url: string
  /** Tells the agents the state of the group, if it has changed. */
  announce(): void
  close(): Promise<void>
}

export async function startSupervisorApi(group: LocalGroup, signal: AbortSignal): Promise<SupervisorApi> {
  let url = ''
  let last = ''
  const announce = (): void => {
    const local = describeLocal(group, url)
    const runs = group.agents.map(({ starts }) => starts)
    const text = JSON.stringify([local, runs])
    if (text === last) return
    last = text
    for (const agent of group.agents) agent.announce(local)
  }
  const app = createSupervisorApp(group, { signal, url: () => url, announce })
  const server = await listen(app.fetch, { host: '127.0.0.1', port: 0 })
  url = server.url
  announce()
  const timer = setInterval(announce, COMPARE_INTERVAL_MS)
  return {
    url,
    announce,
    close() {
      clearInterval(timer)
      return server.close()
    },
  }
}

export function describeLocal(group: LocalGroup, url: string): LocalResponse {
  return {
    url,
    nodes: Object.fromEntries(group.agents.map(({ id, state }) => [id, state])),
    cut: group
      .directions()
      .flatMap(({ from, to }) => (group.faultOf({ from, to })?.cut === true ? [[to, from]] : [])),
  }
}

type AppContext = {
  readonly signal: AbortSignal
  readonly url: () => string
  readonly announce: () => void
}

export function createSupervisorApp(
  group: LocalGroup,
  { signal, url, announce }: AppContext,
): Hono<WithBody> {
  const app = new Hono<WithBody>()
  app.use(refuseOtherPages(group.agents.map((agent) => agent.url)))
  app.use(readBody)
  app.get('/v1/local', (c) => c.json(describeLocal(group, url())))
  const respond = async (c: Context<WithBody>, lines: readonly string[]): Promise<Response> => {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one command after the other, as they were given
      for (const line of lines) await execute(group, line, signal)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      return errorResponse(c, 400, 'InvalidBody', error.message)
    }
    announce()
    return c.json(describeLocal(group, url()))
  }
  for (const name of ['kill', 'restart', 'pause', 'resume'] as const)
    app.post(`/v1/local/${name}`, (c) => {
      const body = nodeBody.safeParse(parseBody(c))
      if (!body.success) return invalid(c, SHAPES.node)
      const { id } = body.data
      if (!group.ids.includes(id)) return unknownNode(c, group, id)
      return respond(c, [`${name} ${id}`])
    })
  app.post('/v1/local/partition', (c) => {
    const body = partitionBody.safeParse(parseBody(c))
    if (!body.success) return invalid(c, SHAPES.partition)
    const named = 'sides' in body.data ? body.data.sides : body.data.cut
    const unknown = named.flat().find((id) => !group.ids.includes(id))
    if (unknown !== undefined) return unknownNode(c, group, unknown)
    return respond(
      c,
      'sides' in body.data
        ? [`partition ${body.data.sides.map((side) => side.join(',')).join(' ')}`]
        : body.data.cut.map(([hearer, sender]) => `cut ${sender}>${hearer}`),
    )
  })
  app.post('/v1/local/heal', (c) =>
    healBody.safeParse(parseBody(c)).success ? respond(c, ['heal']) : invalid(c, SHAPES.heal),
  )
  app.post('/v1/local/step-down', async (c) => {
    const body = stepDownBody.safeParse(parseBody(c))
    if (!body.success) return invalid(c, SHAPES.stepDown)
    const [leader] = group.leaders
    const problem = leader === undefined ? 'no node leads' : await leader.stepDown(body.data.to ?? null)
    if (problem !== null) return errorResponse(c, 409, 'StepDownRefused', problem)
    return c.json(describeLocal(group, url()))
  })
  app.notFound((c) => errorResponse(c, 404, 'NotFound', `unknown path: ${c.req.method} ${c.req.path}`))
  app.onError((error, c) => errorResponse(c, 500, error.name, error.message))
  return app
}

/**
 * Refuses requests for another host, which DNS rebinding sends, and requests of any page but those of the agents. Lets
 * the browser send and read the others, although they come from another port.
 */
function refuseOtherPages(pages: readonly string[]): MiddlewareHandler {
  const allowed = new Set(
    pages
      .flatMap((page) => [page, page.replace('127.0.0.1', 'localhost')])
      .map((page) => new URL(page).origin),
  )
  return async (c, next) => {
    const host = (c.req.header('Host') ?? '').replace(/:\d*$/, '')
    if (host !== '' && host !== '127.0.0.1' && host !== 'localhost')
      return errorResponse(
        c,
        403,
        'UnknownHost',
        `the Host header ${JSON.stringify(host)} is not 127.0.0.1`,
        'Host',
      )
    const origin = c.req.header('Origin')
    if (origin === undefined) return next()
    if (!allowed.has(origin)) {
      const message = `requests from the origin ${JSON.stringify(origin)} are refused: it is not a page of this group`
      return errorResponse(c, 403, 'ForeignOrigin', message, 'Origin')
    }
    c.header('Access-Control-Allow-Origin', origin)
    c.header('Vary', 'Origin')
    if (c.req.method !== 'OPTIONS') return next()
    c.header('Access-Control-Allow-Methods', 'GET, POST')
    c.header('Access-Control-Allow-Headers', 'Content-Type')
    c.header('Access-Control-Max-Age', '600')
    return c.body(null, 204)
  }
}

/** Null for text that is not JSON; an empty object without a body. */
function parseBody(c: Context<WithBody>): unknown {
  const text = c.get('body')
  if (text === '') return {}
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

const invalid = (c: Context, shape: string): Response =>
  errorResponse(c, 400, 'InvalidBody', `the body must be ${shape}`)

const unknownNode = (c: Context, group: LocalGroup, id: string): Response =>
  errorResponse(
    c,
    404,
    'UnknownNode',
    `${id} is not a node of this group; its nodes are ${group.ids.join(', ')}`,
    'id',
  )
