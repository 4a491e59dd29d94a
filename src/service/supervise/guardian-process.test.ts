/** The node's handle on a real guardian. It runs from dist/, where guardian.js is. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { monotonicNow } from '../runtime/clock.ts'
import type { GuardianProcess as Guardian } from './guardian-process.ts'
import { childrenOf, isAlive, trySignal } from './processes.ts'

const DIST = new URL('../../../dist/service/supervise/guardian-process.js', import.meta.url).href
const { GuardianProcess } = (await import(DIST)) as { readonly GuardianProcess: typeof Guardian }

const hour = (): number => monotonicNow() + 3_600_000_000

let guardian: Guardian

beforeEach(async () => {
  guardian = await GuardianProcess.start()
}, 60_000)

afterEach(() => guardian.close())

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
  await expect(run('/nonexistent/program'))
    .resolves.not.toMatchObject({ code: 0 })
    .catch(() => {})
}, 60_000)

it('passes the environment on', async () => {
  const ended = await guardian.run(['sh', '-c', 'test "$TOKEN" = 12'], { TOKEN: '12' }, hour(), hour())
  expect(ended.code).toBe(0)
}, 60_000)

it('kills a command that ignores SIGTERM when the deadline has passed', async () => {
  const running = guardian.run(['sh', '-c', 'trap "" TERM; while :; do sleep 0.01; done'], {}, hour(), hour())
  await commandPid()
  guardian.setDeadline(monotonicNow(), monotonicNow() + 100_000)
  expect(await running).toEqual({ code: null, signal: 'SIGKILL', isTerminated: true })
}, 60_000)

it('lets a command exit on a stop request', async () => {
  const running = guardian.run(
    ['sh', '-c', 'trap "exit 5" TERM; while :; do sleep 0.01; done'],
    {},
    hour(),
    hour(),
  )
  await commandPid()
  guardian.stop(3_600_000)
  const ended = await running
  // The signal can arrive before the trap is set.
  expect(ended.code === 5 || ended.signal === 'SIGTERM').toBe(true)
  expect(ended.isTerminated).toBe(true)
}, 60_000)

it('kills the command and reports the loss when the guardian is killed', async () => {
  const running = guardian.run(['sleep', '300'], {}, hour(), hour())
  const failed = expect(running).rejects.toThrow('the guardian of the command exited')
  const pid = await commandPid()
  trySignal(guardian.pid as number, 'SIGKILL')
  await failed
  expect(isAlive(pid)).toBe(false)
}, 60_000)

it('kills the command when the node closes it', async () => {
  const pid = guardian.pid as number
  guardian.run(['sleep', '300'], {}, hour(), hour()).catch(() => {})
  const command = await commandPid()
  guardian.close()
  await until(() => !isAlive(command) && !isAlive(pid))
}, 60_000)
