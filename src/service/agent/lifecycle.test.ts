/** The agent command from an operator's point of view: start, requests, signals, misconfiguration, shutdown. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { conclave, Workplace } from '../../../test/support/agents.ts'
import { until } from '../../../test/support/wait.ts'
import { claim } from '../client/index.ts'

let place: Workplace

beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.close())

/** The search path, with a substitute for systemd-notify where systemd is not installed. */
function withNotify(at: Workplace): string {
  const path = process.env['PATH'] ?? ''
  if (spawnSync('systemd-notify', ['--version']).status === 0) return path
  const script = `#!/usr/bin/env python3
import os,socket,sys
words=[w for w in sys.argv[1:] if not w.startswith("--")]
socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM).sendto("\\n".join(words).encode(),os.environ["NOTIFY_SOCKET"])`
  writeFileSync(at.path('systemd-notify'), script, { mode: 0o755 })
  return `${at.folder}${delimiter}${path}`
}

describe('an agent', () => {
  it('reads its configuration from a file and logs warnings about it', async () => {
    const file = place.path('conclave.yaml')
    const lines = [
      'group: g',
      'id: a',
      'listen: 127.0.0.1:0',
      `keyFile: ${place.path('key')}`,
      'http: 127.0.0.1:0',
      'options: { sigmaMs: 300 }',
    ]
    writeFileSync(file, lines.join('\n'))
    const checked = await conclave(['agent', '--config', file, '--check'], { CONCLAVE_PRIORITY: '7' })
    expect(checked.code).toBe(0)
    expect(checked.out).toContain('priority: 7  # CONCLAVE_PRIORITY\n')
    expect(checked.out).toContain(`options: { sigmaMs: 300 }  # ${file}:6:10\n`)
    expect(checked.said).toContain('warning: data: is missing in g')

    const agent = place.start(['--config', file])
    expect((await agent.logged('warning')).reason).toContain('data: is missing in g')
    const elected = await agent.logged('elected')
    expect(elected).toMatchObject({ group: 'g', id: 'a', term: 1, reason: 'elected' })
    expect(elected.token).toBeGreaterThan(0)
    // A terminal sends this when it is closed.
    expect(await agent.kill('SIGHUP')).toBe(0)
    expect((await agent.logged('revoked')).reason).toBe('stopped')
    expect((await agent.logged('ending')).reason).toBe('SIGHUP')
  }, 60_000)

  it('keeps leading when the reader of its log exits', async () => {
    const agent = place.start(place.alone('--admin-token-file', place.path('admin')))
    await agent.logged('elected')
    const url = await agent.url()
    agent.deafen()
    const ask = (): Promise<string> => conclave(['leader', '--agent', url]).then(({ out }) => out)
    // Each step-down writes several log lines.
    const handOver = ['step-down', '--agent', url, '--admin-token-file', place.path('admin')]
    expect(await conclave(handOver)).toMatchObject({ code: 0 })
    await vi.waitUntil(async () => (await ask()) === 'a\n', { timeout: 25_000 })
    expect(await conclave(handOver)).toMatchObject({ code: 0 })
    expect(await agent.kill('SIGTERM')).toBe(0)
  }, 60_000)

  it.each<[string, (place: Workplace) => readonly string[], number, RegExp]>([
    [
      'a wrong file',
      (at) => ['--config', at.path('none.yaml')],
      2,
      /none\.yaml: config: there is no such file/,
    ],
    ['a wrong field', (at) => at.alone('--mode', 'many'), 2, /^conclave: --mode: "many" is not one of/],
    [
      'a short key',
      (at) => at.alone('--key-file', at.path('short')),
      2,
      /has 5 bytes, a key needs at least 16/,
    ],
    [
      'a host that there is not',
      (at) => at.alone('--listen', 'no-such-host.invalid:7400'),
      2,
      /listen: cannot listen at no-such-host.invalid:7400: the name cannot be resolved/,
    ],
  ])('says what is wrong with %s', async (_what, words, code, message) => {
    writeFileSync(place.path('short'), 'short')
    const { code: ended, said } = await conclave(['agent', ...words(place)])
    expect([ended, said]).toEqual([code, expect.stringMatching(message)])
  })

  it('exits at once on a second signal, even while a claim holds its term', async () => {
    const files = ['--admin-token-file', place.path('admin'), '--data', place.path('data')]
    // A long lease, so that the claim does not expire meanwhile.
    const agent = place.start(place.alone(...files, '--option', 'electionPeriodMs=4000'))
    await agent.logged('elected')
    const about = { agent: await agent.url(), adminToken: 'an admin token of some length' }
    const { claim: name } = await vi.waitUntil(
      () => claim({ ...about, claim: null }).catch(() => null),
      20_000,
    )
    agent.signal('SIGTERM')
    await agent.logged('ending')
    // The agent waits for the claim.
    await vi.waitUntil(async () => (await claim({ ...about, claim: name })).ending, 20_000)
    expect(await agent.kill('SIGTERM')).toBe(1)
    expect(agent.log.some(({ event }) => event === 'revoked')).toBe(false)
  }, 60_000)

  it('reports ports and data directories that are in use', async () => {
    const first = place.start(place.alone('--data', place.path('data')))
    const url = new URL(await first.url())
    const http = await conclave(['agent', ...place.alone('--http', url.host)])
    expect([http.code, http.said]).toEqual([2, expect.stringContaining('another process uses the port')])
    const data = await conclave(['agent', ...place.alone('--data', place.path('data'))])
    expect([data.code, data.said]).toEqual([1, expect.stringContaining('is used by another process')])
  }, 60_000)

  it('writes its black box to a file on SIGUSR2 and continues', async () => {
    const agent = place.start(place.alone('--data', place.path('data')))
    await agent.logged('elected')
    agent.signal('SIGUSR2')
    const file = String((await agent.logged('trace'))['file'])
    expect(file).toContain(place.path('data/trace-g-a-'))
    const { code, out } = await conclave(['replay', file])
    expect(code).toBe(0)
    expect(out).toMatch(/steps replayed: all effects are identical/)
    expect(out).toMatch(/one-leader +held/)
    expect(await agent.kill('SIGTERM')).toBe(0)
  }, 60_000)

  it('is detected by replay when it has lost its data', async () => {
    const traced = async (name: string): Promise<string> => {
      const agent = place.start(place.alone('--data', place.path('data')))
      await agent.logged('elected')
      const text = await (await fetch(`${await agent.url()}/v1/trace`)).text()
      writeFileSync(place.path(name), text)
      await agent.kill('SIGKILL')
      return place.path(name)
    }
    const before = await traced('before.ndjson')
    rmSync(place.path('data'), { recursive: true })
    const after = await traced('after.ndjson')
    const { code, out } = await conclave(['replay', before, after])
    expect(out).toMatch(/tokens +VIOLATED +at .*: a leads again with token 1/)
    expect(out).toMatch(
      /verdict: tokens was violated because an assumption did not hold: a started at .* without data, although it had stored data before/,
    )
    expect(code).toBe(6)
  }, 60_000)

  it('notifies systemd of readiness, status, liveness and shutdown', async () => {
    // Node cannot send datagrams to Unix sockets: systemd-notify sends, and Python receives.
    const socket = place.path('notify')
    const heard = place.path('heard')
    const script = `import socket,sys
s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.bind(sys.argv[1]); print("bound",flush=True)
while True:
    open(sys.argv[2],"ab").write(s.recv(4096)+b"\\n")`
    const receiver = spawn('python3', ['-c', script, socket, heard], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      await new Promise((resolve) => receiver.stdout.once('data', resolve))
      writeFileSync(heard, '')
      const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000', PATH: withNotify(place) }
      const agent = place.start(place.alone(), env)
      const all = (): string => readFileSync(heard, 'utf8')
      await until(() => /READY=1/.test(all()) && /WATCHDOG=1/.test(all()))
      await until(() => /STATUS=leads g with token \d/.test(all()))
      expect(await agent.kill('SIGTERM')).toBe(0)
      expect(all()).toMatch(/STOPPING=1/)
      expect(agent.log.filter(({ reason }) => reason?.includes('systemd') === true)).toEqual([])
    } finally {
      receiver.kill('SIGKILL')
    }
  }, 60_000)
})
