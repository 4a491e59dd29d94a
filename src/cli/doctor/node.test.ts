/** `conclave doctor` for a node that is not running, with peers that the test plays. */
import { createSocket } from 'node:dgram'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { conclave } from '../../../test/support/cli.ts'
import { freePorts } from '../../../test/support/ports.ts'
import {
  type Address,
  Codec,
  INTRODUCTION,
  INTRODUCTION_REQUEST,
  sealer,
  Udp,
} from '../../service/runtime/index.ts'
import type { Finding } from './findings.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-doctor-node-'))
const KEY = new Uint8Array(32).fill(7)
const keyFile = join(folder, 'key')
writeFileSync(keyFile, KEY, { mode: 0o600 })
const data = join(folder, 'data')
mkdirSync(data, { mode: 0o700 })

const peers: Udp[] = []
let timer: NodeJS.Timeout | undefined
afterAll(async () => {
  clearInterval(timer)
  await Promise.all(peers.map((peer) => peer.close()))
  rmSync(folder, { recursive: true })
})

/** A peer that answers as `id`. */
async function startPeer(port: number, id: string, keys: readonly Uint8Array[]): Promise<Udp> {
  const peer: Udp = await Udp.open(
    { self: id, listen: { host: '127.0.0.1', port }, sealer: sealer(keys, false), codec: new Codec() },
    {
      isPeer: () => true,
      message(from, _to, body, at) {
        if (body.kind === INTRODUCTION_REQUEST)
          peer.send(from, at, { kind: INTRODUCTION, number: body['number'] ?? 0 })
        return null
      },
      dropped: () => {},
    },
  )
  peers.push(peer)
  return peer
}

let listen: Address = { host: '127.0.0.1', port: 0 }
let config = ''
beforeAll(async () => {
  const [own = 0, b = 0, c = 0, d = 0, e = 0, http = 0] = await freePorts(6)
  listen = { host: '127.0.0.1', port: own }
  await startPeer(b, 'b', [KEY])
  await startPeer(c, 'another', [KEY])
  const stranger = await startPeer(e, 'e', [new Uint8Array(32).fill(8)])
  // It cannot open what the doctor sends, but sends to its address.
  timer = setInterval(() => {
    stranger.send('a', listen, { kind: 'hello' })
  }, 20)
  config = join(folder, 'a.json')
  writeFileSync(
    config,
    JSON.stringify({
      group: 'g',
      id: 'a',
      listen: `127.0.0.1:${own}`,
      http: `127.0.0.1:${http}`,
      keyFile,
      data,
      peers: [
        `b=127.0.0.1:${b}`,
        `c=127.0.0.1:${c}`,
        `d=127.0.0.1:${d}`,
        `e=127.0.0.1:${e}`,
        'n=nowhere.invalid:7400',
      ],
    }),
  )
})

it('says for each peer whether it answers, and why not', async () => {
  const { code, stdout } = await conclave(['doctor', '--config', config, '--json', '--measure-ms', '1000'])
  const { findings, fit, node, measured, cannotKnow } = JSON.parse(stdout) as {
    readonly findings: readonly Finding[]
    readonly [field: string]: unknown
  }
  expect([code, fit, node]).toEqual([1, false, { group: 'g', id: 'a' }])
  const about = (id: string): Finding | undefined =>
    findings.find(({ area, text }) => area === 'peer' && text.split(' ').includes(id))
  expect(about('b')).toMatchObject({
    level: 'ok',
    text: expect.stringMatching(/^b at .* answers, round trip .* ms$/),
  })
  expect(about('another,')).toMatchObject({
    level: 'error',
    text: expect.stringContaining('is another, not c'),
  })
  expect(about('d')).toMatchObject({ level: 'warning', fix: expect.stringContaining('start it') })
  expect(about('e')).toMatchObject({ level: 'error', fix: 'give all nodes the same key file' })
  expect(about('n:')).toMatchObject({ level: 'error', text: expect.stringContaining('cannot be resolved') })
  expect(measured).toMatchObject({ roundTripMs: { g: { b: { p50: expect.any(Number) }, d: null } } })
  expect(cannotKnow).toHaveLength(3)
  // Each finding that is not fine says what to do.
  expect(findings.filter(({ level, fix }) => level !== 'ok' && (fix ?? '') === '')).toEqual([])
  const areas = new Set(findings.map(({ area }) => area))
  for (const area of ['configuration', 'key', 'data', 'fsync', 'clock', 'port', 'scheduling', 'delay'])
    expect([...areas]).toContain(area)
  // Nothing is left behind.
  expect(readdirSync(data)).toEqual([])
}, 30_000)

