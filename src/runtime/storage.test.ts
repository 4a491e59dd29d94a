import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StorageInUse } from './lock.ts'
import { DamagedStorage, FolderUnusable, openStorage, StorageFailed } from './storage.ts'

const NOBODY = 65_534

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-storage-'))
})

afterEach(() => {
  chmodSync(folder, 0o700)
  rmSync(folder, { recursive: true })
})

const DATA = { promised: { number: 7, owner: 'b' }, config: [1, 2] }

describe('stable data', () => {
  it.each(['file', 'file/below', '/proc/nope'])(
    'needs a folder: %s is none, and none can be made',
    async (name) => {
      writeFileSync(join(folder, 'file'), '')
      await expect(openStorage(resolve(folder, name))).rejects.toThrow(/^data: .* cannot be a folder/)
    },
  )

  it('needs a folder that it may write to, and says so of one that it may not', async () => {
    const locked = join(folder, 'locked')
    mkdirSync(locked)
    chmodSync(locked, 0o555)
    chmodSync(folder, 0o755)
    // Rights do not bind the superuser.
    const isRoot = process.geteuid?.() === 0
    if (isRoot) process.seteuid?.(NOBODY)
    try {
      await expect(openStorage(locked)).rejects.toThrow(
        /^data: \S*\/locked is not writable by user \d+ \(.*\): change its owner or its mode/,
      )
      await expect(openStorage(locked)).rejects.toThrow(FolderUnusable)
      await expect(openStorage(join(locked, 'below'))).rejects.toThrow(
        /^data: .* cannot be a folder \(EACCES/,
      )
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  })

  it('is null at first, and then what was saved last, also for the next process', async () => {
    const first = await openStorage(join(folder, 'made', 'here'))
    expect(first.load()).toBeNull()
    first.save(DATA)
    first.save({ ...DATA, more: true })
    first.close()
    const second = await openStorage(join(folder, 'made', 'here'))
    expect(second.load()).toEqual({ ...DATA, more: true })
    second.close()
  })

  it.each<[string, (text: string) => string, string]>([
    ['cut short', (text) => text.slice(0, -9), 'it is not JSON'],
    ['changed', (text) => text.replace('7', '8'), 'its checksum does not match'],
    ['of another version', (text) => text.replace('"version":1', '"version":2'), 'its version is 2, not 1'],
    ['empty', () => '', 'it is not JSON'],
  ])('that is %s is refused, with the way out', async (_what, damage, problem) => {
    const storage = await openStorage(folder)
    storage.save(DATA)
    const file = join(folder, 'stable.json')
    writeFileSync(file, damage(readFileSync(file, 'utf8')))
    expect(() => storage.load()).toThrow(DamagedStorage)
    expect(() => storage.load()).toThrow(problem)
    expect(() => storage.load()).toThrow('start it with another id and an empty data folder')
    storage.close()
  })

  it('is kept when the next cannot be written', async () => {
    const storage = await openStorage(folder)
    storage.save(DATA)
    rmSync(folder, { recursive: true })
    expect(() => storage.save({ more: true })).toThrow(StorageFailed)
    expect(() => storage.save({ more: true })).toThrow(`could not write to ${folder}`)
    storage.close()
    folder = mkdtempSync(join(tmpdir(), 'conclave-storage-'))
  })

  it('belongs to one process at a time', async () => {
    const first = await openStorage(folder)
    await expect(openStorage(folder)).rejects.toThrow(StorageInUse)
    first.close()
    const second = await openStorage(folder)
    second.close()
  })
})
