import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StorageInUseError } from './lock.ts'
import { DamagedStorageError, openStorage, StorageFailedError, UnusableFolderError } from './storage.ts'

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
    'needs a folder: %s is not a folder, and none can be created',
    async (name) => {
      writeFileSync(join(folder, 'file'), '')
      await expect(openStorage(resolve(folder, name))).rejects.toThrow(/^data: .* cannot be created/)
    },
  )

  it('needs a folder that it may write to, and the error says so', async () => {
    const locked = join(folder, 'locked')
    mkdirSync(locked)
    chmodSync(locked, 0o555)
    chmodSync(folder, 0o755)
    // Permissions do not bind the superuser.
    const isRoot = process.geteuid?.() === 0
    if (isRoot) process.seteuid?.(NOBODY)
    try {
      await expect(openStorage(locked)).rejects.toThrow(
        /^data: \S*\/locked is not writable by user \d+ \(.*\): change its owner or its mode/,
      )
      await expect(openStorage(locked)).rejects.toThrow(UnusableFolderError)
      await expect(openStorage(join(locked, 'below'))).rejects.toThrow(/^data: .* cannot be created \(EACCES/)
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  })

  it('is null at first, and then the last saved value, also for the next process', async () => {
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
  ])('that is %s is refused, and the error says what to do', async (_what, damage, problem) => {
    const storage = await openStorage(folder)
    storage.save(DATA)
    const file = join(folder, 'stable.json')
    writeFileSync(file, damage(readFileSync(file, 'utf8')))
    expect(() => storage.load()).toThrow(DamagedStorageError)
    expect(() => storage.load()).toThrow(problem)
    expect(() => storage.load()).toThrow('start it with another id and an empty data directory')
    storage.close()
  })

  it('keeps the old value when the next cannot be written', async () => {
    const storage = await openStorage(folder)
    storage.save(DATA)
    rmSync(folder, { recursive: true })
    expect(() => storage.save({ more: true })).toThrow(StorageFailedError)
    expect(() => storage.save({ more: true })).toThrow(`could not write to ${folder}`)
    storage.close()
    folder = mkdtempSync(join(tmpdir(), 'conclave-storage-'))
  })

  it.each(['file', 'folder', 'nothing'])('is never written through a link to a %s', async (what) => {
    const victim = join(folder, 'victim')
    if (what === 'file') writeFileSync(victim, 'precious')
    if (what === 'folder') mkdirSync(victim)
    const data = join(folder, 'data')
    mkdirSync(data)
    symlinkSync(victim, join(data, 'stable.json.new'))
    const storage = await openStorage(data)
    storage.save(DATA)
    storage.close()
    expect(existsSync(victim)).toBe(what !== 'nothing')
    if (what === 'file') expect(readFileSync(victim, 'utf8')).toBe('precious')
    expect(lstatSync(join(data, 'stable.json')).isFile()).toBe(true)
    expect((await openStorage(data)).load()).toEqual(DATA)
  })

  it('is not read through a link, nor from a pipe', async () => {
    const data = join(folder, 'data')
    const storage = await openStorage(data)
    storage.save(DATA)
    storage.close()
    renameSync(join(data, 'stable.json'), join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), join(data, 'stable.json'))
    const linked = await openStorage(data)
    expect(() => linked.load()).toThrow('stable.json is damaged (it is a symbolic link)')
    rmSync(join(data, 'stable.json'))
    // Opening a pipe without O_NONBLOCK would wait for ever.
    execFileSync('mkfifo', [join(data, 'stable.json')])
    expect(() => linked.load()).toThrow('stable.json is damaged (it is not a regular file)')
    linked.close()
  })

  it('does not remove files that only look like a lock', async () => {
    writeFileSync(join(folder, 'lock.txt'), 'mine')
    mkdirSync(join(folder, 'lock.folder'))
    symlinkSync(join(folder, 'nowhere'), join(folder, 'lock.link'))
    const storage = await openStorage(folder)
    storage.close()
    expect(readdirSync(folder).sort()).toEqual(['lock.folder', 'lock.link', 'lock.txt'])
  })

  it('whose folder is removed or replaced is not written, and the error says so', async () => {
    const data = join(folder, 'data')
    const storage = await openStorage(data)
    renameSync(data, join(folder, 'moved'))
    expect(() => storage.save(DATA)).toThrow('the folder was removed while this process used it')
    mkdirSync(data)
    expect(() => storage.save(DATA)).toThrow('the folder was replaced by another one')
    expect(readdirSync(data)).toEqual([])
    storage.close()
  })

  it('belongs to one process at a time', async () => {
    const first = await openStorage(folder)
    await expect(openStorage(folder)).rejects.toThrow(StorageInUseError)
    first.close()
    const second = await openStorage(folder)
    second.close()
  })
})
