/** Answers without end: whoever reads slowly, or not at all, costs an agent little, and there is a limit to how many. */
import { connect } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import type { ErrorAnswer } from '../client/index.ts'
import type { MemberStatus } from '../node/index.ts'
import { agentApp } from './app.ts'
import { Claims } from './claims.ts'
import { History } from './history.ts'
import { type Listening, listening } from './listen.ts'
import { Observer } from './observer.ts'

const STATUS: MemberStatus = {
  role: 'follower',
  leader: null,
  members: null,
  mode: 'majority',
  leaseMs: null,
  voters: [['a']],
  nodes: [{ id: 'a', there: true, evidenceMsAgo: 0, heardMsAgo: 0 }],
  evidenceForMs: 110.541,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 0, received: 0, dropped: 0 },
}
/** As many events as a real agent keeps. */
const KEPT = 1000

function agent(trace: () => AsyncGenerator<string, void, void> = async function* () {}) {
  const history = new History('run', KEPT)
  const node = {
    group: 'g',
    id: 'a',
    lease: { lengthMs: 100, marginMs: 40 },
    status: () => STATUS,
    stepDown: () => Promise.resolve(true),
    removeVoter: () => Promise.resolve(),
    trace,
  }
  const served = { node, history, observer: new Observer(() => {}), claims: new Claims() }
  const ending = new AbortController()
  const groups = new Map([['g', served]])
  const where = { isLoopback: true, hosts: [], version: '0' }
  const app = agentApp({ groups, adminToken: null, ...where, ending: ending.signal })
  return { app, history }
}

function happens(history: History, reason: string): void {
  const about = { leader: null, token: null, term: null, reason }
  history.add({ at: '2030-01-01T00:00:00.000Z', group: 'g', self: 'a', event: 'warning', ...about })
}

let server: Listening | null = null

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
    expect(((await refused.json()) as ErrorAnswer).error).toMatchObject({
      name: 'TooManyWatchers',
      message: '256 watch already: try again later',
    })
    await watching[0]?.body?.cancel()
    await vi.waitUntil(async () => (await app.request('/v1/events')).status === 200, 20_000)
    await Promise.all(watching.slice(1).map(async ({ body }) => body?.cancel()))
  }, 30_000)

  it('that a watcher does not read are not kept for it: it learns that it missed some', async () => {
    const { app, history } = agent()
    server = await listening(app.fetch, { host: '127.0.0.1', port: 0 })
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
      happens(history, reason)
      // oxlint-disable-next-line no-await-in-loop -- so that it could send them, if somebody read
      if (count % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    happens(history, 'the last')
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
    expect(((await (await app.request('/v1/trace')).json()) as ErrorAnswer).error.name).toBe('TraceBusy')
    // Steps are asked for as they are read.
    expect(told).toBeLessThan(10)
    await vi.advanceTimersByTimeAsync(1)
    const second = await app.request('/v1/trace')
    expect(second.status).toBe(200)
    await second.body?.cancel()
  })
})
