import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { COMMAND, Witness, type WitnessLine } from './witness.ts'

let folder: string
let witness: Witness
let children: ChildProcess[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-witness-'))
  witness = new Witness(join(folder, 'log'))
  children = []
})

afterEach(async () => {
  await Promise.all(children.map(killAndWait))
  witness.close()
  rmSync(folder, { recursive: true, force: true })
})

function killAndWait(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGKILL')
  return exited
}

function startCommand(id: string, token: number, kind = 'cooperative'): ChildProcess {
  const child = spawn('sh', ['-c', COMMAND, 'witness', join(folder, 'log'), kind], {
    env: { ...process.env, CONCLAVE_ID: id, CONCLAVE_TOKEN: String(token) },
    stdio: 'ignore',
  })
  children.push(child)
  return child
}

const waitFor = (action: WitnessLine['action'], id: string): Promise<WitnessLine | null> =>
  witness.waitForLine((line) => line.action === action && line.id === id, 0, 30_000)

it('parses lines, and keeps an incomplete line until it is complete', () => {
  appendFileSync(join(folder, 'log'), 'a 1 100 begin\na 1 100 o')
  witness.readNewLines()
  expect(witness.lines).toMatchObject([{ id: 'a', token: 1, pid: 100, action: 'begin' }])
  appendFileSync(join(folder, 'log'), 'n\n')
  witness.readNewLines()
  expect(witness.latest).toMatchObject({ id: 'a', token: 1, pid: 100, action: 'on' })
})

it('resolves to the first matching line from an index on, and to null after the timeout', async () => {
  appendFileSync(join(folder, 'log'), 'a 1 100 begin\na 1 100 on\nb 2 200 begin\n')
  const isBegin = ({ action }: WitnessLine): boolean => action === 'begin'
  expect(await witness.waitForLine(isBegin, 1, 30_000)).toMatchObject({ id: 'b' })
  expect(await witness.waitForLine(isBegin, 3, 1)).toBeNull()
})

it('records the start, the work and the end of a command', async () => {
  const child = startCommand('a', 7)
  expect(await waitFor('on', 'a')).toMatchObject({ id: 'a', token: 7, pid: child.pid })
  child.kill('SIGTERM')
  expect(await waitFor('end', 'a')).toMatchObject({ token: 7 })
  expect(witness.lines[0]?.action).toBe('begin')
})

it('reports an overlap while another command holds the lock, and when it is alone again', async () => {
  const first = startCommand('a', 1, 'stubborn')
  await waitFor('on', 'a')
  startCommand('b', 2)
  expect(await waitFor('overlap', 'b')).not.toBeNull()
  expect(witness.lines.some(({ action }) => action === 'alone')).toBe(false)
  await killAndWait(first)
  expect(await waitFor('alone', 'b')).not.toBeNull()
})
