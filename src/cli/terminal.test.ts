/** Text from agents, files and peers must not control the terminal on which a command prints it. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CONCLAVE, type Ran, conclave as start } from '../../test/support/agents.ts'
import { conclave as run } from '../../test/support/cli.ts'

/** A window title, colours by one byte and by two, a line break, right-to-left text. */
const HOSTILE = 'a\u001B]0;owned\u0007\u001B[31m\u009B31m\u0085\nFAKE healthy\r\u2028\u202Eb\u007F\u0000'

const folder = mkdtempSync(join(tmpdir(), 'conclave-terminal-'))
let server: Server | null = null
let agent = ''

async function conclave(words: readonly string[]): Promise<Ran> {
  const { code, stdout, stderr } = await run(words)
  return { code, out: stdout, said: stderr }
}

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** Lines with control characters, and lines that this program did not print. */
function troubleIn({ out, said }: Ran): readonly string[] {
  const lines = `${out}\n${said}`.split('\n')
  const controls = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u
  return lines.filter((line) => controls.test(line) || line.startsWith('FAKE'))
}

/** How hostile text was printed: without control characters, and readable. */
function shown(ran: Ran): { readonly trouble: readonly string[]; readonly isReadable: boolean } {
  return { trouble: troubleIn(ran), isReadable: /\\u001b\]0;owned/i.test(`${ran.out}${ran.said}`) }
}

const AS_TEXT = { trouble: [], isReadable: true }

const ANSWER = {
  group: HOSTILE,
  leader: { id: HOSTILE, token: 1, expiresInMs: 1 },
  self: { id: HOSTILE, role: HOSTILE },
  banner: HOSTILE,
  level: 'healthy',
  mode: 'majority',
  voters: [HOSTILE],
  failureTolerance: 0,
  leaderlessMs: null,
  nodes: [{ id: HOSTILE, voter: true, leader: true, reachable: true, evidenceMsAgo: 1, heardMsAgo: 1 }],
  at: HOSTILE,
  steppedDown: { id: HOSTILE, token: 1 },
  removing: HOSTILE,
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    if (searchParams.get('group') === 'none') {
      response
        .writeHead(409)
        .end(JSON.stringify({ error: { code: HOSTILE, message: HOSTILE, field: HOSTILE } }))
    } else if (pathname === '/v1/events') {
      const event = { at: HOSTILE, group: HOSTILE, self: HOSTILE, leader: HOSTILE, token: 1, reason: HOSTILE }
      const view = { id: [1, HOSTILE], members: [HOSTILE], joined: [HOSTILE], left: [HOSTILE] }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: snapshot\ndata: ${JSON.stringify(ANSWER)}\n\n`)
      for (const kind of ['elected', 'revoked', 'change', 'view', 'warning', 'alarm', HOSTILE])
        response.write(
          `id: ${JSON.stringify(HOSTILE)}\nevent: e\ndata: ${JSON.stringify({ ...event, event: kind, view })}\n\n`,
        )
      response.end()
    } else response.writeHead(200).end(JSON.stringify(ANSWER))
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', () => resolve()))
  agent = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server?.close()
  rmSync(folder, { recursive: true })
})

it('writes to the terminal in these files only', () => {
  const sources = readdirSync(new URL('../', import.meta.url), { recursive: true, encoding: 'utf8' })
  const writing = sources.filter((name) => {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) return false
    const text = readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
    return /(?:stdout|stderr)\.write\(|\bconsole\.(?:log|error|warn|info)\(/.test(text)
  })
  expect(writing.toSorted()).toEqual([
    // An SVG, which contains no control characters.
    'cli/draw.ts',
    'cli/output.ts',
    'cli/up/screen.ts',
    // Numbers for its parent process.
    'service/chaos/flood.ts',
  ])
})

describe('text from an agent', () => {
  const token = (): readonly string[] => [
    '--admin-token-file',
    file('token', 'an admin token of some length'),
  ]

  it.each([
    ['status', []],
    ['leader', []],
    ['members', []],
    ['watch', ['--no-reconnect']],
    ['step-down', []],
    ['remove', ['x']],
  ] as const)(
    'conclave %s prints it without control characters',
    async (name, words) => {
      const needsToken = name === 'step-down' || name === 'remove'
      expect(
        shown(await conclave([name, ...words, '--agent', agent, ...(needsToken ? token() : [])])),
      ).toEqual(AS_TEXT)
    },
    20_000,
  )

  it.each([
    ['watch', '--no-reconnect', '--json'],
    ['status', '--group', 'none'],
    ['status', '--group', 'none', '--json'],
  ])(
    'conclave %s %s prints it without control characters',
    async (...words) => {
      expect(shown(await conclave([...words, '--agent', agent]))).toEqual(AS_TEXT)
    },
    20_000,
  )

  it('is unchanged when its JSON is parsed', async () => {
    const { out } = await conclave(['status', '--agent', agent, '--json'])
    expect(JSON.parse(out)).toEqual(ANSWER)
  }, 20_000)

  it('conclave run prints it without control characters', async () => {
    const words = ['run', '--agent', agent, '--group', 'none', ...token(), '--', 'true']
    expect(shown(await start(words))).toEqual(AS_TEXT)
  }, 20_000)
})

describe('text from a file', () => {
  const scenario = {
    protocol: 'bully',
    nodes: [HOSTILE, 'b', 'c'],
    events: [{ atMs: 200, crash: HOSTILE }],
    untilMs: 1000,
  }

  it('prints a scenario and its trace without control characters', async () => {
    const path = file('hostile.json', scenario)
    const trace = join(folder, 'hostile.ndjson')
    expect(shown(await conclave(['sim', path, '--transcript', '--trace', trace]))).toEqual(AS_TEXT)
    expect(shown(await conclave(['sim', path, '--json']))).toEqual(AS_TEXT)
    expect(shown(await conclave(['replay', trace, '--transcript', '--all']))).toEqual(AS_TEXT)
    expect(shown(await conclave(['qos', trace]))).toEqual(AS_TEXT)
    const drawn = await conclave(['draw', trace, '--title', HOSTILE.replaceAll('\0', '')])
    // oxlint-disable-next-line no-control-regex -- it finds control characters
    expect([drawn.code, drawn.out.match(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g)]).toEqual([0, null])
  }, 60_000)

  it.each<[string, readonly string[], unknown]>([
    ['a scenario that cannot be read', ['sim'], `{"protocol": "${HOSTILE}`],
    ['a protocol that is not known', ['sim'], { ...scenario, protocol: HOSTILE }],
    ['a field that there is not', ['sim'], { ...scenario, [HOSTILE]: 1 }],
    ['no trace', ['replay'], HOSTILE],
    [
      'a configuration',
      ['agent', '--check', '--config'],
      { [HOSTILE]: HOSTILE, listen: HOSTILE, id: HOSTILE },
    ],
    ['a configuration in YAML', ['agent', '--check', '--config'], `id: ${HOSTILE}\nlisten: [`],
  ])(
    'refuses %s without printing control characters',
    async (_what, words, content) => {
      const ran = await conclave([...words, file('bad.yaml', content)])
      expect(ran.code).toBe(2)
      expect(troubleIn(ran)).toEqual([])
    },
    20_000,
  )
})

