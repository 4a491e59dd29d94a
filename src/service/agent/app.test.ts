import { describe, expect, it, vi } from 'vitest'
import { type NodeId, present } from '../../core/index.ts'
import type { ErrorResponse, MembersResponse, StatusResponse } from '../client/index.ts'
import { CommandRefusedError, type GroupStatus } from '../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../runtime/index.ts'
import { createApp } from './app.ts'
import { EventLog } from './event-log.ts'
import { LeaderMonitor } from './leader-monitor.ts'
import { METRICS } from './metrics.ts'
import { openApi, ROUTES } from './openapi.ts'
import * as schemas from './schemas.ts'
import { createServedGroup } from './served-group.ts'

const TOKEN = 'an admin token of some length'

const LED: GroupStatus = {
  role: 'follower',
  leader: { id: 'n1', token: 12 },
  members: ['n1', 'n2', 'n3'],
  mode: 'majority',
  leaseMs: 83.1,
  voters: [['n1', 'n2', 'n3']],
  nodes: [
    { id: 'n1', reachable: true, evidenceMsAgo: 3, heardMsAgo: 3, ...NO_DETAILS },
    { id: 'n2', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0, ...NO_DETAILS },
    { id: 'n3', reachable: true, evidenceMsAgo: 7, heardMsAgo: 7, ...NO_DETAILS },
  ],
  evidenceForMs: 110.541,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 5, received: 4, dropped: 1 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
}

type Served = {
  readonly groups?: readonly string[]
  readonly isLoopback?: boolean
  readonly hosts?: readonly string[] | null
  readonly readToken?: string | null
}

function agent(
  status: Partial<GroupStatus> = {},
  adminToken: string | null = TOKEN,
  { groups: names = ['g'], isLoopback = true, hosts = [], readToken = null }: Served = {},
) {
  const events = new EventLog('run', 3)
  const closing = new AbortController()
  const stepped: string[] = []
  const nodeIn = (group: string) => ({
    group,
    id: 'n2',
    status: (): GroupStatus => ({ ...LED, ...status }),
    lease: { lengthMs: 100, marginMs: 40 },
    stepDown: () => {
      stepped.push('n2')
      return Promise.resolve(true)
    },
    handOver: () => Promise.reject(new Error('must not be called')),
    setLeaseBounds: () => Promise.resolve(),
    removeVoter: (id: NodeId) =>
      id === 'n3' ? Promise.resolve() : Promise.reject(new CommandRefusedError('removeVoter', `not ${id}`)),
    trace: async function* () {
      yield '{"trace":1}\n'
      yield '{"type":"start"}\n'
    },
  })
  const monitor = new LeaderMonitor(() => {})
  const groups = new Map(
    names.map((name) => [name, createServedGroup({ node: nodeIn(name), events, monitor })]),
  )
  const app = createApp({
    groups,
    adminToken,
    readToken,
    isLoopback,
    hosts,
    version: '0',
    closing: closing.signal,
  })
  const node = (groups.get('g') ?? present([...groups.values()][0], 'a group')).node
  return { app, events, closing, stepped, monitor, node }
}

const addWarnings = (events: EventLog, ...reasons: readonly string[]): void => {
  for (const reason of reasons) {
    const about = { leader: null, token: null, term: null, reason }
    events.add({ at: '2030-01-01T00:00:00.000Z', group: 'g', self: 'n2', event: 'warning', ...about })
  }
}

const NONE = { leader: null, leaseMs: null, members: null }
const FIRST: Partial<GroupStatus> = { role: 'leader', leader: { id: 'n2', token: 13 } }

