import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { conclave } from '../../../test/support/agents.ts'
import { conclave as conclaveHere } from '../../../test/support/cli.ts'
import { freePorts } from '../../../test/support/ports.ts'
import { until } from '../../../test/support/wait.ts'
import { childrenOf, isAlive, trySignal } from '../../service/supervise/processes.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname
const IDS = ['a', 'b', 'c'] as const
type Id = (typeof IDS)[number]

/** The witness: every running command repeatedly writes its node, token and pid into one file. */
const CHILD =
  'trap "exit 0" TERM; while :; do echo "$CONCLAVE_ID $CONCLAVE_TOKEN $$" >> "$0"; sleep 0.004; done'
/** The same, but only SIGKILL ends it. */
const STUBBORN = 'trap "" TERM; while :; do echo "$CONCLAVE_ID $CONCLAVE_TOKEN $$" >> "$0"; sleep 0.004; done'

let folder: string
let nodes: Map<Id, ChildProcess>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-run-'))
  writeFileSync(join(folder, 'key'), 'a key that is long enough for this')
  nodes = new Map()
})

afterEach(async () => {
  for (const node of nodes.values()) {
    node.kill('SIGCONT')
    node.kill('SIGKILL')
  }
  // Commands that a failed test left: their guardians are gone.
  for (const pid of pids()) if (isOurs(pid)) trySignal(pid, 'SIGKILL')
  await until(() => pids().every((pid) => !existsSync(`/proc/${pid}`)))
  rmSync(folder, { recursive: true, force: true })
})

/** Whether this process is a command of this test: its last argument is the file of the witness. */
function isOurs(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(folder)
  } catch {
    return false
  }
}

type Line = { readonly id: Id; readonly token: number; readonly pid: number }

function lines(): readonly Line[] {
  const file = join(folder, 'log')
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [id, token, pid] = line.split(' ')
      return { id: id as Id, token: Number(token), pid: Number(pid) }
    })
}

const pids = (): readonly number[] => [...new Set(lines().map(({ pid }) => pid))]
const last = (): Line | undefined => lines().at(-1)

