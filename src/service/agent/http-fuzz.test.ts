/**
 * Malformed requests over a real socket: valid ones with changed words, headers, bodies and bytes. The agent never
 * responds with 500, changes nothing without the admin token, and keeps responding.
 */

import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../test/support/byzantine/world.ts'
import type { NodeId } from '../../core/index.ts'
import type { GroupStatus } from '../node/index.ts'
import { NO_DETAILS, NOTHING_MEASURED } from '../runtime/index.ts'
import { createApp } from './app.ts'
import { EventLog } from './event-log.ts'
import { type HttpServer, listen } from './listen.ts'
import { ROUTES } from './openapi.ts'
import { createServedGroup } from './served-group.ts'

const RUNS = Number(process.env['HTTP_FUZZ_RUNS'] ?? 2000)
const AT_ONCE = 20
const HERE = '127.0.0.1'

const STATUS: GroupStatus = {
  role: 'leader',
  leader: { id: 'n2', token: 12 },
  members: ['n1', 'n2', 'n3'],
  mode: 'majority',
  leaseMs: 83.1,
  voters: [['n1', 'n2', 'n3']],
  nodes: ['n1', 'n2', 'n3'].map((id) => ({
    id,
    reachable: true,
    evidenceMsAgo: 1,
    heardMsAgo: 1,
    ...NO_DETAILS,
  })),
  evidenceForMs: 120,
  idle: null,
  membership: null,
  primary: null,
  datagrams: { sent: 5, received: 4, dropped: 1 },
  timing: null,
  measured: NOTHING_MEASURED,
  warnings: [],
}

const changes: string[] = []
const closing = new AbortController()
let server: HttpServer

beforeAll(async () => {
  const node = {
    group: 'g',
    id: 'n2',
    status: () => STATUS,
    lease: { lengthMs: 100, marginMs: 40 },
    stepDown: () => {
      changes.push('stepDown')
      return Promise.resolve(true)
    },
    handOver: ({ to }: { readonly to: NodeId }) => {
      changes.push('handOver')
      return Promise.resolve({ to, released: true, leader: null, afterMs: null, problem: null })
    },
    setLeaseBounds: () => {
      changes.push('setLeaseBounds')
      return Promise.resolve()
    },
    removeVoter: () => {
      changes.push('removeVoter')
      return Promise.resolve()
    },
    trace: async function* () {
      yield '{"trace":1}\n'
    },
  }
  const served = createServedGroup({ node, events: new EventLog('run', 3) })
  const app = createApp({
    groups: new Map([['g', served]]),
    adminToken: 'an admin token of some length',
    isLoopback: true,
    hosts: [],
    version: '0',
    closing: closing.signal,
  })
  server = await listen((request) => app.fetch(request), { host: HERE, port: 0 })
})

afterAll(async () => {
  closing.abort()
  await server.close()
})

const PATHS = [
  ...ROUTES.map(({ path }) => path),
  '/',
  '/metrics',
  '/healthz',
  '/v1/',
  '/%',
  '/%00',
  '/../../etc/passwd',
  `/${'x'.repeat(4000)}`,
]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'BREW', '']
const QUERIES = [
  '',
  '?group=g',
  '?group=',
  '?group=__proto__',
  '?group=constructor',
  '?group=%',
  '?claim=x',
  '?group=g&group=h',
  `?${'a=b&'.repeat(500)}`,
]
const HEADERS = [
  'Accept: text/html',
  'Accept: ',
  'Last-Event-ID: 9007199254740993',
  'Last-Event-ID: -1',
  'Last-Event-ID: run-99999999999999999999',
  'Authorization: Bearer wrong',
  'Authorization: Bearer',
  'Content-Type: application/json',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Upgrade: websocket\r\nConnection: Upgrade',
  `X-Long: ${'y'.repeat(5000)}`,
  'Broken',
]
const BODIES = [
  '',
  '{}',
  '{"id":"n3"}',
  '{"id":null}',
  '{"id":[[[[]]]]}',
  '{"claim":null}',
  '{"claim":1e999}',
  '['.repeat(5000),
  '\u0000',
  'x'.repeat(70_000),
]

function requestOf(random: (below: number) => number): Buffer {
  const oneOf = <T>(list: readonly T[]): T => list[random(list.length)] as T
  const headers = Array.from({ length: random(4) }, () => oneOf(HEADERS))
  const host = random(10) === 0 ? [] : [`Host: ${HERE}`]
  const body = random(2) === 0 ? '' : oneOf(BODIES)
  const length = random(4) === 0 ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const version = oneOf(['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9', ''])
  const head = [
    `${oneOf(METHODS)} ${oneOf(PATHS)}${oneOf(QUERIES)} ${version}`,
    ...host,
    ...headers,
    ...length,
  ]
  const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
  if (random(4) > 0) return bytes
  for (let left = 1 + random(5); left > 0; left--) bytes[random(bytes.length)] = random(256)
  return bytes.subarray(0, random(3) === 0 ? random(bytes.length) : bytes.length)
}

/** The first line of the answer; empty when there is none. */
function answerTo(bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), HERE)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      // Streams do not end by themselves.
      socket.destroy()
    })
    socket.on('close', () => resolve(text.split('\r\n')[0] ?? ''))
    socket.end(bytes)
  })
}

describe('malformed requests', () => {
  it(`never crash the agent, in ${RUNS} requests`, async () => {
    const seen = new Map<string, number>()
    for (let first = 1; first <= RUNS; first += AT_ONCE) {
      const requests = Array.from({ length: AT_ONCE }, (_, index) => requestOf(seededRandom(first + index)))
      // oxlint-disable-next-line no-await-in-loop -- in batches
      const answers = await Promise.all(requests.map(answerTo))
      for (const [index, answer] of answers.entries()) {
        const code = answer.split(' ')[1] ?? 'none'
        seen.set(code, (seen.get(code) ?? 0) + 1)
        if (code === '500')
          expect.unreachable(`seed ${first + index}: ${requests[index]?.toString('latin1').slice(0, 300)}`)
      }
    }
    // It was heard and refused, not only cut off.
    for (const code of ['200', '400', '401', '404']) expect(seen.get(code) ?? 0).toBeGreaterThan(0)
    expect(changes).toEqual([])
    const { status } = await fetch(`${server.url}/healthz`)
    expect(status).toBe(200)
  }, 120_000)
})
