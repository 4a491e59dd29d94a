import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createAtomically } from './file-flush.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-flush-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('creates a file with the whole content, and leaves no other behind', async () => {
  const path = join(folder, 'b_1.1')
  expect(await createAtomically(path, Buffer.from('body'), async () => true)).toBe(true)
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['body', ['b_1.1']])
})

it('asks just before the file gets its name: the content is written by then', async () => {
  const path = join(folder, 'file')
  const found: string[] = []
  await createAtomically(path, 'content', async () => {
    const [temporary = ''] = readdirSync(folder)
    found.push(temporary.slice(0, 1), readFileSync(join(folder, temporary), 'utf8'), String(existsSync(path)))
    return true
  })
  expect(found).toEqual(['.', 'content', 'false'])
})

it('does not replace a file that exists', async () => {
  const path = join(folder, 'file')
  writeFileSync(path, 'old')
  expect(await createAtomically(path, 'new', async () => true)).toBe(false)
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['old', ['file']])
})

it('lets one of several writers win', async () => {
  const path = join(folder, 'file')
  const won = await Promise.all(
    Array.from({ length: 8 }, (_, each) => createAtomically(path, String(each), async () => true)),
  )
  expect(won.filter(Boolean)).toHaveLength(1)
  expect(readFileSync(path, 'utf8')).toBe(String(won.indexOf(true)))
  expect(readdirSync(folder)).toEqual(['file'])
})

it('creates nothing if it is no longer wanted, or if asking fails', async () => {
  const path = join(folder, 'file')
  expect(await createAtomically(path, 'x', async () => false)).toBe(false)
  await expect(createAtomically(path, 'x', () => Promise.reject(new Error('late')))).rejects.toThrow('late')
  expect(readdirSync(folder)).toEqual([])
})

it('passes on that the folder does not exist', async () => {
  await expect(createAtomically(join(folder, 'none', 'file'), 'x', async () => true)).rejects.toThrow(
    'ENOENT',
  )
})
