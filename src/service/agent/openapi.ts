/** The HTTP interface, described for programs (OpenAPI 3.1) out of the schemas of its answers. */
import { z } from 'zod'
import {
  agentEvent,
  claimed,
  errorAnswer,
  healthAnswer,
  leaderAnswer,
  membersAnswer,
  readyAnswer,
  released,
  removing,
  sidecarAnswer,
  statusAnswer,
  steppedDown,
} from './schemas.ts'

const SCHEMAS = {
  Leader: leaderAnswer,
  Members: membersAnswer,
  Status: statusAnswer,
  SteppedDown: steppedDown,
  Claimed: claimed,
  Released: released,
  Removing: removing,
  Event: agentEvent,
  Error: errorAnswer,
  Health: healthAnswer,
  Ready: readyAnswer,
  Sidecar: sidecarAnswer,
}
type Name = keyof typeof SCHEMAS

type Answer = { readonly says: string; readonly schema?: Name; readonly type?: string }

export type Route = {
  readonly method: 'get' | 'post' | 'delete' | 'options'
  readonly path: string
  readonly summary: string
  /** Whether `?group=NAME` chooses among several groups. */
  readonly ofGroup: boolean
  readonly admin: 'always' | 'unless loopback' | 'never'
  readonly headers?: readonly { readonly name: string; readonly description: string }[]
  readonly answers: { readonly [code: string]: Answer }
}

const error = (says: string): Answer => ({ says, schema: 'Error' })
const unknownGroup = error('this agent is not in that group')
const groupNeeded = error('this agent is in several groups: add ?group=NAME')
const OF_GROUP = { 400: groupNeeded, 404: unknownGroup }
const ADMIN = {
  401: error('the admin token is missing or wrong'),
  403: error('this agent was started without --admin-token-file, or the request is for another host'),
}
const OTHER_HOST = { 403: error('the request is for another host, or from the page of another') }

