/** examples/library: three real processes on loopback, whose work survives a kill of the leader. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { freePorts } from './support/ports.ts'
import { until } from './support/wait.ts'

const ROOT = resolve(import.meta.dirname, '..')
const WORKER = join(ROOT, 'examples/library/worker.mjs')
const IDS = ['a', 'b', 'c']

const folder = mkdtempSync(join(tmpdir(), 'conclave-workers-'))
const log = join(folder, 'tokens.log')
const workers = new Map<string, ChildProcess>()

afterEach(async () => {
  await Promise.all([...workers.keys()].map(killed))
})

afterAll(() => rmSync(folder, { recursive: true }))

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null

/** Kills a worker like a crash, and waits until it has ended. */
async function killed(id: string): Promise<void> {
  const worker = workers.get(id)
  workers.delete(id)
  if (worker === undefined || !isRunning(worker)) return
  const gone = new Promise((done) => worker.once('exit', done))
  worker.kill('SIGKILL')
  await gone
}

function start(id: string, members: readonly string[]): void {
  const flags = ['--id', id, '--log', log, '--data', join(folder, id)]
  const env = { ...process.env, CONCLAVE_KEY: 'a key that only this test has' }
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  workers.set(id, spawn(process.execPath, [WORKER, ...flags, ...members], { env, stdio: [...stdio] }))
}

type Entry = { readonly token: number; readonly id: string }

/** The complete lines that were written so far. */
function entries(): readonly Entry[] {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => {
    const [token, id = ''] = line.split(' ')
    return { token: Number(token), id }
  })
}

/** The first entry from this index on that one of these processes wrote. */
async function nextBy(ids: readonly string[], after: number): Promise<Entry> {
  const find = (): Entry | undefined => entries().find((entry, at) => at >= after && ids.includes(entry.id))
  await until(() => find() !== undefined || ![...workers.values()].every(isRunning))
  const found = find()
  if (found === undefined) throw new Error('a worker has ended by itself')
  return found
}

describe('examples/library/worker.mjs', () => {
  it('continues in the next process with a larger token when the leader is killed, and the first may return', async () => {
    const ports = await freePorts(IDS.length)
    const members = IDS.map((id, index) => `${id}=127.0.0.1:${ports[index]}`)
    for (const id of IDS) start(id, members)

    const first = await nextBy(IDS, 0)
    await killed(first.id)
    const others = IDS.filter((id) => id !== first.id)
    const second = await nextBy(others, entries().length)
    expect(second.token).toBeGreaterThan(first.token)

    // A majority of three is two: after the second kill, the first process is needed again.
    start(first.id, members)
    await killed(second.id)
    const third = await nextBy(
      IDS.filter((id) => id !== second.id),
      entries().length,
    )
    expect(third.token).toBeGreaterThan(second.token)

    const all = entries()
    const tokens = all.map(({ token }) => token)
    expect(tokens).toEqual(tokens.toSorted((x, y) => x - y))
    const holders = new Set(all.map(({ token, id }) => `${token} ${id}`))
    expect(holders.size).toBe(new Set(tokens).size)
  }, 90_000)
})

it('the README shows the worker unchanged', () => {
  const lines = (file: string): readonly string[] =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .map((line) => line.trim())
  const readme = lines('README.md')
  const from = readme.indexOf(
    '```js',
    readme.findIndex((line) => line.startsWith('**Use the library.**')),
  )
  const shown = readme.slice(from + 1, readme.indexOf('```', from + 1))
  const worker = lines('examples/library/worker.mjs')
  // The worker takes these values from its arguments.
  expect(shown.filter((line) => !worker.includes(line))).toEqual([
    "id: 'a',",
    "listen: '10.0.0.1:7400',",
    "peers: ['b=10.0.0.2:7400', 'c=10.0.0.3:7400'],",
    "key: readFileSync('/etc/conclave/key'),",
    "data: '/var/lib/orders',",
  ])
})
