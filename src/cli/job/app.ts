/**
 * The HTTP interface of a node that runs jobs. Anyone who can reach the address can read. Requests that change something
 * need the admin token: submitting a job runs a module with the rights of the node.
 */
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { checkAdminToken, errorResponse } from '../../service/agent/admin.ts'
import { readBody, type WithBody } from '../../service/agent/body.ts'
import { refuseOtherHosts } from '../../service/agent/hosts.ts'
import type { Cluster } from '../../service/recovery/cluster/cluster.ts'
import { type JobsResponse, type OutputsResponse, type ResultResponse, showBytes } from './responses.ts'

export type JobAppOptions = {
  readonly cluster: Pick<Cluster, 'id' | 'group' | 'view' | 'jobs' | 'handle' | 'submit' | 'cancel' | 'logs'>
  /** Null disables `submit` and `cancel`. */
  readonly adminToken: string | null
  /** Host names that requests may use, in addition to addresses and localhost. Null: any. */
  readonly hosts: readonly string[] | null
}

const submitSchema = z.strictObject({
  name: z.string(),
  module: z.string().min(1),
  input: z.json().default(null),
})

/** The status of a response by the code of the error. */
const STATUS: { readonly [code: string]: 400 | 404 | 409 } = {
  ERR_CONCLAVE_INVALID_ARGUMENT: 400,
  ERR_CONCLAVE_INVALID_JOB_VALUE: 400,
  ERR_CONCLAVE_UNKNOWN_JOB: 404,
  ERR_CONCLAVE_JOB_EXISTS: 409,
  ERR_CONCLAVE_JOB_REFUSED: 409,
  ERR_CONCLAVE_JOB_FAILED: 409,
  ERR_CONCLAVE_JOB_CANCELLED: 409,
}

export function createJobApp({ cluster, adminToken, hosts }: JobAppOptions): Hono<WithBody> {
  const app = new Hono<WithBody>()
  app.use(async (c, next) => {
    await next()
    c.header('Cache-Control', 'no-store')
    c.header('X-Content-Type-Options', 'nosniff')
  })
  if (hosts !== null) app.use(refuseOtherHosts(hosts))
  app.use(readBody)
  app.use('/v1/*', async (c, next) => {
    const group = c.req.query('group')
    if (group === undefined || group === cluster.group) return next()
    return errorResponse(
      c,
      404,
      'UnknownGroup',
      `this node is in the group "${cluster.group}", not in "${group}"`,
      'group',
    )
  })
  app.get('/healthz', (c) => c.json({ ok: true }))
  app.get('/v1/jobs', async (c) => {
    const { leader, members } = cluster.view()
    const { group, id: self } = cluster
    return c.json({ group, self, leader, members, jobs: await cluster.jobs() } satisfies JobsResponse)
  })
  app.get('/v1/jobs/:name', async (c) => c.json(await cluster.handle(c.req.param('name')).status()))
  app.get('/v1/jobs/:name/outputs', async (c) => {
    const job = c.req.param('name')
    // A job that is not known, or never was, must not look like one without outputs.
    const { submission } = await cluster.handle(job).status()
    return json(c, { job, submission, outputs: await cluster.logs(job) } satisfies OutputsResponse)
  })
  app.get('/v1/jobs/:name/result', async (c) => {
    const handle = cluster.handle(c.req.param('name'))
    const { status } = await handle.status()
    if (['submitted', 'waiting', 'running', 'lost'].includes(status))
      return errorResponse(c, 409, 'JobNotEnded', `job "${handle.name}" is ${status}`)
    return json(c, { job: handle.name, result: await handle.result() } satisfies ResultResponse)
  })
  app.post('/v1/jobs', async (c) => checkAdminToken(c, adminToken) ?? submit(c, cluster))
  app.delete('/v1/jobs/:name', async (c) => {
    const refusal = checkAdminToken(c, adminToken)
    if (refusal !== null) return refusal
    await cluster.cancel(c.req.param('name'))
    return c.json({ job: c.req.param('name'), cancelled: true })
  })
  app.notFound((c) => errorResponse(c, 404, 'NotFound', `unknown path: ${c.req.method} ${c.req.path}`))
  app.onError((error, c) => {
    const { code = '', field = null } = error as { readonly code?: string; readonly field?: string | null }
    return errorResponse(c, STATUS[code] ?? 500, error.name.replace(/Error$/, ''), error.message, field)
  })
  return app
}

async function submit(c: Context<WithBody>, cluster: JobAppOptions['cluster']): Promise<Response> {
  const body = submitSchema.safeParse(parseJson(c.get('body')))
  if (!body.success) {
    const form = '{"name": "render", "module": "/jobs/render.mjs", "input": null}'
    return errorResponse(c, 400, 'InvalidBody', `the body must have the form ${form}`)
  }
  const { name, module, input } = body.data
  const handle = await cluster.submit(name, { module, input })
  return c.json(await handle.status(), 201)
}

function json(c: Context, value: object): Response {
  return c.body(JSON.stringify(value, showBytes), 200, { 'Content-Type': 'application/json' })
}

/** Null for text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}
