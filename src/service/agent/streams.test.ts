/** Endless responses: a slow or stalled reader costs an agent little, and the number of readers is limited. */
import { connect } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { ErrorResponse } from '../client/index.ts'
import type { GroupStatus } from '../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../runtime/index.ts'
import { createApp } from './app.ts'
import { EventLog } from './event-log.ts'
import { type HttpServer, listen } from './listen.ts'
import { createServedGroup } from './served-group.ts'

const STATUS: GroupStatus = {
  role: 'follower',
  leader: null,
  members: null,
  mode: 'majority',
  leaseMs: null,
  voters: [['a']],
  nodes: [{ id: 'a', reachable: true, evidenceMsAgo: 0, heardMsAgo: 0, ...NO_DETAILS }],
  evidenceForMs: 110.541,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 0, received: 0, dropped: 0 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
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
    handOver: () => Promise.reject(new Error('must not be called')),
    removeVoter: () => Promise.resolve(),
    setLeaseBounds: () => Promise.resolve(),
    trace,
  }
  const served = createServedGroup({ node, events })
  const closing = new AbortController()
  const groups = new Map([['g', served]])
  const where = { isLoopback: true, hosts: [], version: '0' }
  const app = createApp({ groups, adminToken: null, ...where, closing: closing.signal })
  return { app, events }
}

function addWarning(events: EventLog, reason: string): void {
  const about = { leader: null, token: null, term: null, reason }
  events.add({ at: '2030-01-01T00:00:00.000Z', group: 'g', self: 'a', event: 'warning', ...about })
}

let server: HttpServer | null = null

afterEach(async () => {
  vi.useRealTimers()
  await server?.close()
  server = null
})

describe('/v1/events', () => {
  it('serves 2000 watchers, and refuses another until one leaves', async () => {
    const { app } = agent()
    const watching = await Promise.all(Array.from({ length: 2000 }, async () => app.request('/v1/events')))
    expect(watching.map(({ status }) => status)).toEqual(watching.map(() => 200))
    const refused = await app.request('/v1/events')
    expect(refused.status).toBe(503)
    expect(((await refused.json()) as ErrorResponse).error).toMatchObject({
      code: 'TooManyWatchers',
      message: 'limit of 2000 watchers reached: try again later',
    })
    await watching[0]?.body?.cancel()
    await vi.waitUntil(async () => (await app.request('/v1/events')).status === 200, 20_000)
    await Promise.all(watching.slice(1).map(async ({ body }) => body?.cancel()))
  }, 30_000)

  it('drops events for a watcher that does not read, and reports them as missed', async () => {
    const { app, events } = agent()
    server = await listen(app.fetch, { host: '127.0.0.1', port: 0 })
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    let received = ''
    const onData = (data: Buffer): void => void (received += data.toString())
    socket.on('data', onData)
    socket.write('GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    await until(() => received.includes('event: snapshot'))
    socket.pause()
    const megabyte = 1024 * 1024
    const reason = 'x'.repeat(4096)
    // 80 MB of events. The agent keeps 4 MB for all watchers together.
    for (let count = 0; count < 20_000; count++) {
      addWarning(events, reason)
      // oxlint-disable-next-line no-await-in-loop -- let the server send, if the watcher reads
      if (count % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    addWarning(events, 'the last')
    received = ''
    let bytes = 0
    socket.off('data', onData)
    socket.on('data', (data: Buffer) => {
      bytes += data.length
      received = (received + data.toString()).slice(-megabyte)
      if (data.includes('event: missed')) missed += 1
    })
    let missed = 0
    socket.resume()
    await until(() => received.includes('the last'))
    socket.destroy()
    // Socket buffers, the event being written, and the agent's log.
    expect(bytes).toBeLessThan(40 * megabyte)
    expect(missed).toBeGreaterThan(0)
  }, 60_000)
})

describe('/v1/trace', () => {
  it('cuts off a reader that is too slow', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let steps = 0
    const { app } = agent(async function* () {
      for (;;) {
        steps += 1
        yield 'a step\n'
      }
    })
    const first = await app.request('/v1/trace')
    expect(first.status).toBe(200)
    await vi.advanceTimersByTimeAsync(29_999)
    expect(((await (await app.request('/v1/trace')).json()) as ErrorResponse).error.code).toBe('TraceBusy')
    // Backpressure: steps are generated only as fast as they are read.
    expect(steps).toBeLessThan(10)
    await vi.advanceTimersByTimeAsync(1)
    const second = await app.request('/v1/trace')
    expect(second.status).toBe(200)
    await second.body?.cancel()
  })
})
