/** Agents with a shared folder as their store, and the error messages about stores. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type AgentProcess, CONCLAVE, conclave, Workplace } from '../../../test/support/agents.ts'
import { describeWith } from '../../../test/support/servers.ts'
import { until } from '../../../test/support/wait.ts'
import { getLeader, getStatus } from '../client/index.ts'

let place: Workplace

beforeEach(() => {
  place = new Workplace()
})

afterEach(() => place.close())

const SLACK = ['--option', 'periodMs=500', '--option', 'accessMs=50']

function words(id: string, store: string): readonly string[] {
  return ['--group', 'g', '--id', id, '--protocol', 'epochs', '--store', store, ...SLACK]
}

function agent(id: string, ...also: readonly string[]): AgentProcess {
  const more = ['--http', '127.0.0.1:0', '--admin-token-file', place.path('admin')]
  return place.start([...words(id, place.path('registers')), ...more, ...also])
}

it('elects, follows, steps down and removes a node through a shared folder', async () => {
  // A lease that no stall of a busy machine ends.
  const a = agent('a', '--option', 'leaseMs=20000')
  const first = await a.logged('elected')
  const b = agent('b', '--option', 'leaseMs=20000')
  const url = await b.url()
  await vi.waitUntil(
    async () => {
      const { leader } = await getLeader({ agent: url })
      return leader?.id === 'a' && leader.token === first.token
    },
    { timeout: 25_000, interval: 50 },
  )
  const status = await getStatus({ agent: url })
  expect(status).toMatchObject({ mode: 'store', level: 'healthy', voters: ['a', 'b'] })
  expect(status.banner).toBe(`healthy: a leads g with token ${first.token}; 2 nodes have a register`)
  const admin = ['--admin-token-file', place.path('admin')]
  const down = await conclave(['step-down', '--agent', await a.url(), ...admin])
  expect([down.code, down.out]).toEqual([0, `a stepped down with token ${first.token}\n`])
  const second = await b.logged('elected')
  expect(second.token).toBeGreaterThan(first.token ?? Number.NaN)
  await a.kill('SIGKILL')
  const refused = await conclave(['remove', 'z', '--agent', url, ...admin])
  expect([refused.code, refused.said]).toEqual([5, expect.stringContaining('z has no register')])
  const removed = await conclave(['remove', 'a', '--agent', url, ...admin])
  expect([removed.code, removed.out]).toEqual([0, 'removing a from g\n'])
  await b.logged('warning', ({ reason }) => reason === 'removed: a was removed from the group for good')
  const again = await conclave(['agent', ...words('a', place.path('registers'))])
  expect([again.code, again.said]).toEqual([5, expect.stringContaining('use a new id')])
}, 60_000)

it('replays the black boxes of all agents as one run and checks it', async () => {
  const a = agent('a', '--option', 'leaseMs=20000')
  await a.logged('elected')
  const b = agent('b', '--option', 'leaseMs=20000')
  await b.url()
  const admin = ['--admin-token-file', place.path('admin')]
  await conclave(['step-down', '--agent', await a.url(), ...admin])
  await b.logged('elected')
  const files = await Promise.all(
    [a, b].map(async (each, index) => {
      const file = place.path(`trace-${index}.ndjson`)
      writeFileSync(file, await (await fetch(`${await each.url()}/v1/trace`)).text())
      return file
    }),
  )
  const { code, out } = await conclave(['replay', ...files, '--json'])
  const result = JSON.parse(out) as {
    identical: boolean
    steps: number
    clocks: { by: string }
    leaderships: readonly { node: string; token: number }[]
    specs: readonly { name: string; verdict: string }[]
  }
  expect([code, result.identical, result.clocks.by]).toEqual([0, true, 'one clock'])
  expect(result.steps).toBeGreaterThan(20)
  expect([...new Set(result.leaderships.map(({ node }) => node))]).toEqual(['a', 'b'])
  const held = result.specs.flatMap(({ name, verdict }) => (verdict === 'held' ? [name] : []))
  expect(held).toEqual(expect.arrayContaining(['one-leader-an-epoch', 'one-leader', 'tokens']))
  // A black box that was manipulated to show a second term is detected.
  const [first = ''] = files
  const lines = readFileSync(first, 'utf8').split('\n')
  const forged = place.path('forged.ndjson')
  writeFileSync(forged, lines.map((line) => line.replace('"type":"elected"', '"type":"elected2"')).join('\n'))
  expect((await conclave(['replay', forged])).code).toBe(1)
}, 60_000)

it('starts agents with a shared folder by conclave up, and one of them leads', async () => {
  const asked = ['up', '--protocol', 'epochs', '--nodes', '3', '--http-port', '0', '--plain']
  const up = spawn(CONCLAVE, asked, { stdio: 'pipe' })
  let out = ''
  up.stdout.on('data', (data: Buffer) => (out += data.toString()))
  const ended = new Promise<number | null>((resolve) => up.once('close', resolve))
  await until(() => /n\d \(token \d+\) leads/.test(out) || up.exitCode !== null)
  up.stdin.write('quit\n')
  expect([await ended, out]).toEqual([0, expect.stringMatching(/n\d \(token \d+\) leads/)])
}, 60_000)

it('refuses to start a second agent with the same id', async () => {
  const a = agent('a')
  await a.logged('elected')
  const { code, said } = await conclave(['agent', ...words('a', place.path('registers'))])
  expect([code, said]).toEqual([5, expect.stringContaining('the id a is in use by another live process')])
})

it.each<[string, (folder: string) => void, string]>([
  [
    'a block of another version',
    (folder) => {
      mkdirSync(`${folder}/g`, { recursive: true })
      writeFileSync(`${folder}/g/b-b.1`, 'conclave-register 2 sum {}')
    },
    'run the same version on every node',
  ],
  [
    'its own block corrupt',
    (folder) => {
      mkdirSync(`${folder}/g`, { recursive: true })
      writeFileSync(`${folder}/g/b-a.1`, 'rubbish')
    },
    'the block of a',
  ],
  ['a file where the folder should be', (folder) => writeFileSync(folder, ''), folderText()],
])('reports %s and exits', async (_what, damage, message) => {
  damage(place.path('registers'))
  const { code, said } = await conclave([
    'agent',
    ...words('a', place.path('registers')),
    '--http',
    '127.0.0.1:0',
  ])
  expect([code === 0, said]).toEqual([false, expect.stringContaining(message)])
})

function folderText(): string {
  return 'registers'
}

it('reports a folder that is not writable even for root, and exits', async () => {
  const { code, said } = await conclave(['agent', ...words('a', '/sys/conclave')])
  expect([code, said]).toEqual([5, expect.stringContaining('cannot write to /sys/conclave')])
})

/** A separate file system, where root may mount one. */
function mounted(path: string, option: string): boolean {
  mkdirSync(path)
  return spawnSync('mount', ['-t', 'tmpfs', '-o', option, 'tmpfs', path]).status === 0
}

