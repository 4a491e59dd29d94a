import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { checkProgram } from './program.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-program-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => void vi.unstubAllEnvs())

function program(name: string, mode: number): string {
  const file = join(folder, name)
  writeFileSync(file, '#!/bin/sh\n')
  chmodSync(file, mode)
  return file
}

it('accepts a path and a name in the PATH', () => {
  const file = program('worker', 0o755)
  vi.stubEnv('PATH', `/no/such/folder:${folder}`)
  expect(() => checkProgram(file)).not.toThrow()
  expect(() => checkProgram('worker')).not.toThrow()
})

it.each([
  ['/no/such/program', 'cannot run "/no/such/program": no such program'],
  ['no-such-program', 'cannot run "no-such-program": no such program in the PATH'],
  [folder, `cannot run "${folder}": ${folder} is not a file`],
])('refuses %s', (name, message) => {
  expect(() => checkProgram(name)).toThrow(message)
})

it('refuses a file that is not executable', () => {
  const file = program('data', 0o644)
  expect(() => checkProgram(file)).toThrow(`this user has no permission to run ${file}`)
})
