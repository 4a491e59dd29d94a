import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { pending } from '../../../test/support/wait.ts'
import { fencingSchema, openDevice, withTimeLimit } from './config.ts'
import {
  commandDevice,
  establish,
  type FenceDevice,
  type FenceOrder,
  httpDevice,
  type Partition,
  SimulatedSwitch,
} from './devices.ts'

const soon = (): AbortSignal => AbortSignal.timeout(10_000)
const splitFor = (by: string, other: string, token: number): Partition => ({
  by,
  token,
  inside: [by],
  outside: [other],
})

describe('a switch with one administrator at a time', () => {
  it('admits one administrator after the other, and names the current one on timeout', async () => {
    const device = new SimulatedSwitch('s')
    const leave = await device.enter('a', soon())
    await expect(device.enter('c', AbortSignal.timeout(20))).rejects.toThrow('s: a is logged in')
    let isIn = false
    const second = device.enter('b', soon()).then((out) => {
      isIn = true
      return out
    })
    await Promise.resolve()
    expect(isIn).toBe(false)
    expect(await device.execute({ action: 'off', target: 'a', token: 1, by: 'b' })).toMatchObject({
      outcome: 'refused',
      why: 'b is not logged in at s',
    })
    leave()
    await second
    // A connection that broke lets the next one in.
    const third = device.enter('d', soon())
    device.drop('b')
    await third
  })

  it('refuses a former leader that tries to undo its isolation', async () => {
    const devices = [new SimulatedSwitch('s1'), new SimulatedSwitch('s2')]
    expect(await establish(devices, splitFor('b', 'a', 2), soon())).toEqual({ outcome: 'confirmed' })
    // a led epoch 1, was paused, and now wants to cut off b.
    const late = await establish(devices, splitFor('a', 'b', 1), soon())
    expect(late).toMatchObject({ outcome: 'refused', current: 2, at: 's1, b' })
    const leave = await devices[0]?.enter('a', soon())
    const unfence = (token: number): unknown =>
      devices[0]?.execute({ action: 'on', target: 'a', token, by: 'a' })
    expect(await unfence(1)).toMatchObject({ outcome: 'refused', current: 2 })
    expect(await unfence(2)).toMatchObject({ outcome: 'refused', current: 2 })
    leave?.()
    expect(await Promise.all(devices.map((device) => device.status('a')))).toEqual(['off', 'off'])
    expect(await Promise.all(devices.map((device) => device.status('b')))).toEqual(['on', 'on'])
  })

  it('reconnects a fenced node that is elected later, with its greater token', async () => {
    const device = new SimulatedSwitch('s')
    await establish([device], splitFor('b', 'a', 2), soon())
    expect(await establish([device], splitFor('a', 'b', 3), soon())).toEqual({ outcome: 'confirmed' })
    expect([await device.status('a'), await device.status('b')]).toEqual(['on', 'off'])
  })

  it('keeps the result of the newer of two concurrent leaders, in every order of arrival', async () => {
    for (const first of [0, 1]) {
      const devices = [new SimulatedSwitch('s1'), new SimulatedSwitch('s2')]
      const sides = [splitFor('a', 'b', 1), splitFor('b', 'a', 2)]
      // oxlint-disable-next-line no-await-in-loop -- one order after the other
      const answers = await Promise.all(
        (first === 0 ? sides : sides.toReversed()).map((side) => establish(devices, side, soon())),
      )
      // oxlint-disable-next-line no-await-in-loop -- one order after the other
      expect(await Promise.all(devices.map((device) => device.status('a')))).toEqual(['off', 'off'])
      expect(answers.filter(({ outcome }) => outcome === 'confirmed').length).toBeGreaterThan(0)
    }
  })

  it('confirms the result by the status of the device', async () => {
    const liar = new SimulatedSwitch('s')
    liar.status = async () => 'on'
    expect(await establish([liar], splitFor('b', 'a', 2), soon())).toMatchObject({
      outcome: 'unknown',
      why: 'a was switched off, but its status is on',
    })
  })
})

describe('a command as a device', () => {
  /** An agent in a few lines of shell: notes its input, keeps the state in a file. */
  function agent(body: string): { readonly program: string; readonly folder: string } {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-agent-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const program = join(folder, 'fence_test')
    writeFileSync(program, `#!/bin/sh\ncd ${folder}\n${body}\n`)
    chmodSync(program, 0o755)
    return { program, folder }
  }
  const order: FenceOrder = { action: 'off', target: 'n2', token: 7, by: 'n1' }

  it('gets name=value lines and reports by its exit code', async () => {
    const { program, folder } = agent(
      'cat > input; . ./input; case $action in off|on) echo $action > state;; status) test "$(cat state)" = on || exit 2;; esac',
    )
    const device = commandDevice({ command: [program], options: { ip: '10.0.0.1', login: 'x' } })
    expect(await device.execute(order, soon())).toEqual({ outcome: 'done' })
    expect(readFileSync(join(folder, 'input'), 'utf8')).toBe(
      'ip=10.0.0.1\nlogin=x\naction=off\nplug=n2\ntoken=7\nby=n1\n',
    )
    expect(await device.status('n2', soon())).toBe('off')
    expect(await device.execute({ ...order, action: 'on' }, soon())).toEqual({ outcome: 'done' })
    expect(await device.status('n2', soon())).toBe('on')
  })

  it('distinguishes failure, refusal, a missing program and a timeout', async () => {
    const failing = commandDevice({ command: [agent('echo no power >&2; exit 1').program] })
    expect(await failing.execute(order, soon())).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('exited with 1: no power'),
    })
    expect(await failing.status('n2', soon())).toBe('unknown')
    const refusing = commandDevice({ command: [agent('echo 9 was here >&2; exit 5').program] })
    expect(await refusing.execute(order, soon())).toEqual({
      outcome: 'refused',
      current: null,
      why: '9 was here',
    })
    const absent = commandDevice({ command: ['/nowhere/fence_none'] })
    expect(await absent.execute(order, soon())).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('ENOENT'),
    })
    const hanging = commandDevice({ command: [agent('sleep 1000').program] })
    expect(await hanging.execute(order, AbortSignal.timeout(100))).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('SIGKILL'),
    })
    expect(() => commandDevice({ command: ['x'], options: { login: 'a\naction=on' } })).toThrow(
      'must not contain a line break',
    )
  })
})

