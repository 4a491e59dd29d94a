/** The node's handle on a real guardian. It runs from dist/, where guardian.js is. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { monotonicNow } from '../runtime/clock.ts'
import { ControlGroup } from './control-group.ts'
import type { GuardianProcess as Guardian } from './guardian-process.ts'
import { childrenOf, isAlive, trySignal } from './processes.ts'

const DIST = new URL('../../../dist/service/supervise/guardian-process.js', import.meta.url).href
const { GuardianProcess } = (await import(DIST)) as { readonly GuardianProcess: typeof Guardian }

const hour = (): number => monotonicNow() + 3_600_000_000

let guardian: Guardian
let folder: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-guardian-'))
  guardian = await GuardianProcess.start()
}, 60_000)

afterEach(() => {
  // A failed test may have left it stopped.
  trySignal(guardian.pid as number, 'SIGCONT')
  guardian.close()
  rmSync(folder, { recursive: true, force: true })
})

const parent = ControlGroup.create(`conclave-test-guardian-${process.pid}`)
parent?.remove()

/** The names of the control groups that this guardian created. */
function controlGroupsOf(pid: number): readonly string[] {
  if (parent === null) return []
  return readdirSync(dirname(parent.folder)).filter((name) => name.startsWith(`conclave-run-${pid}-`))
}

/** The pid of the running command. */
async function commandPid(): Promise<number> {
  const { pid } = guardian
  await until(() => childrenOf(pid as number).length > 0)
  return childrenOf(pid as number)[0] as number
}

it('runs one command after the other and reports their exit codes', async () => {
  const run = (...command: readonly string[]) => guardian.run(command, {}, hour(), hour())
  expect(await run('sh', '-c', 'exit 7')).toEqual({ code: 7, signal: null, isTerminated: false })
  expect(await run('sh', '-c', 'kill -9 $$')).toEqual({ code: null, signal: 'SIGKILL', isTerminated: false })
  // In a control group a shell starts the command and exits with 127; otherwise the spawn fails.
  const missing = run('/nonexistent/program').then(
    (ended) => ended?.code,
    (error: Error) => error.name,
  )
  expect([127, 'CommandFailedError']).toContain(await missing)
}, 60_000)

it('passes the environment on', async () => {
  const ended = await guardian.run(['sh', '-c', 'test "$TOKEN" = 12'], { TOKEN: '12' }, hour(), hour())
  expect(ended?.code).toBe(0)
}, 60_000)

/** Runs a script that sets a trap and then creates the file `ready`. */
function runWithTrap(trap: string): ReturnType<Guardian['run']> {
  const script = `trap "${trap}" TERM; touch "${join(folder, 'ready')}"; while :; do sleep 0.01; done`
  return guardian.run(['sh', '-c', script], {}, hour(), hour())
}

it('kills a command that ignores SIGTERM when the deadline has passed', async () => {
  const running = runWithTrap('')
  await until(() => existsSync(join(folder, 'ready')))
  guardian.setDeadline(monotonicNow(), monotonicNow() + 100_000)
  expect(await running).toEqual({ code: null, signal: 'SIGKILL', isTerminated: true })
}, 60_000)

it('lets a command exit on a stop request', async () => {
  const running = runWithTrap('exit 5')
  await until(() => existsSync(join(folder, 'ready')))
  guardian.stop(3_600_000)
  expect(await running).toEqual({ code: 5, signal: null, isTerminated: true })
}, 60_000)

it('runs nothing if the deadline has passed', async () => {
  expect(await guardian.run(['true'], {}, monotonicNow() - 2, monotonicNow() - 1)).toBeNull()
  expect(await guardian.run(['true'], {}, hour(), hour())).toMatchObject({ code: 0 })
}, 60_000)

it('kills the command at the deadline although the guardian is stopped, and the guardian runs the next one', async () => {
  const running = runWithTrap('')
  await until(() => existsSync(join(folder, 'ready')))
  const pid = await commandPid()
  trySignal(guardian.pid as number, 'SIGSTOP')
  guardian.setDeadline(monotonicNow() + 50_000, monotonicNow() + 100_000)
  await until(() => !isAlive(pid))
  trySignal(guardian.pid as number, 'SIGCONT')
  expect(await running).toEqual({ code: null, signal: 'SIGKILL', isTerminated: true })
  expect(await guardian.run(['sh', '-c', 'exit 4'], {}, hour(), hour())).toMatchObject({ code: 4 })
}, 60_000)

it('kills the command on a stop request although the guardian is stopped', async () => {
  const running = runWithTrap('')
  await until(() => existsSync(join(folder, 'ready')))
  const pid = await commandPid()
  trySignal(guardian.pid as number, 'SIGSTOP')
  guardian.stop(0)
  await until(() => !isAlive(pid))
  trySignal(guardian.pid as number, 'SIGCONT')
  expect(await running).toMatchObject({ isTerminated: true })
}, 60_000)

it('kills the command and reports the loss when the guardian is killed', async () => {
  const running = guardian.run(['sleep', '300'], {}, hour(), hour())
  const failed = running.catch((error: unknown) => error)
  const pid = await commandPid()
  trySignal(guardian.pid as number, 'SIGKILL')
  expect(await failed).toMatchObject({
    name: 'GuardianLostError',
    message: expect.stringContaining('the guardian of the command exited'),
  })
  // It has been killed; a busy kernel takes its time.
  await until(() => !isAlive(pid))
}, 60_000)

it('kills the command of a killed guardian although a request fails before the reports are read', async () => {
  const ready = join(folder, 'ready')
  const script = `echo $$ > "${ready}.new"; mv "${ready}.new" "${ready}"; while :; do sleep 1; done`
  const running = guardian.run(['sh', '-c', script], {}, hour(), hour())
  const failed = running.catch((error: unknown) => error)
  // The request leaves this process before it blocks.
  await new Promise(setImmediate)
  waitBlocking(() => existsSync(ready))
  const pid = Number(readFileSync(ready, 'utf8'))
  trySignal(guardian.pid as number, 'SIGKILL')
  waitBlocking(() => !isAlive(guardian.pid as number))
  guardian.setDeadline(hour(), hour())
  expect(String(await failed)).toContain('the guardian of the command exited')
  await until(() => !isAlive(pid))
}, 60_000)

/** Waits as a thread does that gets no CPU time: it reads nothing meanwhile. */
function waitBlocking(condition: () => boolean): void {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  for (let round = 0; !condition() && round < 10_000; round++) Atomics.wait(cell, 0, 0, 2)
}

/** Kills the guardian, and resolves to the error that reports it. */
function lose(): Promise<Error> {
  const lost = new Promise<Error>((resolve) => guardian.once('lost', resolve))
  trySignal(guardian.pid as number, 'SIGKILL')
  return lost
}

it('mentions no command when the guardian of a follower is killed', async () => {
  expect(String(await lose())).toBe('GuardianLostError: the guardian exited; no command was running')
}, 60_000)

it.skipIf(parent === null)(
  'removes the empty control group of a killed guardian',
  async () => {
    const pid = guardian.pid as number
    expect(controlGroupsOf(pid)).toHaveLength(1)
    await lose()
    expect(controlGroupsOf(pid)).toEqual([])
  },
  60_000,
)

it('kills the command when the node closes it', async () => {
  const pid = guardian.pid as number
  guardian.run(['sleep', '300'], {}, hour(), hour()).catch(() => {})
  const command = await commandPid()
  guardian.close()
  await until(() => !isAlive(command) && !isAlive(pid))
  expect([command, pid].map(isAlive)).toEqual([false, false])
}, 60_000)