it('prints one line per finding, and what it cannot know', async () => {
  const { stdout } = await conclave(['doctor', '--config', config, '--measure-ms', '100'])
  expect(stdout).toMatch(/^✓ the configuration is valid: a in g \(local-leader\)$/m)
  expect(stdout).toMatch(
    /^✖ n: the name nowhere\.invalid cannot be resolved .*\n {2}→ correct the address of n in peers\[4\] in .*a\.json:1:\d+, or the DNS$/m,
  )
  expect(stdout).toContain('Not checked:\n- the drift of this clock')
  expect(statSync(keyFile).mode % 0o1000).toBe(0o600)
}, 30_000)

it('asks the agent of the node if it runs, and compares what it has measured', async () => {
  const [udp = 0, other = 0] = await freePorts(2)
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(udp, '127.0.0.1', () => resolve()))
  const measured = {
    latenessMs: { p50: 1, p99: 40, max: 93 },
    delayMs: { p50: 0.1, p99: 0.2, max: 0.3 },
  }
  const node = { heardMsAgo: 3, rttMs: 0.4, hears: null, address: null }
  const status = {
    self: { id: 'a', role: 'leader' },
    level: 'healthy',
    banner: 'healthy: a leads g',
    version: '9.9.9',
    warnings: [],
    measured,
    nodes: [
      { ...node, id: 'a', version: '9.9.9' },
      { ...node, id: 'b', version: '9.9.8', hears: { a: { heardMsAgo: null, rttMs: null } } },
      {
        ...node,
        id: 'n',
        version: '9.9.9',
        address: 'nowhere.invalid:7400',
        resolvedAddress: '10.0.0.7:7400',
      },
    ],
  }
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers.authorization)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(status))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  const token = join(folder, 'token')
  writeFileSync(token, 'a token of some length', { mode: 0o600 })
  const running = join(folder, 'running.json')
  writeFileSync(
    running,
    JSON.stringify({
      group: 'g',
      id: 'a',
      listen: `127.0.0.1:${udp}`,
      http: `127.0.0.1:${port}`,
      keyFile,
      timing: 'fixed',
      data,
      readTokenFile: token,
      peers: [`b=127.0.0.1:${other}`, 'n=nowhere.invalid:7400', 'x=127.0.0.1:9'],
    }),
  )
  const { code, stdout } = await conclave(['doctor', '--config', running, '--measure-ms', '50'])
  server.close()
  socket.close()
  expect(code).toBe(1)
  expect(asked).toEqual(['Bearer a token of some length'])
  for (const line of [
    `✓ UDP 127.0.0.1:${udp} is used by the running agent`,
    '✓ healthy: a leads g',
    '✖ b is heard, but does not hear this node',
    // The agent hears n, but the configuration does not work.
    '✓ n at nowhere.invalid:7400 is heard',
    '✖ n: the name nowhere.invalid cannot be resolved (',
    `the running agent still sends to 10.0.0.7:7400\n  → correct peers[1] in ${running}:1:`,
    `✖ x at 127.0.0.1:9 is in the configuration, but the running agent does not know it`,
    '▲ this agent runs 9.9.9, b 9.9.8',
    '✖ timers fire late by median 1.00 ms, 99 % 40.0 ms, longest 93.0 ms (σ is 10.0 ms)',
    '  → give this host more CPU time, or set --option sigmaMs=95 on all nodes',
    '✓ messages to the slowest peer take median 0.10 ms',
  ])
    expect(stdout).toContain(line)
}, 30_000)