describe('a command that leaves processes behind', () => {
  const order: FenceOrder = { action: 'off', target: 'n2', token: 7, by: 'n1' }
  /** The agent's child keeps its standard error open, and notes its process id. */
  function leaving(how: string, code: number): { readonly program: string; readonly folder: string } {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-agent-'))
    const program = join(folder, 'fence_test')
    writeFileSync(program, `#!/bin/sh\ncd ${folder}\n${how}\necho half done >&2\nexit ${code}\n`)
    chmodSync(program, 0o755)
    onTestFinished(() => {
      const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
      if (isAlive(pid)) process.kill(pid, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })
    return { program, folder }
  }
  const isAlive = (pid: number): boolean => {
    try {
      // A zombie counts as gone.
      return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return false
    }
  }
  const never = (): AbortSignal => new AbortController().signal

  it.each([
    ['in its own process group', 'sleep 1000 & echo $! > pid'],
    [
      'in a session of their own',
      'setsid sh -c "echo \\$\\$ > pid; exec sleep 1000" & while test ! -s pid; do sleep 0.01; done',
    ],
  ])('reports by its exit code while children %s hold its standard error', async (_about, how) => {
    const { program } = leaving(how, 0)
    const device = commandDevice({ command: [program] })
    // Nobody aborts it: the answer must not wait for what the agent has left behind.
    expect(await device.execute(order, never())).toEqual({ outcome: 'done' })
  })

  it('keeps the output of the agent, and leaves its background processes alone', async () => {
    const { program, folder } = leaving('sleep 1000 & echo $! > pid', 1)
    const device = commandDevice({ command: [program] })
    expect(await device.execute(order, never())).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('exited with 1: half done'),
    })
    expect(isAlive(Number(readFileSync(join(folder, 'pid'), 'utf8')))).toBe(true)
  })

  it('times out although it has exited and its child holds its standard error', async () => {
    const { program } = leaving('sleep 1000 & echo $! > pid', 0)
    const device = openDevice({ kind: 'command', command: [program], options: {}, timeoutMs: 3000 })
    expect(await device.execute(order, never())).toEqual({ outcome: 'done' })
  })

  it('times out although it cannot be killed, as with sudo', async () => {
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    })
    const thrown: unknown[] = []
    const note = (error: unknown): number => thrown.push(error)
    process.on('uncaughtException', note)
    onTestFinished(() => {
      process.off('uncaughtException', note)
    })
    const device = commandDevice({ command: ['sh', '-c', 'cat > /dev/null; exec sleep 600'] })
    const limit = new AbortController()
    const answer = device.execute({ action: 'off', target: 'a', token: 1, by: 'b' }, limit.signal)
    limit.abort()
    expect(await answer).toMatchObject({ outcome: 'unknown', why: expect.stringContaining('kill EPERM') })
    const [[group] = []] = kill.mock.calls
    kill.mockRestore()
    process.kill(group as number, 'SIGKILL')
    expect(thrown).toEqual([])
  })

  it('times out although the device ignores the signal', async () => {
    const deaf: FenceDevice = {
      name: 'deaf',
      execute: () => new Promise(() => {}),
      status: () => new Promise(() => {}),
    }
    const device = withTimeLimit(deaf, 20)
    expect(await device.execute(order, never())).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('20 ms'),
    })
    expect(await device.status('n2', never())).toBe('unknown')
  })
})

describe('an HTTP call as a device', () => {
  it('refuses a password in its address', () => {
    const parsed = fencingSchema.safeParse({ kind: 'http', url: 'http://me:secret@switch/fence' })
    expect(parsed.error?.issues).toMatchObject([
      { path: ['url'], message: expect.stringMatching(/^must not contain a user(?!.*secret)/) },
    ])
  })

  it('reports done, refused with the current token, or unknown', async () => {
    const device = new SimulatedSwitch('s')
    const app = new Hono()
    app.post('/fence', async (context) => {
      const asked = await context.req.json<FenceOrder>()
      const leave = await device.enter(asked.by, soon())
      const answer = await device.execute(asked)
      leave()
      if (answer.outcome === 'done') return context.json({})
      const refused = answer.outcome === 'refused' ? answer : { current: null, why: '' }
      return context.json({ current: refused.current, error: { message: refused.why } }, 409)
    })
    app.get('/fence', async (context) =>
      context.json({ status: await device.status(context.req.query('target') ?? '') }),
    )
    const { promise, resolve } = pending<number>()
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${await promise}/fence`
    const remote = httpDevice({ url })
    expect(await establish([remote], splitFor('b', 'a', 2), soon())).toEqual({ outcome: 'confirmed' })
    expect(await establish([remote], splitFor('a', 'b', 1), soon())).toMatchObject({
      outcome: 'refused',
      current: 2,
    })
    const gone = httpDevice({ url: `${url}/elsewhere` })
    expect(await gone.execute({ action: 'off', target: 'a', token: 1, by: 'b' }, soon())).toMatchObject({
      outcome: 'unknown',
      why: expect.stringContaining('returned status 404'),
    })
    expect(await gone.status('a', soon())).toBe('unknown')
  })
})
