import type { ChildProcess } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { RunNode } from './run-node.ts'

const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** Reports what arrives on the supervisor's descriptor, and ends with code 3 on SIGTERM. */
const SCRIPT = `
  const link = require('node:net').Socket({ fd: Number(process.env.CONCLAVE_SUPERVISOR_FD) })
  link.on('data', (text) => console.error('ordered ' + String(text).trim()))
  process.on('SIGTERM', () => process.exit(3))
  console.error(process.argv[1] + ' joined g')
  setInterval(() => {}, 1000)
`

function node(script = SCRIPT): RunNode {
  const command = [process.execPath, '-e', script, 'n1']
  return new RunNode({ id: 'n1', command, onStart: (child) => started.push(child) })
}

describe('a node under test', () => {
  it('has joined when it says so, and keeps its log', async () => {
    const one = node()
    expect(one.pid).toBeNull()
    one.start()
    await one.joined
    expect(one.pid).toBe(started[0]?.pid)
    expect(one.log).toContain('n1 joined g')
  })

  it('is started once, however often it is asked to', async () => {
    const one = node()
    one.start()
    one.start()
    await one.joined
    expect(started).toHaveLength(1)
  })

  it('reports its exit code, and null if it was killed', async () => {
    const one = node()
    one.start()
    await one.joined
    one.signal('SIGTERM')
    expect([await one.exited, one.pid]).toEqual([3, null])
    one.start()
    await one.joined
    one.signal('SIGKILL')
    expect([await one.exited, one.pid]).toEqual([null, null])
    expect(one.log.filter((line) => line === 'n1 joined g')).toHaveLength(2)
  })

  it('does not wait for ever for a node that ends before it joins', async () => {
    const one = node('process.exit(2)')
    one.start()
    await one.joined
    expect(await one.exited).toBe(2)
  })

  it('can run with another command line', async () => {
    const other = node().withCommand((words) => [...words.slice(0, -1), 'n1 never'])
    other.start()
    await until(() => other.log.length > 0)
    // Its first order may follow at once.
    expect(other.log[0]).toBe('n1 never joined g')
  })
})

describe('faults', () => {
  const ordered = (log: readonly string[]): readonly string[] =>
    log.filter((line) => line.startsWith('ordered')).map((line) => line.slice('ordered '.length))
  const cut = '{"faults":{"n2":{"cut":true}}}'

  it('are sent to the node', async () => {
    const one = node()
    one.start()
    await one.joined
    await until(() => ordered(one.log).length === 1)
    one.injectFaults({ n2: { cut: true } })
    await until(() => ordered(one.log).length === 2)
    expect(ordered(one.log)).toEqual(['{"faults":{}}', cut])
  })

  it('are kept over a restart, and may be set before the start', async () => {
    const one = node()
    one.injectFaults({ n2: { cut: true } })
    one.start()
    await until(() => ordered(one.log).length === 1)
    one.signal('SIGKILL')
    await one.exited
    one.start()
    await until(() => ordered(one.log).length === 2)
    expect(ordered(one.log)).toEqual([cut, cut])
  })
})
