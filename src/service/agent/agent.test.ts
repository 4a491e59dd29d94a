import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { present } from '../../core/index.ts'
import { protocolNamed } from '../../protocols/index.ts'
import { readTrace, replay } from '../../workbench/trace/index.ts'
import {
  type AgentEvent,
  AgentUnreachableError,
  getLeader,
  getStatus,
  RequestRefusedError,
  stepDown,
  watch,
} from '../client/index.ts'
import { type Agent, type AgentOptions, startAgent } from './agent.ts'
import { CannotListenError } from './listen.ts'

let agents: Agent[] = []
let folders: string[] = []

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()))
  for (const folder of folders) rmSync(folder, { recursive: true })
  agents = []
  folders = []
})

async function alone(
  port = 0,
  log: (event: AgentEvent) => void = () => {},
  more: Partial<AgentOptions> = {},
): Promise<Agent> {
  const key = new Uint8Array(32).fill(3)
  const data = mkdtempSync(join(tmpdir(), 'conclave-agent-'))
  folders.push(data)
  const agent = await startAgent({
    groups: [{ group: 'g', id: 'a', listen: '127.0.0.1:0', peers: [], key, data, options: { sigmaMs: 300 } }],
    version: '0',
    http: { host: '127.0.0.1', port },
    adminToken: 'an admin token of some length',
    log,
    ...more,
  })
  agents.push(agent)
  return agent
}

it('refuses an HTTP port that is in use, and leaves nothing behind', async () => {
  const { url } = await alone()
  await expect(alone(Number(new URL(url).port))).rejects.toThrow(CannotListenError)
})

it('leads alone, steps down on request and leads again, and ends watchers when it closes', async () => {
  const log: AgentEvent[] = []
  const agent = await alone(0, (event) => log.push(event))
  const ask = { agent: agent.url }
  const watched = (async () => {
    const types: string[] = []
    for await (const seen of watch(ask)) types.push(seen.type === 'event' ? seen.event.event : seen.type)
    return types
  })()
  await until(() => log.some(({ event }) => event === 'elected'))
  expect(await getLeader(ask)).toMatchObject({ leader: { id: 'a', token: 1 }, self: { role: 'leader' } })
  expect((await getStatus(ask)).banner).toBe(
    'at risk: a leads g with token 1; the only voter is reachable; the group cannot survive a failure',
  )
  await expect(stepDown({ ...ask, adminToken: 'wrong' })).rejects.toThrow(RequestRefusedError)
  const adminToken = 'an admin token of some length'
  expect((await stepDown({ ...ask, adminToken })).steppedDown).toEqual({ id: 'a', token: 1 })
  await until(() => log.some(({ event, token }) => event === 'elected' && token === 2))
  await agent.close()
  const types = await watched
  expect(types[0]).toBe('snapshot')
  expect(types).toContain('revoked')
  await expect(getLeader(ask)).rejects.toThrow(AgentUnreachableError)
}, 30_000)

it('survives endless bodies, watchers that do not read, and malformed requests', async () => {
  const { url } = await alone()
  const { port } = new URL(url)
  const code = await new Promise<number | undefined>((resolve) => {
    const sending = request(`${url}/v1/step-down`, { method: 'POST' }, ({ statusCode }) =>
      resolve(statusCode),
    )
    const piece = Buffer.alloc(16 * 1024)
    sending.on('error', () => {})
    sending.once('response', () => sending.destroy())
    for (let sent = 0; sent < 8; sent++) sending.write(piece)
  })
  expect(code).toBe(413)
  const sockets = Array.from({ length: 20 }, (_, index) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      index % 2 === 0 ? 'GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' : '\0\0 nonsense\r\n\r\n',
    )
    socket.pause()
    return socket
  })
  expect((await getLeader({ agent: url })).group).toBe('g')
  for (const agent of agents) void agent.close()
  await Promise.all(agents.map((agent) => agent.close()))
  agents = []
  for (const socket of sockets) socket.destroy()
}, 30_000)

it('accepts admin requests with a chunked body and without a body, as curl sends them', async () => {
  const log: AgentEvent[] = []
  const { url } = await alone(0, (event) => log.push(event))
  await until(() => log.some(({ event }) => event === 'elected'))
  const { host, port } = new URL(url)
  const order = (line: string, rest: string): Promise<string> =>
    exchange(
      port,
      `${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n` +
        `Authorization: Bearer an admin token of some length\r\n${rest}`,
    )
  const chunked = 'Transfer-Encoding: chunked\r\n\r\nf\r\n{"claim": null}\r\n0\r\n\r\n'
  const claimed = await order('POST /v1/claim', chunked)
  expect(claimed).toMatch(/^HTTP\/1.1 200 [^]*"claim":"/)
  const claim = /"claim":"([^"]+)"/.exec(claimed)?.[1]
  expect(await order(`DELETE /v1/claim?claim=${claim}`, '\r\n')).toMatch(/^HTTP\/1.1 200 /)
  expect(await order('POST /v1/claim', '\r\n')).toMatch(/^HTTP\/1.1 400 [^]*"InvalidBody"/)
  expect(await order('POST /v1/step-down', '\r\n')).toMatch(/^HTTP\/1.1 200 [^]*"steppedDown"/)
}, 30_000)

