import { existsSync, rmSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { makeTemporaryFolder } from './temporary.ts'

afterEach(() => vi.unstubAllEnvs())

it('makes a new folder that only this user can enter', () => {
  const [one, two] = [makeTemporaryFolder('conclave-x-'), makeTemporaryFolder('conclave-x-')]
  try {
    expect(one).not.toBe(two)
    expect(basename(one)).toMatch(/^conclave-x-\w+$/)
    expect(statSync(one).mode & 0o777).toBe(0o700)
  } finally {
    for (const folder of [one, two]) rmSync(folder, { recursive: true })
  }
})

it('says what to do if it cannot', () => {
  vi.stubEnv('TMPDIR', '/nowhere/at-all')
  expect(existsSync('/nowhere')).toBe(false)
  expect(() => makeTemporaryFolder('conclave-')).toThrow(
    'cannot create a folder in /nowhere/at-all (ENOENT); set TMPDIR to a folder that this user can write to',
  )
})
