import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { createTrail, Descendants, MARK_VARIABLE } from './descendants.ts'
import { isAlive } from './processes.ts'

const MARK = 'a mark of this test'
const FOREVER = 3_600_000

let folder: string
let started: ChildProcess[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-descendants-'))
  started = []
})

afterEach(() => {
  for (const pid of pids()) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  for (const child of started) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** The pids that the scripts have written. */
function pids(): readonly number[] {
  try {
    return readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Runs a script in its own process group; `$STAY` writes its pid and ignores signals. */
function run(script: string): { readonly pid: number; readonly descendants: Descendants } {
  const child = spawn('sh', ['-c', script], {
    detached: true,
    stdio: 'ignore',
    env: {
      ...process.env,
      [MARK_VARIABLE]: MARK,
      PIDS: join(folder, 'pids'),
      STAY: 'trap "" TERM HUP INT; echo $$ >> "$PIDS"; while :; do sleep 1; done',
    },
  })
  started.push(child)
  const pid = child.pid as number
  return { pid, descendants: new Descendants(createTrail(pid, MARK, null)) }
}

const allDead = (): boolean => pids().every((pid) => !isAlive(pid))

it.each([
  ['in its process group', 'sh -c "$STAY" & sh -c "$STAY" & wait', 2],
  ['in its own session', 'setsid sh -c "$STAY" & sh -c "$STAY"', 2],
  ['that was orphaned in its own session', '(setsid sh -c "$STAY" &) ; sh -c "$STAY"', 2],
])(
  'kills a descendant %s',
  async (_where, script, count) => {
    const { descendants } = run(script)
    await until(() => pids().length === count)
    await descendants.killAll()
    await until(allDead)
    expect(descendants.kill()).toBe(false)
  },
  30_000,
)

it.each([null, '/sys/fs/cgroup/conclave-entered-by-nobody'])(
  'kills a command whose pid was not reported, by its mark, with control group %s',
  async (group) => {
    run('setsid sh -c "$STAY" & sh -c "$STAY"')
    await until(() => pids().length === 2)
    const descendants = new Descendants({ pid: null, startedAt: null, mark: MARK, group })
    await descendants.killAll()
    await until(allDead)
    expect(descendants.kill()).toBe(false)
  },
  30_000,
)

it.each([
  ['kills an unmarked orphan that an earlier scan saw with its parents', FOREVER, false],
  ['misses an unmarked orphan if the scan was skipped for lack of time', 0, true],
] as const)(
  '%s',
  async (_what, leftMs, survives) => {
    const { pid, descendants } = run('env -u CONCLAVE_RUN setsid sh -c "$STAY" & exec sleep 300')
    await until(() => pids().length === 1)
    descendants.recordProcesses(leftMs)
    process.kill(pid, 'SIGKILL')
    await until(() => !isAlive(pid))
    await descendants.killAll()
    if (!survives) await until(allDead)
    expect(pids().map(isAlive)).toEqual([survives])
  },
  30_000,
)

it('does not kill processes of another command', async () => {
  const first = run('sh -c "$STAY"')
  await until(() => pids().length === 1)
  const other = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
  started.push(other)
  await first.descendants.killAll()
  await until(allDead)
  expect(isAlive(other.pid as number)).toBe(true)
}, 30_000)

it('does not kill the process that got the pid of an ended command', async () => {
  const other = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
  started.push(other)
  const pid = other.pid as number
  // A trail of an earlier process with the same pid.
  const descendants = new Descendants({ pid, startedAt: '1', mark: 'another mark', group: null })
  expect(descendants.kill()).toBe(false)
  expect(isAlive(pid)).toBe(true)
}, 30_000)
