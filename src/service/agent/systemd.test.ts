/** Notifications to systemd, with a `systemd-notify` that the test plays. */
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SystemdNotifier } from './systemd.ts'

const notify = vi.hoisted(() => ({
  calls: [] as string[][],
  end: ((child: { emit(event: string, value: unknown): void }) => child.emit('exit', 0)) as (child: {
    emit(event: string, value: unknown): void
  }) => void,
}))

vi.mock('node:child_process', () => ({
  spawn: (program: string, args: readonly string[]) => {
    notify.calls.push([program, ...args])
    const child = new EventEmitter()
    queueMicrotask(() => notify.end(child))
    return child
  },
}))

const SOCKET = { NOTIFY_SOCKET: '/run/systemd/notify' }
const PID = `--pid=${process.pid}`

beforeEach(() => {
  vi.useFakeTimers()
  notify.calls.length = 0
  notify.end = (child) => child.emit('exit', 0)
})
afterEach(() => {
  vi.useRealTimers()
})

function lab(env: NodeJS.ProcessEnv): { notifier: SystemdNotifier; failures: string[] } {
  const failures: string[] = []
  return { notifier: new SystemdNotifier(env, { onFailure: (why) => failures.push(why) }), failures }
}

/** The variables of each call. */
const sent = (): readonly (readonly string[])[] => notify.calls.map((words) => words.slice(2))

describe('a service of systemd', () => {
  it('reports that it is ready, its status, and that it stops', async () => {
    const { notifier, failures } = lab(SOCKET)
    await notifier.ready('joined g', () => true)
    notifier.status('n1 leads')
    await notifier.stopping()
    expect(notify.calls[0]?.slice(0, 2)).toEqual(['systemd-notify', PID])
    expect(sent()).toEqual([['READY=1', 'STATUS=joined g'], ['STATUS=n1 leads'], ['STOPPING=1']])
    expect(failures).toEqual([])
  })

  it('sends a status once per change', () => {
    const { notifier } = lab(SOCKET)
    for (const text of ['a', 'a', 'b', 'b', 'a']) notifier.status(text)
    expect(sent()).toEqual([['STATUS=a'], ['STATUS=b'], ['STATUS=a']])
  })

  it('that is started by hand sends nothing', async () => {
    for (const env of [{}, { NOTIFY_SOCKET: '' }]) {
      const { notifier } = lab(env)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await notifier.ready('x', () => true)
      notifier.status('y')
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await notifier.stopping()
    }
    expect(notify.calls).toEqual([])
  })
})

describe('the watchdog', () => {
  it.each<[string, NodeJS.ProcessEnv, number]>([
    ['is fed twice per interval', { WATCHDOG_USEC: '2000000' }, 4],
    ['is fed for this process', { WATCHDOG_USEC: '2000000', WATCHDOG_PID: String(process.pid) }, 4],
    ['is not fed for another process', { WATCHDOG_USEC: '2000000', WATCHDOG_PID: '1' }, 0],
    ['is not fed without an interval', {}, 0],
    ['is not fed with an interval of 0', { WATCHDOG_USEC: '0' }, 0],
  ])('%s', async (_what, env, pings) => {
    const { notifier } = lab({ ...SOCKET, ...env })
    await notifier.ready('x', () => true)
    await vi.advanceTimersByTimeAsync(4000)
    expect(sent().filter(([first]) => first === 'WATCHDOG=1')).toHaveLength(pings)
    await notifier.stopping()
  })

  it('is not fed while the agent is unhealthy, nor after it stops', async () => {
    let isHealthy = true
    const { notifier } = lab({ ...SOCKET, WATCHDOG_USEC: '2000000' })
    await notifier.ready('x', () => isHealthy)
    await vi.advanceTimersByTimeAsync(1000)
    isHealthy = false
    await vi.advanceTimersByTimeAsync(3000)
    isHealthy = true
    await vi.advanceTimersByTimeAsync(1000)
    await notifier.stopping()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sent().map(([first]) => first)).toEqual(['READY=1', 'WATCHDOG=1', 'WATCHDOG=1', 'STOPPING=1'])
  })
})

describe('a failure', () => {
  it.each<[string, typeof notify.end, string]>([
    [
      'without systemd-notify',
      (child) => child.emit('error', new Error('spawn systemd-notify ENOENT')),
      'cannot run systemd-notify (spawn systemd-notify ENOENT); install it or use Type=exec',
    ],
    [
      'without access',
      (child) => child.emit('exit', 1),
      'systemd-notify exited with code 1; check that the unit has NotifyAccess=all',
    ],
  ])('%s is reported once, and stops nothing', async (_what, end, why) => {
    notify.end = end
    const { notifier, failures } = lab(SOCKET)
    await notifier.ready('x', () => true)
    await notifier.stopping()
    expect([failures, notify.calls.length]).toEqual([[why], 2])
  })
})
