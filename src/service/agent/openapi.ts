/** The OpenAPI 3.1 description of the HTTP interface, generated from the schemas of the responses. */
import { z } from 'zod'
import {
  claimSchema,
  errorSchema,
  eventSchema,
  groupsSchema,
  healthSchema,
  historySchema,
  leaderSchema,
  leaseBoundsSchema,
  localSchema,
  membersSchema,
  readySchema,
  releaseSchema,
  removeSchema,
  sidecarSchema,
  statusSchema,
  stepDownSchema,
} from './schemas.ts'

const SCHEMAS = {
  Leader: leaderSchema,
  Members: membersSchema,
  Status: statusSchema,
  History: historySchema,
  Local: localSchema,
  SteppedDown: stepDownSchema,
  Claimed: claimSchema,
  Released: releaseSchema,
  Removing: removeSchema,
  LeaseBounds: leaseBoundsSchema,
  Event: eventSchema,
  Error: errorSchema,
  Health: healthSchema,
  Ready: readySchema,
  Sidecar: sidecarSchema,
  Groups: groupsSchema,
}
type SchemaName = keyof typeof SCHEMAS

type RouteResponse = { readonly description: string; readonly schema?: SchemaName; readonly type?: string }

export type Route = {
  readonly method: 'get' | 'post' | 'delete' | 'options'
  readonly path: string
  readonly summary: string
  /** Whether the route takes `?group=NAME`. */
  readonly takesGroup: boolean
  readonly admin: 'always' | 'unless loopback' | 'never'
  readonly query?: readonly { readonly name: string; readonly description: string }[]
  readonly headers?: readonly { readonly name: string; readonly description: string }[]
  readonly responses: { readonly [status: string]: RouteResponse }
}

const error = (description: string): RouteResponse => ({ description, schema: 'Error' })
const unknownGroup = error('the agent does not serve this group')
const groupRequired = error('the agent serves several groups: add ?group=NAME')
const GROUP_ERRORS = { 400: groupRequired, 404: unknownGroup }
const ADMIN_ERRORS = {
  401: error('the admin token is missing or wrong'),
  403: error('the agent was started without --admin-token-file, or the Host or Origin header is not its own'),
}
const HOST_ERRORS = { 403: error('the Host or Origin header is not a name of this agent') }

