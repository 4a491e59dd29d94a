/** Answers without end: whoever reads slowly, or not at all, costs an agent little, and there is a limit to how many. */
import { connect } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { ErrorResponse } from '../client/index.ts'
import type { GroupStatus } from '../node/index.ts'
import { createApp } from './app.ts'
import { Claims } from './claims.ts'
import { EventLog } from './event-log.ts'
import { LeaderMonitor } from './leader-monitor.ts'
import { type HttpServer, listen } from './listen.ts'

const STATUS: GroupStatus = {
  role: 'follower',
  leader: null,
  members: null,
  mode: 'majority',
  leaseMs: null,
  voters: [['a']],
  nodes: [{ id: 'a', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0 }],
  evidenceForMs: 110.541,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 0, received: 0, dropped: 0 },
}
/** As many events as a real agent keeps. */
const KEPT = 1000

function agent(trace: () => AsyncGenerator<string, void, void> = async function* () {}) {
  const events = new EventLog('run', KEPT)
  const node = {
    group: 'g',
    id: 'a',
    lease: { lengthMs: 100, marginMs: 40 },
    status: () => STATUS,
    stepDown: () => Promise.resolve(true),
    removeVoter: () => Promise.resolve(),
    trace,
  }
  const served = { node, events, monitor: new LeaderMonitor(() => {}), claims: new Claims() }
  const closing = new AbortController()
  const groups = new Map([['g', served]])
  const where = { isLoopback: true, hosts: [], version: '0' }
  const app = createApp({ groups, adminToken: null, ...where, closing: closing.signal })
  return { app, events }
}

function happens(events: EventLog, reason: string): void {
  const about = { leader: null, token: null, term: null, reason }
  events.add({ at: '2030-01-01T00:00:00.000Z', group: 'g', self: 'a', event: 'warning', ...about })
}

let server: HttpServer | null = null

afterEach(async () => {
  vi.useRealTimers()
  await server?.close()
  server = null
})

describe('events', () => {
  it('are told to 256 watchers at once; one more is refused until another has gone', async () => {
    const { app } = agent()
    const watching = await Promise.all(Array.from({ length: 256 }, async () => app.request('/v1/events')))
    expect(watching.map(({ status }) => status)).toEqual(watching.map(() => 200))
    const refused = await app.request('/v1/events')
    expect(refused.status).toBe(503)
    expect(((await refused.json()) as ErrorResponse).error).toMatchObject({
      name: 'TooManyWatchers',
      message: '256 watch already: try again later',
    })
    await watching[0]?.body?.cancel()
    await vi.waitUntil(async () => (await app.request('/v1/events')).status === 200, 20_000)
    await Promise.all(watching.slice(1).map(async ({ body }) => body?.cancel()))
  }, 30_000)

  it('that a watcher does not read are not kept for it: it learns that it missed some', async () => {
    const { app, events } = agent()
    server = await listen(app.fetch, { host: '127.0.0.1', port: 0 })
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    let heard = ''
    const onData = (data: Buffer): void => void (heard += data.toString())
    socket.on('data', onData)
    socket.write('GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    await until(() => heard.includes('event: now'))
    socket.pause()
    const megabyte = 1024 * 1024
    const reason = 'x'.repeat(4096)
    // 80 MB, while the server has its turns; 4 MB of them are what an agent keeps for everybody.
    for (let count = 0; count < 20_000; count++) {
      happens(events, reason)
      // oxlint-disable-next-line no-await-in-loop -- so that it could send them, if somebody read
      if (count % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    happens(events, 'the last')
    heard = ''
    let bytes = 0
    socket.off('data', onData)
    socket.on('data', (data: Buffer) => {
      bytes += data.length
      heard = (heard + data.toString()).slice(-megabyte)
      if (data.includes('event: missed')) missed += 1
    })
    let missed = 0
    socket.resume()
    await until(() => heard.includes('the last'))
    socket.destroy()
    // What the system's buffers hold, what was being told, and what the agent keeps.
    expect(bytes).toBeLessThan(40 * megabyte)
    expect(missed).toBeGreaterThan(0)
  }, 60_000)
})

describe('the black box', () => {
  it('is not kept busy for ever by whoever does not read it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let told = 0
    const { app } = agent(async function* () {
      for (;;) {
        told += 1
        yield 'a step\n'
      }
    })
    const first = await app.request('/v1/trace')
    expect(first.status).toBe(200)
    await vi.advanceTimersByTimeAsync(29_999)
    expect(((await (await app.request('/v1/trace')).json()) as ErrorResponse).error.code).toBe('TraceBusy')
    // Steps are asked for as they are read.
    expect(told).toBeLessThan(10)
    await vi.advanceTimersByTimeAsync(1)
    const second = await app.request('/v1/trace')
    expect(second.status).toBe(200)
    await second.body?.cancel()
  })
})