describe('text from the command line', () => {
  const typed = HOSTILE.replaceAll('\0', '')

  it.each([
    ['sim', typed],
    ['sim', '--nodes', typed],
    ['sim', `--${typed}`],
    [typed],
    ['status', '--agent', typed],
    ['doctor', '--store', `file:/proc/no/${typed}`],
    ['agent', '--listen', typed, '--id', typed],
    ['run', '--', typed],
    ['up', '--option', typed],
    ['explore', '--protocol', typed],
    ['plan', '--profile', typed],
    ['chaos', typed],
  ])(
    'is printed without control characters, %#',
    async (...words) => {
      expect(troubleIn(await conclave(words))).toEqual([])
    },
    20_000,
  )

  it('is printed without control characters by conclave up', async () => {
    const up = spawn(CONCLAVE, ['up', '--nodes', '1', '--http-port', '0', '--plain'], { stdio: 'pipe' })
    let said = ''
    up.stderr.on('data', (data: Buffer) => (said += data.toString()))
    up.stdout.on('data', (data: Buffer) => (said += data.toString()))
    const oneLine = typed.replaceAll(/[\n\r\u0085\u2028]/g, '')
    up.stdin.write(`${oneLine}\nkill ${oneLine}\ncut ${oneLine}-n1\nheal ${oneLine}\nquit\n`)
    await new Promise((resolve) => up.once('close', resolve))
    expect(shown({ code: 0, out: said, said: '' })).toEqual(AS_TEXT)
  }, 60_000)
})
