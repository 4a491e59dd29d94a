import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../test/support/wait.ts'
import {
  type AgentEvent,
  leaderOf,
  Refused,
  statusOf,
  stepDown,
  Unreachable,
  watch,
} from '../client/index.ts'
import { type Agent, CannotListen, startAgent } from './agent.ts'

let agents: Agent[] = []
let folders: string[] = []

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()))
  for (const folder of folders) rmSync(folder, { recursive: true })
  agents = []
  folders = []
})

async function alone(port = 0, log: (event: AgentEvent) => void = () => {}): Promise<Agent> {
  const key = new Uint8Array(32).fill(3)
  const data = mkdtempSync(join(tmpdir(), 'conclave-agent-'))
  folders.push(data)
  const agent = await startAgent({
    join: { group: 'g', id: 'a', listen: '127.0.0.1:0', peers: [], key, data, options: { sigmaMs: 300 } },
    http: { host: '127.0.0.1', port },
    adminToken: 'an admin token of some length',
    log,
  })
  agents.push(agent)
  return agent
}

it('refuses a port that is taken, and leaves nothing behind', async () => {
  const { url } = await alone()
  await expect(alone(Number(new URL(url).port))).rejects.toThrow(CannotListen)
})

it('leads alone, steps down when told and leads again; closing ends those that watch', async () => {
  const log: AgentEvent[] = []
  const agent = await alone(0, (event) => log.push(event))
  const ask = { agent: agent.url }
  const watched = (async () => {
    const types: string[] = []
    for await (const seen of watch(ask)) types.push(seen.type === 'event' ? seen.event.event : seen.type)
    return types
  })()
  await until(() => log.some(({ event }) => event === 'elected'))
  expect(await leaderOf(ask)).toMatchObject({ leader: { id: 'a', token: 1 }, self: { role: 'leader' } })
  expect((await statusOf(ask)).banner).toBe(
    'at risk: a leads g with token 1; its only voter is there, none may fail',
  )
  await expect(stepDown({ ...ask, adminToken: 'wrong' })).rejects.toThrow(Refused)
  const adminToken = 'an admin token of some length'
  expect((await stepDown({ ...ask, adminToken })).steppedDown).toEqual({ id: 'a', token: 1 })
  await until(() => log.some(({ event, token }) => event === 'elected' && token === 2))
  await agent.close()
  const types = await watched
  expect(types[0]).toBe('now')
  expect(types).toContain('revoked')
  await expect(leaderOf(ask)).rejects.toThrow(Unreachable)
}, 30_000)

it('bears bodies without end, watchers that do not read, and nonsense', async () => {
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
    socket.write(index % 2 === 0 ? 'GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n' : '\0\0 nonsense\r\n\r\n')
    socket.pause()
    return socket
  })
  expect((await leaderOf({ agent: url })).group).toBe('g')
  for (const agent of agents) void agent.close()
  await Promise.all(agents.map((agent) => agent.close()))
  agents = []
  for (const socket of sockets) socket.destroy()
}, 30_000)