it('checks the store of a node that uses one', async () => {
  const store = join(folder, 'registers')
  const words = ['--group', 'g', '--id', 'a', '--protocol', 'epochs', '--store', `file:${store}`]
  const { stdout } = await conclave(['doctor', ...words, '--rounds', '2', '--measure-ms', '50'])
  expect(stdout).toContain('✓ of two writers that replace the same version, one succeeds (tried 2 times)')
  expect(stdout).toMatch(/^[✓▲✖] writes to the store take .* \(δ is 25\.0 ms\)$/m)
  expect(stdout).toMatch(/^[✓▲✖] timers fire late by .* \(σ is 25\.0 ms\)$/m)
  expect(readdirSync(folder)).not.toContain('registers')
  const broken = await conclave(['doctor', ...words.slice(0, -1), 'file:/proc/nowhere', '--measure-ms', '50'])
  expect(broken.code).toBe(1)
  expect(broken.stdout).toContain('✖ cannot write to /proc/nowhere')
}, 30_000)

it('asks the agent of a node that uses a store', async () => {
  const status = {
    self: { id: 'a', role: 'leader' },
    level: 'at-risk',
    banner: 'at risk: a leads g',
    mode: 'store',
    version: '9.9.9',
    warnings: [{ at: 'noon', what: 'late', detail: 'something', count: 1 }],
    measured: { latenessMs: { p50: 1, p99: 2, max: 3 }, delayMs: null },
    nodes: [
      {
        id: 'a',
        reachable: true,
        heardMsAgo: null,
        rttMs: null,
        hears: null,
        address: null,
        version: '9.9.9',
      },
      { id: 'b', reachable: true, heardMsAgo: null, rttMs: null, hears: null, address: null, version: null },
    ],
  }
  const server = createServer((_request, response) => response.end(JSON.stringify(status)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  const words = ['--group', 'g', '--id', 'a', '--protocol', 'epochs', '--http', `127.0.0.1:${port}`]
  const store = ['--store', `file:${join(folder, 'registers')}`, '--rounds', '2', '--measure-ms', '50']
  const { stdout } = await conclave(['doctor', ...words, ...store])
  server.close()
  for (const line of [
    `✓ HTTP 127.0.0.1:${port} is used by the running agent`,
    '▲ at risk: a leads g\n  → add voters: the group has none to lose',
    '▲ late: something (at noon)',
    '✓ timers fire late by median 1.00 ms, 99 % 2.00 ms, longest 3.00 ms',
  ])
    expect(stdout).toContain(line)
  // Nodes in a store exchange no messages.
  expect(stdout).not.toMatch(/is not heard|in use/)
}, 30_000)

it.each([
  ['192.0.2.1', '✖ UDP 192.0.2.1:7400 cannot be used (EADDRNOTAVAIL)\n  → use an address of this host'],
  ['nowhere.invalid', '✖ UDP nowhere.invalid:7400: the name nowhere.invalid cannot be resolved'],
])(
  'reports that the node cannot listen on %s, and goes on',
  async (host, line) => {
    const words = ['--group', 'g', '--id', 'a', '--listen', `${host}:7400`, '--key-file', keyFile]
    const more = ['--peer', 'b=127.0.0.1:9', '--http', '127.0.0.1:0', '--measure-ms', '50']
    const { code, stdout, stderr } = await conclave(['doctor', ...words, ...more])
    expect([code, stderr]).toEqual([1, ''])
    expect(stdout).toContain(line)
    expect(stdout).toMatch(/^[✓▲✖] timers fire late by/m)
  },
  30_000,
)

it('says so if the agent of the node hangs', async () => {
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  const words = ['--group', 'g', '--id', 'a', '--listen', '127.0.0.1:0', '--key-file', keyFile]
  const more = ['--http', `127.0.0.1:${port}`, '--measure-ms', '50']
  const { stdout } = await conclave(['doctor', ...words, ...more])
  server.closeAllConnections()
  server.close()
  expect(stdout).toContain(
    `▲ the agent at http://127.0.0.1:${port} does not say its status: it has not answered for 2 s\n  → restart it if it hangs`,
  )
}, 30_000)

it('checks the host alone if no node is configured', async () => {
  const { stdout, stderr } = await conclave(['doctor', '--measure-ms', '50', '--json'])
  expect(stderr).toContain('no node is configured: checking this host only')
  const { findings, node } = JSON.parse(stdout) as {
    readonly findings: readonly Finding[]
    readonly node: null
  }
  expect(node).toBeNull()
  expect(findings.map(({ area }) => area)).toContain('scheduling')
})