describe('an agent over HTTP', () => {
  it('reports the leader', async () => {
    expect(await (await agent().app.request('/v1/leader')).json()).toEqual({
      group: 'g',
      leader: { id: 'n1', token: 12, expiresInMs: 83.1 },
      self: { id: 'n2', role: 'follower' },
    })
    expect(await (await agent(NONE).app.request('/v1/leader')).json()).toEqual({
      group: 'g',
      leader: null,
      self: { id: 'n2', role: 'follower' },
    })
  })

  it('describes the group in one sentence and lists its nodes', async () => {
    const answer = (await (await agent().app.request('/v1/status?group=g')).json()) as StatusResponse
    expect(answer).toMatchObject({
      banner:
        'healthy: n1 leads g with token 12; all 3 voters are reachable; the group can survive 1 failure',
      level: 'healthy',
      voters: ['n1', 'n2', 'n3'],
      failureTolerance: 1,
      leaderlessMs: null,
    })
    expect(answer.nodes[2]).toMatchObject({
      id: 'n3',
      voter: true,
      leader: false,
      reachable: true,
      evidenceMsAgo: 7,
      heardMsAgo: 7,
    })
    const { nodes: members } = (await (await agent().app.request('/v1/members')).json()) as MembersResponse
    expect(answer.nodes).toMatchObject(members)
  })

  it('separates health, readiness and leadership', async () => {
    const codes = async (status: Partial<GroupStatus>): Promise<readonly number[]> => {
      const { app } = agent(status)
      const paths = ['/healthz', '/readyz', '/leader']
      return Promise.all(paths.map(async (path) => (await app.request(path)).status))
    }
    expect(await codes({})).toEqual([200, 200, 503])
    expect(await codes(FIRST)).toEqual([200, 200, 200])
    expect(await codes(NONE)).toEqual([200, 200, 503])
    expect(await codes({ idle: 'silent after a restart' })).toEqual([200, 503, 503])
    expect(await codes({ ...NONE, idle: 'closed' })).toEqual([503, 503, 503])
  })

  it('responds to programs like a Kubernetes sidecar, and to browsers with the live page', async () => {
    expect(await (await agent().app.request('/')).json()).toEqual({ name: 'n1' })
    expect(await (await agent(NONE).app.request('/')).json()).toEqual({ name: '' })
    const response = await agent().app.request('/', { headers: { accept: 'text/html,*/*;q=0.8' } })
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(response.headers.get('cache-control')).toBe('no-store')
    const [script = ''] = /assets\/[\w-]+\.js/.exec(await response.text()) ?? []
    const asset = await agent().app.request(`/${script}`)
    expect([asset.status, asset.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    expect((await agent().app.request('/assets/x.js')).status).toBe(404)
  })

  it('serves metrics in the Prometheus format', async () => {
    const text = await (await agent(FIRST).app.request('/metrics')).text()
    expect(text).toContain('# TYPE conclave_leader gauge\nconclave_leader{group="g",id="n2"} 1\n')
    expect(text).toContain('conclave_token{group="g",id="n2"} 13\n')
    expect(text).toContain('conclave_lease_remaining_seconds{group="g",id="n2"} 0.0831\n')
    expect(text).toContain('conclave_datagrams_total{group="g",id="n2",direction="dropped"} 1\n')
    expect(text).toContain('leader_election_master_status{name="g"} 1\n')
    expect(text.split('\n').every((line) => /^(# (HELP|TYPE) .*|[a-z_]+\{.*\} [\d.]+|)$/.test(line))).toBe(
      true,
    )
  })

  it.each<[string, Partial<GroupStatus>, string | null, string | null, number, string | null]>([
    ['without a configured token', FIRST, null, `Bearer ${TOKEN}`, 403, 'AdminDisabled'],
    ['without a token', FIRST, TOKEN, null, 401, 'InvalidAdminToken'],
    ['with a wrong token', FIRST, TOKEN, 'Bearer nonsense', 401, 'InvalidAdminToken'],
    ['when it does not lead', {}, TOKEN, `Bearer ${TOKEN}`, 409, 'NotLeader'],
    ['when it leads', FIRST, TOKEN, `Bearer ${TOKEN}`, 200, null],
  ])('handles step-down %s', async (_when, status, configured, authorization, code, name) => {
    const { app, stepped } = agent(status, configured)
    const headers = authorization === null ? undefined : { authorization }
    const response = await app.request('/v1/step-down', { method: 'POST', ...(headers && { headers }) })
    expect(response.status).toBe(code)
    const answer = (await response.json()) as Partial<ErrorResponse>
    expect(answer.error?.code ?? null).toBe(name)
    expect(stepped).toEqual(name === null ? ['n2'] : [])
    if (name === null)
      expect(answer).toEqual({
        group: 'g',
        steppedDown: { id: 'n2', token: 13 },
        to: null,
        successor: null,
        problem: null,
      })
  })

  it('answers step-down after the term has ended, not while a claim holds it', async () => {
    let role: GroupStatus['role'] = 'leader'
    const { app, events, node } = agent(FIRST)
    node.status = () => ({ ...LED, ...FIRST, role })
    node.stepDown = () => Promise.resolve(false)
    const headers = { authorization: `Bearer ${TOKEN}` }
    let answered: number | null = null
    const asking = (async () => {
      answered = (await app.request('/v1/step-down', { method: 'POST', headers })).status
    })()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(answered).toBeNull()
    role = 'follower'
    addWarnings(events, 'revoked')
    await asking
    expect(answered).toBe(200)
  })

  it.each<[string, string, number, string | null]>([
    ['a node', '{"id":"n3"}', 200, null],
    ['a node that the protocol refuses to remove', '{"id":"n1"}', 409, 'CommandRefused'],
    ['an unknown node', '{"id":"n9"}', 404, 'UnknownNode'],
    ['no node', '{}', 400, 'InvalidBody'],
    ['without the token', '{"id":"n3"}', 401, 'InvalidAdminToken'],
  ])('handles the removal of %s', async (about, body, code, name) => {
    const { app } = agent()
    const headers = about === 'without the token' ? {} : { authorization: `Bearer ${TOKEN}` }
    const response = await app.request('/v1/remove', { method: 'POST', body, headers })
    const answer = (await response.json()) as Partial<ErrorResponse>
    expect([response.status, answer.error?.code ?? null]).toEqual([code, name])
    if (name === null) expect(answer).toEqual({ group: 'g', removing: 'n3' })
  })

  it('refuses large bodies with and without a length, unknown paths and unknown groups, with one error format', async () => {
    const { app } = agent()
    const big = 'x'.repeat(65 * 1024)
    const stream = new Blob([big]).stream()
    const method = 'POST'
    const answers = await Promise.all([
      app.request('/v1/step-down', { method, body: big, headers: { 'content-length': String(big.length) } }),
      app.request('/v1/step-down', { method, body: stream, duplex: 'half' }),
      app.request('/v1/nothing'),
      app.request('/v1/leader?group=other'),
      app.request('/v1/step-down'),
    ])
    expect(answers.map(({ status }) => status)).toEqual([413, 413, 404, 404, 405])
    const bodies = await Promise.all(answers.map((answer) => answer.json() as Promise<ErrorResponse>))
    expect(bodies[3]).toEqual({
      error: {
        code: 'UnknownGroup',
        message: 'this agent does not serve the group other; it serves g',
        field: 'group',
      },
    })
    for (const body of bodies) expect(Object.keys(body.error)).toEqual(['code', 'message', 'field'])
  })
})

describe('a request that does not belong here', () => {
  it.each<[string, string, Record<string, string>, number, string]>([
    ['POST', '/v1/status', {}, 405, '/v1/status does not accept POST; use GET'],
    ['DELETE', '/v1/events', {}, 405, '/v1/events does not accept DELETE; use GET'],
    ['GET', '/v1/claim', {}, 405, '/v1/claim does not accept GET; use POST or DELETE'],
    ['POST', '/v1/nothing', {}, 404, 'unknown path: POST /v1/nothing'],
    [
      'GET',
      '/v1/events',
      { upgrade: 'websocket', connection: 'upgrade' },
      400,
      'this agent has no WebSocket: read the events with GET /v1/events (server-sent events)',
    ],
    ['GET', '/v1/status?group=other', {}, 404, 'this agent does not serve the group other; it serves g'],
    ['GET', '/v1/history?group=other', {}, 404, 'this agent does not serve the group other; it serves g'],
    ['GET', '/v1/events?only=everything', {}, 400, 'only=everything: must be events, or omitted'],
    ['GET', '/v1/local', {}, 404, 'this agent was not started by conclave up: it has no local supervisor'],
  ])('%s %s with %j is answered in words', async (method, path, headers, status, message) => {
    const response = await agent().app.request(path, { method, headers })
    expect([response.status, ((await response.json()) as ErrorResponse).error.message]).toEqual([
      status,
      message,
    ])
  })
})

describe('a read token', () => {
  const READ = 'a read token of some length'
  const ask = async (
    path: string,
    token: string | null,
    headers: Record<string, string> = {},
  ): Promise<number> => {
    const { app } = agent({}, TOKEN, { readToken: READ })
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` }
    const response = await app.request(path, { headers: { ...authorization, ...headers } })
    await response.body?.cancel()
    return response.status
  }

  it.each([
    '/v1/status',
    '/v1/leader',
    '/v1/members',
    '/v1/history',
    '/v1/events',
    '/v1/trace',
    '/metrics',
    '/',
  ])('is needed for %s', async (path) => {
    const tokens = [null, 'wrong', READ.slice(1), READ, TOKEN]
    expect(await Promise.all(tokens.map((token) => ask(path, token)))).toEqual([401, 401, 401, 200, 200])
  })

  it('is not needed for checks and for the page, which contains no state', async () => {
    const html = { accept: 'text/html' }
    expect(await Promise.all(['/healthz', '/readyz'].map((path) => ask(path, null)))).toEqual([200, 200])
    expect(await ask('/leader', null)).toBe(503)
    expect(await ask('/', null, html)).not.toBe(401)
    expect(await ask('/assets/none.js', null)).toBe(404)
  })

  it('does not allow what needs the admin token', async () => {
    const { app } = agent({ role: 'leader' }, TOKEN, { readToken: READ })
    const step = (token: string) =>
      app.request('/v1/step-down', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
    expect([(await step(READ)).status, (await step(TOKEN)).status]).toEqual([401, 200])
  })
})

describe('the event stream', () => {
  /** The text of the stream until the agent closes. */
  async function sent(lastSeen: string | null, before: number, later: readonly string[]): Promise<string> {
    const { app, events, closing } = agent()
    addWarnings(events, ...Array.from({ length: before }, (_, index) => `old ${index + 1}`))
    const headers = lastSeen === null ? {} : { 'last-event-id': lastSeen }
    const response = await app.request('/v1/events', { headers })
    const text = response.text()
    addWarnings(events, ...later)
    setTimeout(() => closing.abort(), 20)
    return text
  }

  const seen = (text: string): readonly string[] =>
    [...text.matchAll(/"reason":"([^"]*)"/g)].map((m) => m[1] ?? '')

  it('starts with a snapshot and continues with events', async () => {
    const text = await sent(null, 2, ['new'])
    expect(text).toMatch(/^event: snapshot\ndata: \{"group":"g","leader":\{"id":"n1"/)
    expect(text).toContain('id: run-3\n')
    expect(seen(text)).toEqual(['new'])
  })

  it('resumes after the last event that the watcher received', async () => {
    expect(seen(await sent('run-1', 3, ['new']))).toEqual(['old 2', 'old 3', 'new'])
  })

  it('reports missed events, and restarts when the id is of another run', async () => {
    const late = await sent('run-1', 5, [])
    expect(late).toContain('event: missed')
    expect(seen(late)).toEqual(['old 3', 'old 4', 'old 5'])
    expect(seen(await sent('former-7', 2, []))).toEqual(['old 1', 'old 2'])
  })
})

describe('an agent with several groups', () => {
  const two = () => agent({}, TOKEN, { groups: ['g', 'h'] })

  it('requires ?group=NAME', async () => {
    const { app } = two()
    expect(await (await app.request('/v1/leader?group=h')).json()).toMatchObject({ group: 'h' })
    const paths = ['/v1/leader', '/v1/status', '/v1/events', '/v1/trace', '/leader', '/']
    const answers = await Promise.all(paths.map(async (path) => app.request(path)))
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 400))
    const bodies = await Promise.all(answers.map((answer) => answer.json() as Promise<ErrorResponse>))
    for (const { error } of bodies) {
      expect(error).toEqual({
        code: 'GroupRequired',
        message: 'this agent serves several groups (g, h): add ?group=NAME (--group NAME)',
        field: 'group',
      })
    }
    expect((await app.request('/v1/leader?group=x')).status).toBe(404)
  })

  it('reports all groups in health, readiness, metrics and the list of groups', async () => {
    const { app } = two()
    expect((await app.request('/readyz')).status).toBe(200)
    const text = await (await app.request('/metrics')).text()
    expect(text).toContain('conclave_leader{group="g",id="n2"} 0\nconclave_leader{group="h",id="n2"} 0\n')
    // Metrics about views exist only for protocols with views, metrics of tuned leases only where leases tune themselves,
    // and measurements only once something was measured.
    const measurements = /_(?:lateness|sigma|message_delay|delta|renewal_margin|round_trip)_seconds$/
    const common = METRICS.filter(
      ({ name, help }) =>
        !/^(?:Protocols with views|Leases that tune themselves)/.test(help) && !measurements.test(name),
    )
    expect(text.match(/^# TYPE /gm)).toHaveLength(common.length)
    expect(await (await app.request('/v1/groups')).json()).toMatchObject({ groups: ['g', 'h'] })
    const { app: idle } = agent({ idle: 'closed' }, TOKEN, { groups: ['g', 'h'] })
    expect(await (await idle.request('/healthz')).json()).toEqual({
      ok: false,
      reason: 'g: closed; h: closed',
    })
  })
})

describe('/v1/trace', () => {
  it('is open to this machine, and needs the admin token from elsewhere', async () => {
    const near = await agent({}, null).app.request('/v1/trace')
    expect(near.headers.get('content-type')).toBe('application/x-ndjson')
    expect(await near.text()).toBe('{"trace":1}\n{"type":"start"}\n')
    const far = { isLoopback: false }
    const headers = { authorization: `Bearer ${TOKEN}` }
    expect((await agent({}, null, far).app.request('/v1/trace')).status).toBe(403)
    expect((await agent({}, TOKEN, far).app.request('/v1/trace')).status).toBe(401)
    expect((await agent({}, TOKEN, far).app.request('/v1/trace', { headers })).status).toBe(200)
  })

  it('serves one client at a time', async () => {
    const { app } = agent()
    const first = await app.request('/v1/trace')
    expect((await app.request('/v1/trace')).status).toBe(503)
    await first.text()
    await vi.waitUntil(async () => (await app.request('/v1/trace')).status === 200)
  })
})

describe('/v1/openapi.json', () => {
  it('describes exactly the routes of the app', async () => {
    const { app } = agent()
    const served = app.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/, '{$1}')}`)
    expect(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(served.toSorted())
    const document = (await (await app.request('/v1/openapi.json')).json()) as { readonly paths: object }
    expect(document).toEqual(JSON.parse(JSON.stringify(openApi('0'))))
    expect(Object.keys(document.paths)).toHaveLength(new Set(ROUTES.map(({ path }) => path)).size)
  })

  it.each([
    ['/v1/leader', schemas.leaderSchema],
    ['/v1/status', schemas.statusSchema],
    ['/v1/members', schemas.membersSchema],
    ['/leader', schemas.leaderSchema],
    ['/healthz', schemas.healthSchema],
    ['/readyz', schemas.readySchema],
    ['/', schemas.sidecarSchema],
    ['/v1/nothing', schemas.errorSchema],
  ] as const)('describes the response of %s', async (path, schema) => {
    const errors = await Promise.all(
      [{}, NONE, FIRST].map(async (status) => {
        const body: unknown = await (await agent(status).app.request(path)).json()
        return schema.safeParse(body).error
      }),
    )
    expect(errors).toEqual([undefined, undefined, undefined])
  })
})