it('does not count HEAD requests for a stream as watchers', async () => {
  const { url } = await alone()
  const { port } = new URL(url)
  const head = (path: string): Promise<string> =>
    exchange(port, `HEAD ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
  // oxlint-disable-next-line no-await-in-loop -- sequential, more than the limit of watchers
  for (let count = 0; count < 257; count++) expect(await head('/v1/events')).toMatch(/^HTTP\/1.1 200 /)
  expect(await head('/v1/trace')).toMatch(/^HTTP\/1.1 200 /)
  const watching = await fetch(`${url}/v1/events`)
  expect(watching.status).toBe(200)
  await watching.body?.cancel()
  expect((await fetch(`${url}/v1/trace`)).status).toBe(200)
}, 30_000)

/** Sends text and resolves to everything received until the server closes the connection. */
function exchange(port: string, ...pieces: readonly string[]): Promise<string> {
  const socket = connect(Number(port), '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString()))
  socket.on('error', () => {})
  for (const piece of pieces) socket.write(piece)
  return new Promise((resolve) => socket.once('close', () => resolve(text)))
}

it('closes slow connections and limits their number', async () => {
  const { url } = await alone(0, () => {}, { limits: { requestMs: 300, connections: 4 } })
  const { port } = new URL(url)
  const asking = 'GET /v1/leader HTTP/1.1\r\nHost: 127.0.0.1\r\n'
  const slow = [
    exchange(port, `${asking}X-Slow: `),
    exchange(port, 'POST /v1/step-down HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n', 'x'),
    exchange(port),
    exchange(port, 'G'),
  ]
  // The slow clients hold all connections.
  expect(await exchange(port, `${asking}Connection: close\r\n\r\n`)).toBe('')
  const [headers] = await Promise.all(slow)
  expect(headers).toMatch(/^HTTP\/1.1 408 /)
  expect(await exchange(port, `${asking}X-Large: ${'x'.repeat(64 * 1024)}\r\n\r\n`)).toMatch(
    /^(HTTP\/1.1 431 |$)/,
  )
  expect((await getLeader({ agent: url })).group).toBe('g')
}, 30_000)

it('serves several groups, and closes all of them if one cannot be joined', async () => {
  const key = new Uint8Array(32).fill(3)
  const group = (name: string) => ({
    group: name,
    id: 'a',
    listen: '127.0.0.1:0',
    peers: [],
    key,
    options: { sigmaMs: 300 },
  })
  const log: AgentEvent[] = []
  const groups = [group('x'), group('y')]
  const { url } = await alone(0, (event) => log.push(event), { groups })
  await until(() =>
    ['x', 'y'].every((name) => log.some((each) => each.event === 'elected' && each.group === name)),
  )
  expect(await getLeader({ agent: url, group: 'y' })).toMatchObject({ group: 'y', leader: { id: 'a' } })
  await expect(getLeader({ agent: url })).rejects.toThrow('add ?group=NAME')
  const bad = { ...group('z'), listen: 'nonsense' }
  await expect(alone(0, () => {}, { groups: [group('w'), bad] })).rejects.toThrow('HOST:PORT')
}, 30_000)

it.each(['thread', 'worker'] as const)(
  'writes the black box of an election in a %s to a file that replays',
  async (isolation) => {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-box-'))
    try {
      const key = new Uint8Array(32).fill(3)
      const joining = {
        group: 'g',
        id: 'a',
        listen: '127.0.0.1:0',
        peers: [],
        key,
        options: { sigmaMs: 300 },
      }
      const log: AgentEvent[] = []
      const agent = await alone(0, (event) => log.push(event), {
        groups: [{ ...joining, isolation, traceSteps: 64 }],
      })
      await until(() => log.some(({ event }) => event === 'elected'))
      const [file] = await agent.saveTraces(folder)
      const trace = readTrace(readFileSync(file ?? '', 'utf8'))
      expect(trace.header.recording).toMatchObject({ group: 'g', node: 'a' })
      const definition = present(protocolNamed('local-leader'), 'local-leader')
      expect(replay(trace, definition)).toMatchObject({ difference: null })
      const served = await (await fetch(`${agent.url}/v1/trace`)).text()
      expect(readTrace(served).header.recording?.run).toBe(trace.header.recording?.run)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  30_000,
)
