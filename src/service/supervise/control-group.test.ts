import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { ControlGroup } from './control-group.ts'

let groups: ControlGroup[] = []

afterEach(async () => {
  for (const group of groups) group.kill()
  await until(() => groups.every(({ isPopulated }) => !isPopulated))
  for (const group of groups) group.remove()
  groups = []
})

function createGroup(): ControlGroup | null {
  const group = ControlGroup.create(`conclave-test-${process.pid}-${groups.length}`)
  if (group !== null) groups.push(group)
  return group
}

const probe = ControlGroup.create(`conclave-test-${process.pid}-probe`)
probe?.remove()

describe.skipIf(probe === null)('a control group (needs a writable cgroup v2)', () => {
  it('kills descendants that left their session', async () => {
    const group = createGroup() as ControlGroup
    const [program, ...args] = group.wrapCommand(['sh', '-c', 'setsid sleep 300 & exec sleep 300'], {})
    const child = spawn(program, args, { stdio: 'ignore' })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    await until(() => group.isPopulated)
    group.kill()
    await exited
    await until(() => !group.isPopulated)
    expect(child.signalCode).toBe('SIGKILL')
  }, 30_000)

  it('removes groups that the command created inside', () => {
    const group = createGroup() as ControlGroup
    mkdirSync(join(group.folder, 'inner'))
    group.remove()
    expect(existsSync(group.folder)).toBe(false)
    expect(group.isPopulated).toBe(false)
  })
})

describe('wrapCommand', () => {
  // Any writable file will do: the shell writes its pid there and becomes the command.
  const group = new ControlGroup('/dev/fd')

  it('passes on variables with names that a shell drops', () => {
    const [, , , , ...rest] = group.wrapCommand(['printenv', 'a.b'], { 'a.b': 'x y', PATH: '/bin' })
    expect(rest).toEqual(['env', '--', 'a.b=x y', 'printenv', 'a.b'])
  })

  it('adds nothing for ordinary variables, and keeps arguments with spaces', () => {
    const [program, flag, script, , ...rest] = group.wrapCommand(['printf', '%s', 'a b; exit 3'], {
      HOME: '/',
    })
    expect(rest).toEqual(['printf', '%s', 'a b; exit 3'])
    const { stdout } = spawnSync(program, [flag as string, script as string, '/dev/null', ...rest])
    expect(stdout.toString()).toBe('a b; exit 3')
  })

  it('does not run the command if it cannot enter the group', () => {
    const [program, ...args] = new ControlGroup('/nonexistent').wrapCommand(['echo', 'ran'], {})
    const { stdout, status } = spawnSync(program, args)
    expect([stdout.toString(), status === 0]).toEqual(['', false])
  })
})