const BASE_ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/leader',
    summary: 'the leader, as this agent knows it',
    takesGroup: true,
    admin: 'never',
    responses: { 200: { description: 'the leader', schema: 'Leader' }, ...GROUP_ERRORS },
  },
  {
    method: 'get',
    path: '/v1/status',
    summary: 'the leader, and the condition of the group: banner, level, voters, failure tolerance, nodes',
    takesGroup: true,
    admin: 'never',
    responses: { 200: { description: 'the condition of the group', schema: 'Status' }, ...GROUP_ERRORS },
  },
  {
    method: 'get',
    path: '/v1/members',
    summary: 'the nodes of the group',
    takesGroup: true,
    admin: 'never',
    responses: { 200: { description: 'the nodes of the group', schema: 'Members' }, ...GROUP_ERRORS },
  },
  {
    method: 'get',
    path: '/v1/history',
    summary: 'terms, gaps between them with their causes, and samples of the measurements of the last hour',
    takesGroup: true,
    admin: 'never',
    responses: { 200: { description: 'the history', schema: 'History' }, ...GROUP_ERRORS },
  },
  {
    method: 'get',
    path: '/v1/events',
    summary: 'events of the group, as server-sent events',
    takesGroup: true,
    admin: 'never',
    headers: [{ name: 'Last-Event-ID', description: 'id of the last event that the client received' }],
    query: [{ name: 'only', description: '`events`: neither `status` nor `history`' }],
    responses: {
      200: {
        description:
          'a stream that begins with `snapshot`: a Leader. `status` has a Status, once a second and when the condition of the group changes; `history` has a new or changed entry of `History.terms`; `missed` says that older events were dropped; all others have an Event and an id',
        type: 'text/event-stream',
        schema: 'Event',
      },
      503: error('too many watchers'),
      ...GROUP_ERRORS,
    },
  },
  {
    method: 'get',
    path: '/v1/local',
    summary: 'under `conclave up`: where its supervisor listens, and what it did to each node',
    takesGroup: false,
    admin: 'never',
    responses: {
      200: { description: 'the supervisor', schema: 'Local' },
      404: error('the agent was not started by `conclave up`'),
    },
  },
  {
    method: 'get',
    path: '/v1/trace',
    summary: 'the black box: the last steps of the node, for `conclave replay`',
    takesGroup: true,
    admin: 'unless loopback',
    responses: {
      200: { description: 'a trace, one JSON object per line', type: 'application/x-ndjson' },
      503: error('another client is reading the trace'),
      ...GROUP_ERRORS,
      ...ADMIN_ERRORS,
    },
  },
  {
    method: 'get',
    path: '/v1/openapi.json',
    summary: 'this description',
    takesGroup: false,
    admin: 'never',
    responses: { 200: { description: 'OpenAPI 3.1', type: 'application/json' } },
  },
  {
    method: 'post',
    path: '/v1/step-down',
    summary:
      'ends the term of this agent and lets another node lead; with `{"to": ID}` hands it over to that node, and says who leads next',
    takesGroup: true,
    admin: 'always',
    responses: {
      200: { description: 'the term has ended', schema: 'SteppedDown' },
      409: error('the agent does not lead, or cannot hand over to that node; the message says why'),
      413: error('the body is too large'),
      503: error('a claim still holds the term after 10 s'),
      ...GROUP_ERRORS,
      ...ADMIN_ERRORS,
    },
  },
  {
    method: 'post',
    path: '/v1/remove',
    summary: 'removes the node in `{"id": ...}` from the group; its process must be stopped for good',
    takesGroup: true,
    admin: 'always',
    responses: {
      200: {
        description: 'the removal has started; a warning `removed` reports its end',
        schema: 'Removing',
      },
      409: error('the protocol refuses; the message says why'),
      413: error('the body is too large'),
      ...GROUP_ERRORS,
      404: error('unknown group or unknown node'),
      ...ADMIN_ERRORS,
    },
  },
  {
    method: 'post',
    path: '/v1/lease-bounds',
    summary:
      'changes the bounds of leases of this agent until it restarts, with `{"leaseMinMs": 20, "leaseMaxMs": 2000}` or one of them; set them in the configuration, too',
    takesGroup: true,
    admin: 'always',
    responses: {
      200: { description: 'the bounds are in force', schema: 'LeaseBounds' },
      409: error('the timing is fixed, or the bounds cannot work; the message says why'),
      413: error('the body is too large'),
      ...GROUP_ERRORS,
      400: error('a bound is not a number from 10 to 60000, or the group is missing'),
      ...ADMIN_ERRORS,
    },
  },
  {
    method: 'post',
    path: '/v1/claim',
    summary:
      'claims the term, or renews a claim; the agent ends its term only after all claims are released or expired',
    takesGroup: true,
    admin: 'always',
    responses: {
      200: { description: 'the claim is valid', schema: 'Claimed' },
      409: error(
        'the agent does not lead, its term is just beginning or ending, the claim has expired, or there are too many claims',
      ),
      413: error('the body is too large'),
      ...GROUP_ERRORS,
      ...ADMIN_ERRORS,
    },
  },
  {
    method: 'delete',
    path: '/v1/claim',
    summary: 'releases the claim in `?claim=`',
    takesGroup: true,
    admin: 'always',
    responses: {
      200: { description: 'the claim is released', schema: 'Released' },
      ...GROUP_ERRORS,
      ...ADMIN_ERRORS,
    },
  },
  {
    method: 'get',
    path: '/healthz',
    summary: 'health: whether the node is running',
    takesGroup: false,
    admin: 'never',
    responses: {
      200: { description: 'the node is running', schema: 'Health' },
      503: { description: 'the node has stopped', schema: 'Health' },
    },
  },
  {
    method: 'get',
    path: '/readyz',
    summary: 'readiness: whether the node takes part in elections; independent of leadership',
    takesGroup: false,
    admin: 'never',
    responses: {
      200: { description: 'the node takes part', schema: 'Ready' },
      503: { description: 'the node is silent after a restart, or has stopped', schema: 'Ready' },
    },
  },
  {
    method: 'get',
    path: '/leader',
    summary: 'whether this agent leads, by the status code; for load balancers',
    takesGroup: true,
    admin: 'never',
    responses: {
      200: { description: 'the agent leads', schema: 'Leader' },
      503: { description: 'the agent does not lead', schema: 'Leader' },
      ...GROUP_ERRORS,
    },
  },
  {
    method: 'get',
    path: '/metrics',
    summary: 'Prometheus metrics of all groups',
    takesGroup: false,
    admin: 'never',
    responses: { 200: { description: 'metrics', type: 'text/plain' } },
  },
  {
    method: 'get',
    path: '/',
    summary:
      'the id of the leader, in the format of the Kubernetes leader-elector sidecar; the live page for browsers',
    takesGroup: true,
    admin: 'never',
    responses: { 200: { description: 'the leader', schema: 'Sidecar' }, ...GROUP_ERRORS },
  },
  {
    method: 'get',
    path: '/assets/{name}',
    summary: 'scripts and styles of the live page',
    takesGroup: false,
    admin: 'never',
    responses: {
      200: { description: 'the file', type: 'text/javascript' },
      404: error('there is no such file'),
    },
  },
  {
    method: 'get',
    path: '/playground/',
    summary: 'the playground: the protocols of this agent, simulated in the browser',
    takesGroup: false,
    admin: 'never',
    responses: { 200: { description: 'the page', type: 'text/html' }, 503: error('the page is not built') },
  },
  {
    method: 'get',
    path: '/playground/assets/{name}',
    summary: 'scripts and styles of the playground',
    takesGroup: false,
    admin: 'never',
    responses: {
      200: { description: 'the file', type: 'text/javascript' },
      404: error('there is no such file'),
    },
  },
  {
    method: 'get',
    path: '/v1/groups',
    summary: 'the names of all groups that the agent serves',
    takesGroup: false,
    admin: 'never',
    responses: { 200: { description: 'the groups', schema: 'Groups' } },
  },
  {
    method: 'options',
    path: '/',
    summary: 'the default health check of HAProxy',
    takesGroup: false,
    admin: 'never',
    responses: { 204: { description: 'the agent responds' } },
  },
]

