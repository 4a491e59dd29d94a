/** Which requests an agent takes as its own: checks of load balancers, and no pages that rebound a name to it. */
import { connect } from 'node:net'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Agent, startAgent } from './agent.ts'

const agents = new Map<string, Promise<Agent>>()

afterAll(async () => {
  await Promise.all([...agents.values()].map(async (agent) => (await agent).close()))
})

/** The port of an agent, which serves all tests that need one of this kind. */
async function agentAt(host: string, httpNames: readonly string[] = []): Promise<number> {
  const kind = [host, ...httpNames].join(' ')
  const agent = agents.get(kind) ?? started(host, httpNames)
  agents.set(kind, agent)
  return Number(new URL((await agent).url).port)
}

function started(host: string, httpNames: readonly string[]): Promise<Agent> {
  const key = new Uint8Array(32).fill(3)
  const options = { sigmaMs: 300 }
  return startAgent({
    groups: [
      { group: 'g', id: 'a', listen: '127.0.0.1:0', peers: [], key, options, isolation: 'thread' as const },
    ],
    version: '0',
    http: { host, port: 0 },
    httpNames,
    adminToken: 'an admin token of some length',
    log: () => {},
  })
}

type Answer = { readonly status: number; readonly text: string }

/** Sends exactly these lines. */
function send(port: number, ...lines: readonly string[]): Promise<Answer> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (data: Buffer) => (text += data.toString()))
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return new Promise((resolve) => {
    socket.once('close', () => resolve({ status: Number(text.split(' ')[1] ?? 0), text }))
  })
}

const get = (port: number, path: string, ...headers: readonly string[]): Promise<Answer> =>
  send(port, `GET ${path} HTTP/1.1`, 'Connection: close', ...headers)

describe('checks of load balancers', () => {
  it.each(['GET', 'HEAD', 'OPTIONS'])(
    'are answered to %s in HTTP/1.0 without Host',
    async (method) => {
      const port = await agentAt('127.0.0.1')
      const status = async (path: string): Promise<number> =>
        (await send(port, `${method} ${path} HTTP/1.0`)).status
      await vi.waitUntil(async () => (await status('/leader')) === 200, { timeout: 25_000 })
      expect(await Promise.all(['/healthz', '/readyz', '/leader'].map(status))).toEqual([200, 200, 200])
      expect(await status('/')).toBe(method === 'OPTIONS' ? 204 : 200)
      expect(await status('/nothing')).toBe(404)
    },
    30_000,
  )
})

const PATHS = ['/v1/trace', '/v1/leader', '/v1/status', '/v1/events', '/', '/leader', '/metrics', '/nothing']

describe('an agent on loopback', () => {
  it('refuses requests for another host on every path (DNS rebinding)', async () => {
    const port = await agentAt('127.0.0.1')
    const answers = await Promise.all(PATHS.map((path) => get(port, path, 'Host: attacker.example:7480')))
    expect(answers.map(({ status }) => status)).toEqual(PATHS.map(() => 403))
    for (const { text } of answers) {
      expect(text).toContain('"code":"UnknownHost"')
      expect(text).toContain('--http-name NAME')
      expect(text).toContain('"field":"Host"')
    }
    const order = await send(
      port,
      'POST /v1/step-down HTTP/1.1',
      'Connection: close',
      'Host: attacker.example',
      'Authorization: Bearer an admin token of some length',
    )
    expect(order.status).toBe(403)
  }, 30_000)

  it.each([
    'localhost',
    'LOCALHOST:7480',
    'localhost.',
    'a.localhost:1',
    '127.0.0.1',
    '127.9.9.9:80',
    '[::1]:7480',
    '10.0.0.1:7480',
  ])('accepts the Host header %s', async (host) => {
    expect((await get(await agentAt('127.0.0.1'), '/v1/leader', `Host: ${host}`)).status).toBe(200)
  })

  it.each([
    '127.0.0.1.attacker.example',
    'localhost.attacker.example',
    'notlocalhost',
    '1.2.3.4.5',
    '127.0.0.1:80.attacker.example',
    'attacker.example:127.0.0.1',
  ])('rejects the Host header %s', async (host) => {
    expect((await get(await agentAt('127.0.0.1'), '/v1/leader', `Host: ${host}`)).status).toSatisfy(
      (status: number) => status === 403 || status === 400,
    )
  })

  it('refuses pages from other origins, and serves its own page', async () => {
    const port = await agentAt('127.0.0.1')
    const own = `127.0.0.1:${port}`
    const from = async (origin: string): Promise<Answer> =>
      get(port, '/v1/leader', `Host: ${own}`, `Origin: ${origin}`)
    const foreign = ['http://attacker.example', 'null', 'file://', 'https://localhost:3000', 'nonsense']
    const refused = await Promise.all(foreign.map(from))
    expect(refused.map(({ status }) => status)).toEqual(foreign.map(() => 403))
    expect(refused[0]?.text).toContain('"code":"ForeignOrigin"')
    expect((await from(`http://${own}`)).status).toBe(200)
  }, 30_000)

  it('accepts its configured names, also as the origin of a page behind a proxy', async () => {
    const port = await agentAt('localhost', ['Agents.example'])
    const status = async (...headers: readonly string[]): Promise<number> =>
      (await get(port, '/v1/leader', ...headers)).status
    expect(await status('Host: agents.example')).toBe(200)
    expect(await status('Host: AGENTS.example:443', 'Origin: https://agents.example')).toBe(200)
    expect(await status(`Host: 127.0.0.1:${port}`, 'Origin: https://agents.example')).toBe(200)
    expect(await status('Host: sub.agents.example')).toBe(403)
    expect(await status('Host: agents.example', 'Origin: https://attacker.example')).toBe(403)
  }, 30_000)
})

describe('a page of another origin that tries to step the leader down', () => {
  it.each([
    ['127.0.0.1', []],
    ['0.0.0.0', []],
    ['0.0.0.0', ['agents.example']],
  ])(
    'is refused by an agent on %s with the names %j, even with the token',
    async (host, names) => {
      const port = await agentAt(host, names)
      const step = async (origin: string): Promise<Answer> =>
        send(
          port,
          'POST /v1/step-down HTTP/1.1',
          'Connection: close',
          'Content-Length: 0',
          `Host: 127.0.0.1:${port}`,
          `Origin: ${origin}`,
          'Authorization: Bearer an admin token of some length',
        )
      const foreign = await step('https://attacker.example')
      expect([foreign.status, foreign.text.includes('"code":"ForeignOrigin"')]).toEqual([403, true])
      // Its own page gets as far as the token.
      expect((await step(`http://127.0.0.1:${port}`)).text).not.toContain('ForeignOrigin')
    },
    30_000,
  )
})

describe('an agent on a public address', () => {
  it('accepts any name unless names are configured', async () => {
    const open = await agentAt('0.0.0.0')
    expect((await get(open, '/v1/leader', 'Host: agents.example')).status).toBe(200)
    expect((await get(open, '/v1/trace', 'Host: agents.example')).status).toBe(401)
    const named = await agentAt('0.0.0.0', ['agents.example'])
    expect((await get(named, '/v1/leader', 'Host: agents.example')).status).toBe(200)
    expect((await get(named, '/v1/leader', 'Host: 10.0.0.1')).status).toBe(200)
    expect((await get(named, '/v1/leader', 'Host: attacker.example')).status).toBe(403)
  }, 30_000)
})
