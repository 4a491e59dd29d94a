import { type ChildProcess, spawn } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { readLines } from './lines.ts'
import { childrenOf, cpuMsOf, isAlive, trySignal } from './processes.ts'

let children: ChildProcess[] = []

afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children = []
})

function start(...command: readonly [string, ...string[]]): ChildProcess & { readonly pid: number } {
  const [program, ...args] = command
  const child = spawn(program, args, { stdio: 'ignore' })
  children.push(child)
  return child as ChildProcess & { readonly pid: number }
}

describe('processes', () => {
  it('lists the children of a process until they exit', async () => {
    const { pid } = start('sleep', '300')
    expect(childrenOf(process.pid)).toContain(pid)
    trySignal(pid, 'SIGKILL')
    await until(() => !childrenOf(process.pid).includes(pid))
  })

  it('does not count a zombie as alive', async () => {
    // The shell's child exits, and sleep, which replaces the shell, never reaps it.
    const { pid } = start('sh', '-c', 'true & exec sleep 300')
    await until(() => childrenOf(pid).length === 1 && !childrenOf(pid).some(isAlive))
    expect(isAlive(pid)).toBe(true)
  })

  it('reports exited processes as not alive, without CPU time, and ignores signals to them', async () => {
    const { pid } = start('true')
    await until(() => !childrenOf(process.pid).includes(pid))
    expect([isAlive(pid), cpuMsOf(pid)]).toEqual([false, 0])
    expect(() => trySignal(pid, 'SIGTERM')).not.toThrow()
  })

  it('measures the CPU time of a busy process', async () => {
    const { pid } = start('sh', '-c', 'while :; do :; done')
    await until(() => cpuMsOf(pid) >= 20)
    expect(cpuMsOf(process.pid)).toBeGreaterThan(0)
  })
})

describe('readLines', () => {
  it('splits chunks into lines and survives an error of the stream', async () => {
    const stream = new PassThrough()
    stream.on('error', () => {})
    const lines: string[] = []
    readLines(stream, (line) => lines.push(line))
    stream.write('one\ntw')
    stream.write('o\n')
    await until(() => lines.length === 2)
    stream.destroy(new Error('broken'))
    await until(() => stream.closed)
    expect(lines).toEqual(['one', 'two'])
  })
})