const probe = mkdtempSync(join(tmpdir(), 'conclave-mount-'))
const mayMount = mounted(join(probe, 'x'), 'size=16k')
if (mayMount) spawnSync('umount', [join(probe, 'x')])
rmSync(probe, { recursive: true, force: true })

describe.skipIf(!mayMount)('a disk (only root can mount one)', () => {
  let disk: string

  beforeEach(() => {
    disk = place.path('disk')
  })

  // Lazily: the agents on it end after this test.
  afterEach(() => spawnSync('umount', ['-l', disk]))

  it('ends the term and reports it when the file system is full, and leads again when there is room', async () => {
    mounted(disk, 'size=64k')
    const a = place.start([...words('a', disk), '--http', '127.0.0.1:0'])
    const first = await a.logged('elected')
    const ballast = join(disk, 'ballast')
    expect(() => writeFileSync(ballast, 'x'.repeat(200_000))).toThrow('ENOSPC')
    await a.logged('warning', ({ reason }) => /^store: .*ENOSPC.*no decision is made/.test(reason ?? ''))
    await a.logged('revoked')
    rmSync(ballast)
    const second = await a.logged('elected', ({ token }) => token !== first.token)
    expect(second.token).toBeGreaterThan(first.token ?? Number.NaN)
  }, 60_000)

  it('reports a read-only file system and exits', async () => {
    mounted(disk, 'ro')
    const { code, said } = await conclave(['agent', ...words('a', disk)])
    expect([code, said]).toEqual([5, expect.stringContaining('is read-only')])
  })
})

await describeWith('postgres', 'PostgreSQL that does not let us in', (url) => {
  it('prints the SQL that grants missing rights', async () => {
    const admin = postgres(url, { onnotice: () => {} })
    try {
      await admin.unsafe(`CREATE ROLE pasted LOGIN PASSWORD 'secret'`)
      const theirs = new URL(`${url}?table=pasted_registers`)
      theirs.username = 'pasted'
      theirs.password = 'secret'
      const { code, said } = await conclave(['agent', ...words('a', theirs.href)])
      const printed = [...said.matchAll(/(?:CREATE TABLE|GRANT) [^;]*;/g)].map(([statement]) => statement)
      expect([code, printed.length]).toEqual([5, 2])
      await admin.unsafe(printed.join('\n'))
      const a = place.start([...words('a', theirs.href), '--http', '127.0.0.1:0'])
      await a.logged('elected')
    } finally {
      await admin.end()
    }
  }, 60_000)

  it('reports wrong credentials and does not retry', async () => {
    const wrong = new URL(url)
    wrong.username = 'stranger'
    wrong.password = 'wrong'
    const { code, said } = await conclave(['agent', ...words('a', wrong.href)])
    expect([code, said]).toEqual([5, expect.stringMatching(/stranger/)])
    expect(said).not.toContain('trying again')
  })

  it('retries an unreachable server for a while, then reports it', async () => {
    const { code, said } = await conclave(['agent', ...words('a', 'postgres://u:p@127.0.0.1:1/db')])
    expect([code, said]).toEqual([
      4,
      expect.stringContaining('check that it is running and that the address is right'),
    ])
  }, 60_000)
})
