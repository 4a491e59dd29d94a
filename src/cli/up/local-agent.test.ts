/** An agent of `conclave up`, with a process and a client that the test plays. */
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LocalAgent } from './local-agent.ts'

type Spawned = {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly signals: string[]
  readonly child: EventEmitter & { readonly stdio: readonly (PassThrough | null)[] }
}

const world = vi.hoisted(() => ({
  spawned: [] as unknown[],
  status: (async () => ({})) as () => Promise<unknown>,
  stepDown: (async () => ({})) as (options: unknown) => Promise<unknown>,
  asked: [] as unknown[],
}))

vi.mock('node:child_process', () => ({
  spawn: (_program: string, args: readonly string[], { env }: { readonly env: NodeJS.ProcessEnv }) => {
    const stderr = new PassThrough()
    const signals: string[] = []
    const child = Object.assign(new EventEmitter(), {
      stderr,
      stdio: [null, null, stderr, new PassThrough()],
      kill(signal: string): boolean {
        signals.push(signal)
        if (signal === 'SIGKILL' || signal === 'SIGTERM') setImmediate(() => child.emit('exit', null))
        return true
      },
    })
    world.spawned.push({ args, env, signals, child })
    return child
  },
}))

vi.mock('../../service/client/index.ts', () => ({
  getStatus: (options: unknown) => {
    world.asked.push(options)
    return world.status()
  },
  stepDown: (options: unknown) => world.stepDown(options),
}))

const processes = (): readonly Spawned[] => world.spawned as readonly Spawned[]
/** A stream of the last process. */
function streamOf(descriptor: number): PassThrough {
  const stream = processes().at(-1)?.child.stdio[descriptor]
  return stream ?? expect.fail('no process')
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let lines: string[] = []
let started = 0
beforeEach(() => {
  world.spawned.length = 0
  world.asked.length = 0
  lines = []
  started = 0
})

function agent(): LocalAgent {
  return new LocalAgent({
    id: 'n1',
    url: 'http://127.0.0.1:7480',
    adminToken: 'token',
    words: ['--id', 'n1'],
    onStart: () => (started += 1),
    onLogLine: (line) => lines.push(line),
  })
}

/** The orders that the last process has received. */
const orders = (): readonly unknown[] =>
  String(streamOf(3).read() ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown)

describe('the process of an agent', () => {
  it('is "conclave agent" with its flags, and ends with this process', () => {
    vi.stubEnv('CONCLAVE_GROUP', 'another')
    expect(agent().start()).toBe(true)
    const [{ args, env } = expect.fail('no process')] = processes()
    expect(args[0]).toMatch(/bin\/conclave$/)
    expect(args.slice(1)).toEqual(['agent', '--id', 'n1'])
    // Variables of an agent that is run by hand do not count.
    expect(Object.keys(env).filter((name) => name.startsWith('CONCLAVE_'))).toEqual([
      'CONCLAVE_SUPERVISOR_FD',
    ])
    expect([env['CONCLAVE_SUPERVISOR_FD'], started]).toEqual(['3', 1])
    vi.unstubAllEnvs()
  })

  it('is started once, and again after it has exited', async () => {
    const one = agent()
    expect([one.state, one.start(), one.start(), one.state]).toEqual(['down', true, false, 'up'])
    expect(await one.kill()).toBe(true)
    expect([one.state, await one.kill(), processes().length]).toEqual(['down', false, 1])
    expect(one.start()).toBe(true)
    expect(processes()).toHaveLength(2)
  })

  it('is paused and continued, where that changes anything', () => {
    const one = agent()
    expect(one.pause(true)).toBe(false)
    one.start()
    expect([one.pause(false), one.pause(true), one.pause(true), one.state]).toEqual([
      false,
      true,
      false,
      'paused',
    ])
    expect([one.pause(false), one.state]).toEqual([true, 'up'])
    expect(processes()[0]?.signals).toEqual(['SIGSTOP', 'SIGCONT'])
  })

  it('is continued before it is asked to end', async () => {
    const one = agent()
    one.start()
    one.pause(true)
    await one.stop()
    expect(processes()[0]?.signals).toEqual(['SIGSTOP', 'SIGCONT', 'SIGTERM'])
    await one.stop()
    expect(one.state).toBe('down')
  })

  it('has its log read line by line', async () => {
    agent().start()
    streamOf(2).write('one\ntwo\nthr')
    await settle()
    expect(lines).toEqual(['one', 'two'])
  })
})

describe('faults', () => {
  const faults = { n2: { cut: true } } as const

  it('are sent to a running process', () => {
    const one = agent()
    one.start()
    one.injectFaults(faults)
    expect(orders()).toEqual([{ faults: {} }, { faults }])
  })

  it('outlast a restart', async () => {
    const one = agent()
    one.injectFaults(faults)
    one.start()
    expect(orders()).toEqual([{ faults }])
    await one.kill()
    one.start()
    expect(orders()).toEqual([{ faults }])
  })
})

describe('the status', () => {
  it('is asked for while the process is up', async () => {
    const one = agent()
    world.status = async () => ({ self: { role: 'leader' } })
    await one.refresh()
    expect([one.status, world.asked.length]).toEqual([null, 0])
    one.start()
    await one.refresh()
    expect(world.asked).toEqual([{ agent: 'http://127.0.0.1:7480', signal: expect.any(AbortSignal) }])
    expect(one.isLeader).toBe(true)
  })

  it('is unknown when the agent does not answer, is paused, or has exited', async () => {
    const one = agent()
    world.status = async () => ({ self: { role: 'leader' } })
    one.start()
    await one.refresh()
    one.pause(true)
    expect(one.isLeader).toBe(false)
    await one.refresh()
    expect(one.status).toBeNull()
    one.pause(false)
    await one.refresh()
    world.status = () => Promise.reject(new Error('timeout'))
    await one.refresh()
    expect(one.status).toBeNull()
    world.status = async () => ({ self: { role: 'leader' } })
    await one.refresh()
    processes()[0]?.child.emit('exit', 1)
    expect([one.status, one.isLeader, one.state]).toEqual([null, false, 'down'])
  })

  it('of a follower is not that of a leader', async () => {
    const one = agent()
    world.status = async () => ({ self: { role: 'follower' } })
    one.start()
    await one.refresh()
    expect(one.isLeader).toBe(false)
  })
})

it('asks for a step-down with the admin token, and returns why it failed', async () => {
  let sent: unknown
  world.stepDown = async (options) => void (sent = options)
  expect(await agent().stepDown()).toBeNull()
  expect(sent).toMatchObject({ agent: 'http://127.0.0.1:7480', adminToken: 'token' })
  world.stepDown = () => Promise.reject(new Error('n1 does not lead'))
  expect(await agent().stepDown()).toBe('n1 does not lead')
})
