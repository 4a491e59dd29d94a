import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readKeyFile, readTokenFile } from './keys.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(name: string, content: string | Uint8Array, mode = 0o600): string {
  const file = join(folder, name)
  writeFileSync(file, content)
  chmodSync(file, mode)
  return file
}

const KEY_ADVICE = (file: string): string =>
  `make one with "(umask 077; head -c 32 /dev/urandom > ${file})" and copy it to all nodes`
const TOKEN_ADVICE = (file: string): string =>
  `make one with "(umask 077; head -c 24 /dev/urandom | base64 > ${file})"`

describe('readKeyFile', () => {
  it.each([16, 17, 32, 64])('accepts a key of %i bytes as it is', (size) => {
    const bytes = Uint8Array.from({ length: size }, (_, index) => 255 - index)
    const file = fileWith(`key-${size}`, bytes)
    const read = readKeyFile(file)
    expect(read).toMatchObject({ file, problem: null, openTo: 'owner' })
    expect([...read.key]).toEqual([...bytes])
  })

  it('keeps the end of the line: other nodes have a copy of the same bytes', () => {
    expect(readKeyFile(fileWith('line', '0123456789abcdef\n')).key).toHaveLength(17)
  })

  it.each([0, 1, 15])('refuses a key of %i bytes, and says how to make one', (size) => {
    const file = fileWith(`short-${size}`, new Uint8Array(size))
    expect(readKeyFile(file).problem).toBe(
      `${file} has ${size} bytes, a key needs at least 16: ${KEY_ADVICE(file)}`,
    )
  })

  it('names a missing file, and what reading a folder says', () => {
    const missing = join(folder, 'missing')
    expect(readKeyFile(missing)).toMatchObject({
      problem: `there is no file ${missing}; ${KEY_ADVICE(missing)}`,
      openTo: 'owner',
    })
    mkdirSync(join(folder, 'directory'))
    expect(readKeyFile(join(folder, 'directory')).problem).toContain('directory: EISDIR')
  })
})

it.each([
  [0o600, 'owner'],
  [0o400, 'owner'],
  [0o610, 'owner'],
  [0o640, 'group'],
  [0o660, 'group'],
  [0o644, 'everyone'],
  [0o604, 'everyone'],
])('a file with mode %o can be read by its %s', (mode, openTo) => {
  const file = fileWith(`mode-${mode}`, 'x'.repeat(20), mode)
  expect([readKeyFile(file).openTo, readTokenFile(file).openTo]).toEqual([openTo, openTo])
})

describe('readTokenFile', () => {
  it('has no token without a file', () => {
    expect(readTokenFile(undefined)).toEqual({ file: null, openTo: 'owner', token: null, problem: null })
  })

  it.each([
    ['0123456789abcdef', '0123456789abcdef'],
    ['0123456789abcdef\n', '0123456789abcdef'],
    ['  with spaces inside \r\n', 'with spaces inside'],
    ['~!@#$%^&*()_+{}|:"<>', '~!@#$%^&*()_+{}|:"<>'],
  ])('reads %j without what surrounds it', (content, token) => {
    expect(readTokenFile(fileWith('token', content))).toMatchObject({ token, problem: null })
  })

  it.each([
    ['', 'has 0 characters, at least 16 are needed'],
    ['0123456789abcde\n', 'has 15 characters, at least 16 are needed'],
    ['0123456789abcdef\nsecond line', 'has characters that no HTTP header can carry'],
    ['0123456789abcdefé', 'has characters that no HTTP header can carry'],
    ['0123456789\tabcdef', 'has characters that no HTTP header can carry'],
  ])('refuses %j', (content, problem) => {
    const file = fileWith('bad-token', content)
    expect(readTokenFile(file).problem).toBe(`${file} ${problem}: ${TOKEN_ADVICE(file)}`)
  })

  it('says how to make a missing one', () => {
    const file = join(folder, 'no-token')
    expect(readTokenFile(file)).toEqual({
      file,
      openTo: 'owner',
      token: null,
      problem: `there is no file ${file}; ${TOKEN_ADVICE(file)}`,
    })
  })
})
