import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Reaper } from './reaper.ts'

const sleeper = () => spawn('sleep', ['300'], { stdio: 'ignore' })

it('kills registered processes, even stopped ones, and removes the folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-reaper-'))
  writeFileSync(join(folder, 'file'), 'x')
  const reaper = new Reaper(folder)
  const [running, stopped] = [sleeper(), sleeper()]
  const exits = [running, stopped].map(
    (child) => new Promise<string | null>((resolve) => child.once('exit', (_, signal) => resolve(signal))),
  )
  reaper.watch(running)
  reaper.watch(stopped)
  stopped.kill('SIGSTOP')
  await reaper.close()
  expect(await Promise.all(exits)).toEqual(['SIGKILL', 'SIGKILL'])
  expect(existsSync(folder)).toBe(false)
})

it('does not kill a process that has exited before: its id may belong to another process by then', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-reaper-'))
  const reaper = new Reaper(folder)
  const [first, second] = [sleeper(), sleeper()]
  reaper.watch(first)
  const exited = new Promise((resolve) => first.once('exit', resolve))
  first.kill('SIGTERM')
  await exited
  // Not registered, so the reaper leaves it alone.
  let isKilled = false
  second.once('exit', () => (isKilled = true))
  await reaper.close()
  expect(isKilled).toBe(false)
  const ended = new Promise((resolve) => second.once('exit', resolve))
  second.kill('SIGKILL')
  await ended
})