async function start(script: string): Promise<void> {
  const ports = await freePorts(IDS.length)
  const at = (index: number): string => `127.0.0.1:${ports[index]}`
  for (const [index, id] of IDS.entries()) {
    const peers = IDS.flatMap((peer, place) => (peer === id ? [] : ['--peer', `${peer}=${at(place)}`]))
    const words = ['run', '--group', 'g', '--id', id, '--listen', at(index), ...peers]
    const more = ['--key-file', join(folder, 'key'), '--data', join(folder, id), '--option', 'sigmaMs=200']
    const node = spawn(
      CONCLAVE,
      [...words, ...more, '--kill-before-ms', '120', '--', 'sh', '-c', script, join(folder, 'log')],
      {
        // As a job of an interactive shell: it leads a process group.
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    nodes.set(id, node)
  }
  await until(() => lines().length > 3)
}

/** No command of an older term writes after one of a newer term, and no token has two commands. */
function expectOneAtATime(): void {
  const all = lines()
  const tokens = all.map(({ token }) => token)
  expect(tokens).toEqual(tokens.toSorted((x, y) => x - y))
  const owners = new Map<number, Set<number>>()
  for (const { token, pid } of all) owners.set(token, (owners.get(token) ?? new Set()).add(pid))
  for (const commands of owners.values()) expect(commands.size).toBe(1)
}

async function nextAfter(token: number): Promise<Line> {
  await until(() => (last()?.token ?? 0) > token)
  return last() as Line
}

describe('conclave run, three real processes', () => {
  it.each([
    ['killed', CHILD],
    ['killed', STUBBORN],
  ])(
    'ends the command of a leader that is %s before the next command starts',
    async (_how, script) => {
      await start(script)
      const { id, token, pid } = last() as Line
      nodes.get(id)?.kill('SIGKILL')
      const next = await nextAfter(token)
      expect(next.id).not.toBe(id)
      expect(isAlive(pid)).toBe(false)
      expectOneAtATime()
    },
    40_000,
  )

  it('ends the command of a stopped leader by its guardian before the next command starts', async () => {
    await start(STUBBORN)
    const { id, token, pid } = last() as Line
    nodes.get(id)?.kill('SIGSTOP')
    const next = await nextAfter(token)
    expect(next.id).not.toBe(id)
    expect(isAlive(pid)).toBe(false)
    nodes.get(id)?.kill('SIGCONT')
    await until(() => lines().filter((line) => line.token === next.token).length > 20)
    expectOneAtATime()
  }, 40_000)

  it.each(['SIGKILL', 'SIGQUIT', 'SIGSTOP'] as const)(
    'ends the command before the next command starts when its process group receives %s',
    async (signal) => {
      await start(STUBBORN)
      const { id, token, pid } = last() as Line
      const node = nodes.get(id)?.pid as number
      const [guardian = expect.fail('no guardian runs')] = childrenOf(node)
      process.kill(-node, signal)
      const next = await nextAfter(token)
      expect(next.id).not.toBe(id)
      expect(isAlive(pid)).toBe(false)
      // A stopped node keeps its guardian, and each guardian ends with its node.
      trySignal(node, 'SIGKILL')
      await until(() => !isAlive(guardian))
      expectOneAtATime()
    },
    40_000,
  )

  it('ends command, guardian and node when the foreground process group receives SIGINT', async () => {
    await start(CHILD)
    const { id, token, pid } = last() as Line
    const node = nodes.get(id) as ChildProcess
    const [guardian = expect.fail('no guardian runs')] = childrenOf(node.pid as number)
    const ended = new Promise<number | null>((resolve) => node.once('exit', (code) => resolve(code)))
    process.kill(-(node.pid as number), 'SIGINT')
    expect(await ended).toBe(0)
    expect(isAlive(pid)).toBe(false)
    await until(() => !isAlive(guardian))
    expect((await nextAfter(token)).id).not.toBe(id)
    expectOneAtATime()
  }, 40_000)

  it('lets the command end on SIGTERM, and hands leadership over', async () => {
    await start(CHILD)
    const { id, token } = last() as Line
    const node = nodes.get(id) as ChildProcess
    const ended = new Promise<number | null>((resolve) => node.once('exit', (code) => resolve(code)))
    node.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect((await nextAfter(token)).id).not.toBe(id)
    expectOneAtATime()
  }, 40_000)
})

describe('conclave run, alone', () => {
  const flagsOf = (port: number): readonly string[] =>
    `--group g --id a --listen 127.0.0.1:${port} --key-file ${folder}/key --data ${folder}/alone`.split(' ')

  async function alone(
    ...words: readonly string[]
  ): Promise<{ readonly code: number | null; readonly said: string; readonly out: string }> {
    const [port] = await freePorts(1)
    const flags = flagsOf(port ?? 0)
    const node = spawn(CONCLAVE, ['run', ...flags, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    let out = ''
    node.stderr.on('data', (data: Buffer) => (said += data.toString()))
    node.stdout.on('data', (data: Buffer) => (out += data.toString()))
    const code = await new Promise<number | null>((resolve) => node.once('close', (ended) => resolve(ended)))
    return { code, said, out }
  }

  it('returns the exit code of the command, and sets its environment', async () => {
    const script =
      'echo "$CONCLAVE_GROUP $CONCLAVE_ID $CONCLAVE_TOKEN $(( CONCLAVE_EXPIRES_MS > 0 ))"; exit 3'
    // On a busy machine a term can end before the command has printed anything.
    const { code, out } = await alone('--option', 'sigmaMs=300', '--', 'sh', '-c', script)
    expect(code).toBe(3)
    expect(out).toMatch(/^(g a \d+ 1\n)+$/)
  }, 20_000)

  it('fails when the guardian of a follower is killed', async () => {
    const [port, absent] = await freePorts(2)
    // Alone it has no majority, so it never leads.
    const flags = [...flagsOf(port ?? 0), '--peer', `b=127.0.0.1:${absent}`]
    const node = spawn(CONCLAVE, ['run', ...flags, '--', 'true'], { stdio: ['ignore', 'ignore', 'pipe'] })
    nodes.set('a', node)
    let said = ''
    node.stderr.on('data', (data: Buffer) => (said += data.toString()))
    const ended = new Promise<number | null>((resolve) => node.once('close', (code) => resolve(code)))
    await until(() => said.includes('a joined g'))
    const [guardian = expect.fail('no guardian runs')] = childrenOf(node.pid as number)
    trySignal(guardian, 'SIGKILL')
    expect(await ended).toBe(1)
    expect(said).toContain('the guardian exited; no command was running')
    expect(said).not.toContain('killed')
  }, 20_000)

  it('refuses a --kill-before-ms that is too long for a lease in a store, and accepts the maximum that it names', async () => {
    const node = ['--group', 'g', '--id', 'a', '--protocol', 'epochs', '--store', `file:${folder}/registers`]
    const refused = await conclave(['run', ...node, '--kill-before-ms', '650.15', '--', 'true'])
    expect(refused.said).toContain('a lease lasts 650.15 ms')
    const maximum = /must be at most (\d+);/.exec(refused.said)?.[1] ?? ''
    const accepted = await conclave(['run', ...node, '--kill-before-ms', maximum, '--', 'sh', '-c', 'exit 3'])
    expect([refused.code, maximum, accepted.code]).toEqual([2, '66', 3])
  }, 20_000)

  it('shortens the default of --kill-before-ms for a short lease', async () => {
    const { code, said } = await alone(
      '--timing',
      'fixed',
      '--option',
      'renewalTries=1',
      '--',
      'sh',
      '-c',
      'exit 3',
    )
    expect([code, said.includes('kill-before')]).toEqual([3, false])
  }, 20_000)

  it.each<[readonly string[], string]>([
    [['--', '/no/such/program'], 'cannot run "/no/such/program": no such program'],
    [['--', 'no-such-program'], 'cannot run "no-such-program": no such program in the PATH'],
    [['--', '/tmp'], 'cannot run "/tmp": /tmp is not a file'],
    [['--peer', 'nonsense', '--', 'true'], 'peers[0]: "nonsense" is not ID=HOST:PORT'],
    [['--mode', 'sideways', '--', 'true'], '--mode: "sideways" is not one of "local", "majority"'],
    [['--option', 'deltaMs=50', '--', 'true'], 'options.fastMs: breaks the bound'],
    [['--key-file', '/no/such/key', '--', 'true'], 'head -c 32 /dev/urandom'],
    [['--kill-before-ms', '0', '--', 'true'], '--kill-before-ms: must be at least 1'],
    [
      ['--timing', 'fixed', '--kill-before-ms', '27', '--', 'true'],
      '--kill-before-ms 27: must be at most 26; a lease lasts 100.408 ms, and as little as 40 ms of it can remain at renewal',
    ],
    [['--timing', 'fixed', '--kill-before-ms', '100.5', '--', 'true'], 'must be at most 26;'],
    [['--kill-before-ms', '4000', '--', 'true'], '--kill-before-ms 4000: must be at most'],
    [['--option', 'sigmaMs=300', '--kill-before-ms', '414', '--', 'true'], 'must be at most 413;'],
  ])('refuses %j with exit code 2, before it starts anything', async (words, message) => {
    const { code, stderr } = await conclaveHere(['run', ...flagsOf(1), ...words])
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })
})