const DESCRIBED: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/leader',
    summary: 'who leads, as this agent knows',
    ofGroup: true,
    admin: 'never',
    answers: { 200: { says: 'who leads', schema: 'Leader' }, ...OF_GROUP },
  },
  {
    method: 'get',
    path: '/v1/status',
    summary: 'the same, with the sentence, its level, voters, spare failures, members',
    ofGroup: true,
    admin: 'never',
    answers: { 200: { says: 'how the group is', schema: 'Status' }, ...OF_GROUP },
  },
  {
    method: 'get',
    path: '/v1/members',
    summary: 'the members alone',
    ofGroup: true,
    admin: 'never',
    answers: { 200: { says: 'who belongs to the group', schema: 'Members' }, ...OF_GROUP },
  },
  {
    method: 'get',
    path: '/v1/events',
    summary: 'what happens, as server-sent events',
    ofGroup: true,
    admin: 'never',
    headers: [{ name: 'Last-Event-ID', description: 'the id of the last event that was seen' }],
    answers: {
      200: { says: 'events, each with one Event as its data', type: 'text/event-stream', schema: 'Event' },
      503: error('too many watch already'),
      ...OF_GROUP,
    },
  },
  {
    method: 'get',
    path: '/v1/trace',
    summary: 'the black box: the last steps of the node, for `conclave replay`',
    ofGroup: true,
    admin: 'unless loopback',
    answers: {
      200: { says: 'a trace, one JSON object a line', type: 'application/x-ndjson' },
      503: error('somebody else is being told the trace'),
      ...OF_GROUP,
      ...ADMIN,
    },
  },
  {
    method: 'get',
    path: '/v1/openapi.json',
    summary: 'this description',
    ofGroup: false,
    admin: 'never',
    answers: { 200: { says: 'OpenAPI 3.1', type: 'application/json' } },
  },
  {
    method: 'post',
    path: '/v1/step-down',
    summary: 'hands the lead over',
    ofGroup: true,
    admin: 'always',
    answers: {
      200: { says: 'the lead is given up', schema: 'SteppedDown' },
      409: error('this agent does not lead'),
      413: error('the body is too large'),
      503: error('whoever has claimed the lead has not ended within 10 s'),
      ...OF_GROUP,
      ...ADMIN,
    },
  },
  {
    method: 'post',
    path: '/v1/remove',
    summary: 'takes the node in `{"id": ...}` out of the group, once its process is gone for good',
    ofGroup: true,
    admin: 'always',
    answers: {
      200: { says: 'it has begun; a warning `removed` tells when it is done', schema: 'Removing' },
      409: error('the protocol refuses, and says why'),
      413: error('the body is too large'),
      ...OF_GROUP,
      404: error('there is no such group, or no such node in it'),
      ...ADMIN,
    },
  },
  {
    method: 'post',
    path: '/v1/claim',
    summary:
      'claims the lead, or renews a claim: it is handed over only when that was given back or has run out',
    ofGroup: true,
    admin: 'always',
    answers: {
      200: { says: 'it may be acted on', schema: 'Claimed' },
      409: error('this agent does not lead, or there is no such claim, or too many'),
      413: error('the body is too large'),
      ...OF_GROUP,
      ...ADMIN,
    },
  },
  {
    method: 'delete',
    path: '/v1/claim',
    summary: 'gives the claim in `?claim=` back',
    ofGroup: true,
    admin: 'always',
    answers: { 200: { says: 'nobody acts on it any more', schema: 'Released' }, ...OF_GROUP, ...ADMIN },
  },
  {
    method: 'get',
    path: '/healthz',
    summary: 'whether the node runs',
    ofGroup: false,
    admin: 'never',
    answers: {
      200: { says: 'it runs', schema: 'Health' },
      503: { says: 'it has ended', schema: 'Health' },
    },
  },
  {
    method: 'get',
    path: '/readyz',
    summary: 'whether it takes part in elections; never whether it leads',
    ofGroup: false,
    admin: 'never',
    answers: {
      200: { says: 'it takes part', schema: 'Ready' },
      503: { says: 'it is silent for a moment after a restart, or has ended', schema: 'Ready' },
    },
  },
  {
    method: 'get',
    path: '/leader',
    summary: 'whether this agent leads, by the status code: for load balancers',
    ofGroup: true,
    admin: 'never',
    answers: {
      200: { says: 'it leads', schema: 'Leader' },
      503: { says: 'it does not', schema: 'Leader' },
      ...OF_GROUP,
    },
  },
  {
    method: 'get',
    path: '/metrics',
    summary: 'metrics for Prometheus, of all groups',
    ofGroup: false,
    admin: 'never',
    answers: { 200: { says: 'metrics', type: 'text/plain' } },
  },
  {
    method: 'get',
    path: '/',
    summary: 'for programs who leads, as a Kubernetes sidecar says it; for browsers a plain page',
    ofGroup: true,
    admin: 'never',
    answers: { 200: { says: 'who leads', schema: 'Sidecar' }, ...OF_GROUP },
  },
  {
    method: 'options',
    path: '/',
    summary: 'whether an agent answers here: what HAProxy checks unless it is given a path',
    ofGroup: false,
    admin: 'never',
    answers: { 204: { says: 'it answers' } },
  },
]

const CHECKS = ['/healthz', '/readyz', '/leader']

/** Everything that an agent answers. Checks are answered to OPTIONS as to GET. */
export const ROUTES: readonly Route[] = DESCRIBED.flatMap((route): readonly Route[] => {
  const whole = { ...route, answers: { ...OTHER_HOST, ...route.answers } }
  return route.method === 'get' && CHECKS.includes(route.path)
    ? [whole, { ...whole, method: 'options' }]
    : [whole]
})

export function openApi(version: string): object {
  const paths: { [path: string]: object } = {}
  for (const route of ROUTES) paths[route.path] = { ...paths[route.path], [route.method]: operation(route) }
  const schemas = Object.entries(SCHEMAS).map(([name, schema]) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema)
    return [name, rest] as const
  })
  return {
    openapi: '3.1.0',
    info: { title: 'Conclave agent', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      securitySchemes: { admin: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operation({ summary, ofGroup, admin, headers = [], answers }: Route): object {
  const parameters = [
    ...(ofGroup
      ? [
          {
            name: 'group',
            in: 'query',
            required: false,
            description: 'which group',
            schema: { type: 'string' },
          },
        ]
      : []),
    ...headers.map((header) => ({ ...header, in: 'header', required: false, schema: { type: 'string' } })),
  ]
  const responses = Object.entries(answers).map(([code, { says, schema, type = 'application/json' }]) => {
    const content = schema === undefined ? {} : { schema: { $ref: `#/components/schemas/${schema}` } }
    return [code, { description: says, content: { [type]: content } }] as const
  })
  return {
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(admin === 'never' ? {} : { security: admin === 'always' ? [{ admin: [] }] : [{}, { admin: [] }] }),
    responses: Object.fromEntries(responses),
  }
}