const CHECKS = ['/healthz', '/readyz', '/leader']

/** All routes of an agent. Checks accept OPTIONS as well as GET. */
export const ROUTES: readonly Route[] = BASE_ROUTES.flatMap((route): readonly Route[] => {
  const complete = { ...route, responses: { ...HOST_ERRORS, ...route.responses } }
  return route.method === 'get' && CHECKS.includes(route.path)
    ? [complete, { ...complete, method: 'options' }]
    : [complete]
})

const READ_TOKEN =
  'If the agent has a read token, all requests but /healthz, /readyz, /leader and the files of the page need it or the admin token, as "Authorization: Bearer TOKEN", and are refused with 401 otherwise.'

export function openApi(version: string): object {
  const paths: { [path: string]: object } = {}
  for (const route of ROUTES)
    paths[route.path] = { ...paths[route.path], [route.method]: describeOperation(route) }
  const schemas = Object.entries(SCHEMAS).map(([name, schema]) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema)
    return [name, rest] as const
  })
  return {
    openapi: '3.1.0',
    info: {
      title: 'Conclave agent',
      description: READ_TOKEN,
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      securitySchemes: { admin: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function describeOperation(route: Route): object {
  const { path, summary, takesGroup, admin, query = [], headers = [], responses } = route
  const parameters = [
    ...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...(takesGroup
      ? [
          {
            name: 'group',
            in: 'query',
            required: false,
            description: 'name of the group',
            schema: { type: 'string' },
          },
        ]
      : []),
    ...query.map((each) => ({ ...each, in: 'query', required: false, schema: { type: 'string' } })),
    ...headers.map((header) => ({ ...header, in: 'header', required: false, schema: { type: 'string' } })),
  ]
  const described = Object.entries(responses).map(
    ([status, { description, schema, type = 'application/json' }]) => {
      const content = schema === undefined ? {} : { schema: { $ref: `#/components/schemas/${schema}` } }
      return [status, { description, content: { [type]: content } }] as const
    },
  )
  return {
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(admin === 'never' ? {} : { security: admin === 'always' ? [{ admin: [] }] : [{}, { admin: [] }] }),
    responses: Object.fromEntries(described),
  }
}
