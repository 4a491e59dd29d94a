/** The commands that send a request to an agent, against a server that plays the agent. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { conclave, type Ended } from '../../../test/support/cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-ask-'))
const tokenFile = join(folder, 'token')
const LEADER = {
  group: 'g',
  leader: { id: 'b', token: 9, expiresInMs: 80 },
  self: { id: 'a', role: 'follower' },
}
const NODES = [
  { id: 'a', voter: true, leader: false, reachable: true, evidenceMsAgo: 0, heardMsAgo: 0 },
  { id: 'b', voter: true, leader: true, reachable: false, evidenceMsAgo: null, heardMsAgo: null },
]

let server: Server
let agent = ''
let requests: { readonly method: string; readonly url: string; readonly token: string | undefined }[] = []
let respond: (request: IncomingMessage) => { readonly status: number; readonly body: string }

beforeAll(async () => {
  writeFileSync(tokenFile, 'an admin token of some length')
  server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    requests.push({ method, url, token: headers.authorization })
    const { status, body } = respond(request)
    response.writeHead(status).end(body)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  agent = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

beforeEach(() => {
  requests = []
})

function answer(body: unknown, status = 200): void {
  respond = () => ({ status, body: JSON.stringify(body) })
}

const ask = (name: string, ...words: readonly string[]): Promise<Ended> =>
  conclave([name, '--agent', agent, ...words])

it.each(['--ca-file', '--client-cert'])('%s must contain a certificate', async (flag) => {
  const { code, stderr } = await ask(
    'leader',
    flag,
    tokenFile,
    ...(flag === '--ca-file' ? [] : ['--client-key', tokenFile]),
  )
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(`${flag}: ${tokenFile} contains no certificate in PEM format`),
  ])
})

describe('conclave leader', () => {
  it('prints the id, and the response with --json', async () => {
    answer(LEADER)
    expect(await ask('leader', '--group', 'g')).toEqual({ code: 0, stdout: 'b\n', stderr: '' })
    expect(requests[0]?.url).toBe('/v1/leader?group=g')
    expect(JSON.parse((await ask('leader', '--json')).stdout)).toEqual(LEADER)
  })

  it('exits with 3 if the group has no leader', async () => {
    answer({ ...LEADER, leader: null })
    const stderr = 'g has no leader, as far as a knows\n'
    expect(await ask('leader')).toEqual({ code: 3, stdout: '', stderr })
  })

  it('reads the URL from the environment', async () => {
    answer(LEADER)
    const { stdout } = await conclave(['leader'], { env: { CONCLAVE_AGENT: agent } })
    expect(stdout).toBe('b\n')
  })
})

describe('conclave status', () => {
  it('prints the sentence, the nodes and the observer', async () => {
    answer({ ...LEADER, banner: 'healthy: b leads g', level: 'healthy', nodes: NODES, at: 'noon' })
    const { code, stdout } = await ask('status')
    expect(code).toBe(0)
    expect(stdout.split('\n').map((line) => line.trim())).toEqual([
      'healthy: b leads g',
      '',
      'id  role    reachable                last message',
      'a   voter   yes (evidence 0 ms old)  0 ms ago',
      'b   leader  no                       never',
      '',
      'as seen by a (follower) at noon',
      '',
    ])
  })

  it('names witnesses and observers', async () => {
    const nodes = [
      { ...NODES[0], id: 'w', voter: true, role: 'witness' },
      { ...NODES[0], id: 'o', voter: false, role: 'observer' },
      { ...NODES[1], role: 'voter' },
    ]
    answer({ ...LEADER, banner: 'healthy', level: 'healthy', nodes, at: 'noon' })
    const rows = (await ask('status')).stdout.split('\n').slice(3, 6)
    expect(rows.map((row) => row.split(/ +/)[1])).toEqual(['witness', 'observer', 'leader'])
  })

  it('prints the newest warnings of the node', async () => {
    const warning = (what: string, count: number) => ({ at: 'noon', what, detail: 'something', count })
    const warnings = [warning('late', 3), ...Array.from({ length: 6 }, () => warning('slow', 1))]
    answer({ ...LEADER, banner: 'healthy', level: 'healthy', nodes: NODES, at: 'noon', warnings })
    const lines = (await ask('status')).stdout.split('\n')
    expect(lines.slice(6, -3)).toEqual([
      'warnings of a:',
      '  noon  late: something (3 times)',
      ...Array.from({ length: 4 }, () => '  noon  slow: something'),
      '  and 2 more; --json lists all',
    ])
  })

  it('exits with 3 if the group has no leader', async () => {
    answer({ ...LEADER, leader: null, banner: 'no leader', level: 'no-leader', nodes: NODES, at: 'noon' })
    expect((await ask('status')).code).toBe(3)
  })
})

it('conclave members prints the nodes', async () => {
  answer({ group: 'g', self: LEADER.self, nodes: NODES })
  const { code, stdout } = await ask('members')
  expect([code, stdout.split('\n')[2]]).toEqual([0, 'b   leader  no                       never'])
})

describe('conclave watch', () => {
  const event = { at: 'noon', group: 'g', self: 'a', event: 'change', leader: 'b', token: 9, reason: null }
  const stream = [
    `event: snapshot\ndata: ${JSON.stringify(LEADER)}`,
    'event: missed\ndata: {}',
    `id: 5\nevent: change\ndata: ${JSON.stringify(event)}`,
    '',
  ].join('\n\n')

  it('prints one line per event, and with --no-reconnect exits with 4 when the agent closes the connection', async () => {
    respond = () => ({ status: 200, body: stream })
    const { code, stdout, stderr } = await ask('watch', '--no-reconnect', '--after', '4')
    expect(stdout).toBe('b leads g with token 9\nsome events were missed\nnoon  a follows b with token 9\n')
    expect([code, stderr]).toEqual([4, `conclave: the agent at ${agent} closed the connection\n`])
  })

  it('connects again after the last event, and says so on standard error', async () => {
    const seen: (string | undefined)[] = []
    respond = ({ headers }) => {
      seen.push(headers['last-event-id'] as string | undefined)
      // The second attempt fails, the third is refused for good.
      if (seen.length === 2) return { status: 503, body: '{}' }
      if (seen.length === 3) return { status: 200, body: stream }
      return seen.length === 1 ? { status: 200, body: stream } : { status: 404, body: '{}' }
    }
    const { code, stdout, stderr } = await ask('watch')
    expect(seen).toEqual([undefined, '5', '5', '5'])
    expect(stdout.match(/follows b/g)).toHaveLength(2)
    expect(stderr.split('\n')).toEqual([
      `the agent at ${agent} closed the connection; connecting again`,
      `connected again to ${agent}`,
      `the agent at ${agent} closed the connection; connecting again`,
      `conclave: the agent at ${agent} refused the request: HTTP status 404`,
      '',
    ])
    expect(code).toBe(5)
  })

  it('prints one object per line with --json', async () => {
    respond = () => ({ status: 200, body: stream })
    const lines = (await ask('watch', '--no-reconnect', '--json')).stdout.trim().split('\n')
    expect(lines.slice(0, 3).map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      'snapshot',
      'missed',
      'event',
    ])
  })
})

describe('admin requests', () => {
  it('send the token, and print the outcome', async () => {
    answer({ group: 'g', steppedDown: { id: 'a', token: 9 } })
    expect((await ask('step-down', '--admin-token-file', tokenFile)).stdout).toBe(
      'a stepped down with token 9\n',
    )
    answer({ group: 'g', removing: 'c' })
    expect((await ask('remove', 'c', '--admin-token-file', tokenFile)).stdout).toBe('removing c from g\n')
    expect(requests.map(({ method, token }) => [method, token])).toEqual([
      ['POST', 'Bearer an admin token of some length'],
      ['POST', 'Bearer an admin token of some length'],
    ])
  })

  const b = { id: 'b', token: 10, afterMs: 12 }
  it.each<[object, string, number]>([
    [
      { successor: b, problem: null },
      'a stepped down with token 9 and handed over to b, which leads with token 10 after 12 ms',
      0,
    ],
    [
      { successor: { ...b, id: 'c' }, problem: 'c leads next, not b' },
      'a stepped down with token 9, but c leads next, not b (it leads with token 10 after 12 ms)',
      1,
    ],
    [
      { successor: null, problem: 'this node knows no leader' },
      'a stepped down with token 9, but this node knows no leader',
      1,
    ],
    // An agent of an earlier version.
    [{}, 'a stepped down with token 9 and handed over to b', 0],
  ])('print who leads after a hand-over: %j', async (said, text, exit) => {
    answer({ group: 'g', steppedDown: { id: 'a', token: 9 }, to: 'b', ...said })
    const { code, stdout } = await ask('step-down', '--to', 'b', '--admin-token-file', tokenFile)
    expect([stdout, code]).toEqual([`${text}\n`, exit])
  })

  it.each([
    [409, 'NotLeader', 3],
    [400, 'BadRequest', 2],
    [403, 'Forbidden', 5],
  ])('map the status %i to an exit code', async (status, code, exit) => {
    answer({ error: { code, message: 'because', field: null } }, status)
    const ended = await ask('step-down', '--admin-token-file', tokenFile)
    expect([ended.code, ended.stderr]).toEqual([exit, expect.stringMatching(/^conclave: .*because\n$/)])
  })

  it('refuse a token file that does not exist', async () => {
    const { code, stderr } = await ask('step-down', '--admin-token-file', '/no/such')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--admin-token-file: ')])
    expect(requests).toEqual([])
  })
})

it.each(['nonsense', 'ftp://host', '127.0.0.1:7480'])('refuses the URL %s', async (url) => {
  const { code, stderr } = await conclave(['leader', '--agent', url])
  expect([code, stderr]).toEqual([
    2,
    `conclave: --agent ${url}: write a URL, such as http://127.0.0.1:7480\n`,
  ])
})

it('exits with 4 if no agent answers', async () => {
  expect((await conclave(['leader', '--agent', 'http://127.0.0.1:1'])).code).toBe(4)
})
