/**
 * Real files. The full disk is a small tmpfs if this process may mount one: the kernel itself reports ENOSPC. In a folder
 * of the ordinary disk, the calls to the disk are made to accept only half of the bytes.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type ColumnPlace,
  columnBytes,
  columnConformance,
  keyFor,
  putColumn,
  readBytes,
} from '../../../../test/support/column-conformance.ts'
import { type ColumnKey, columnName } from './column-key.ts'
import { findColumnProblem } from './column-reader.ts'
import type { ColumnStore } from './column-store.ts'
import { type DiskCalls, openDiskStore } from './disk.ts'

const DISK_BYTES = 4 * 1024 * 1024
const canMount = ((): boolean => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  const folder = createFolder()
  const isMounted = mount(folder)
  if (isMounted) unmount(folder)
  rmSync(folder, { recursive: true, force: true })
  return isMounted
})()

function createFolder(): string {
  return mkdtempSync(join(tmpdir(), 'conclave-columns-'))
}

function mount(folder: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder]).status === 0
}

function unmount(folder: string): void {
  spawnSync('umount', ['-l', folder])
}

function temporaryFolder(): string {
  const folder = createFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const unfinished = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.startsWith('.') && name.endsWith('.new'))

function placeAt(folder: string, full: Pick<ColumnPlace, 'fill' | 'empty'>, calls?: DiskCalls): ColumnPlace {
  return {
    open: () => openDiskStore({ folder, ...(calls === undefined ? {} : { calls }) }),
    async damage(key, change) {
      const file = join(folder, columnName(key))
      writeFileSync(file, change(readFileSync(file)))
    },
    countUnfinished: async () => unfinished(folder).length,
    crashDuringWrite: (key, bytes) => killDuringWrite(folder, key, bytes),
    ...full,
  }
}

/** A process that writes a part of a column, and is killed before it finishes. */
async function killDuringWrite(folder: string, key: unknown, bytes: Uint8Array): Promise<void> {
  const script = `
    const { openDiskStore } = await import(${JSON.stringify(new URL('../../../../dist/service/recovery/store/disk.js', import.meta.url).href)})
    const store = await openDiskStore({ folder: ${JSON.stringify(folder)} })
    const writer = await store.create(${JSON.stringify(key)})
    await writer.write([Buffer.from(${JSON.stringify(Buffer.from(bytes).toString('base64'))}, 'base64')])
    console.log('written')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-'], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(script)
  const exited = once(child, 'exit')
  const [said] = await Promise.race([once(child.stdout, 'data'), exited])
  child.kill('SIGKILL')
  await exited
  expect(String(said)).toContain('written')
}

/** A payload whose columns have 2 MB: large enough to be worth a spare file. */
const LARGE = Buffer.alloc(6_000_000, 1)

/** A store that has dropped large columns. */
async function openWithSpare(
  count = 1,
  calls?: DiskCalls,
): Promise<{ readonly folder: string; readonly store: ColumnStore }> {
  const folder = temporaryFolder()
  const store = await openDiskStore({ folder, ...(calls === undefined ? {} : { calls }) })
  const keys = Array.from({ length: count }, (_, at) => keyFor({ epoch: at + 1 }))
  await Promise.all(keys.map((key) => putColumn(store, key, columnBytes(key, LARGE))))
  await Promise.all(keys.map((key) => store.drop(key)))
  return { folder, store }
}

if (canMount)
  columnConformance('a folder on a small tmpfs', async () => {
    const folder = temporaryFolder()
    mount(folder)
    onTestFinished(() => unmount(folder))
    const ballast = join(folder, 'ballast')
    return placeAt(folder, {
      async fill() {
        const { bavail, bsize } = statfsSync(folder)
        // Half a column is left: the disk fills up in the middle of a write.
        writeFileSync(ballast, Buffer.alloc(bavail * bsize - columnBytes(keyFor()).length / 2))
      },
      async empty() {
        rmSync(ballast)
      },
    })
  })

columnConformance('a folder with injected faults', async () => {
  let isFull = false
  const calls: DiskCalls = {
    write: async (file, chunks) => {
      const bytes = Buffer.concat(chunks)
      return (await file.write(isFull ? bytes.subarray(0, bytes.length / 2) : bytes)).bytesWritten
    },
    sync: (file) => file.datasync(),
  }
  const fill = async (): Promise<void> => void (isFull = true)
  const empty = async (): Promise<void> => void (isFull = false)
  return placeAt(temporaryFolder(), { fill, empty }, calls)
})

describe('columns on a disk', () => {
  it('shows a column only after it was synced', async () => {
    const folder = temporaryFolder()
    const seen: string[][] = []
    const columns = (): string[] => readdirSync(folder).filter((name) => name.startsWith('render'))
    const calls: DiskCalls = {
      write: async (file, chunks) => (await file.writev(chunks as Uint8Array[])).bytesWritten,
      async sync(file) {
        seen.push(columns())
        await file.datasync()
      },
    }
    const store = await openDiskStore({ folder, calls })
    await putColumn(store, keyFor())
    expect(seen).toEqual([[]])
    expect(columns()).toEqual([columnName(keyFor())])
    await store.close()
  })

  it('stores nothing if the sync fails', async () => {
    const folder = temporaryFolder()
    const calls: DiskCalls = {
      write: async (file, chunks) => (await file.writev(chunks as Uint8Array[])).bytesWritten,
      sync: async () => {
        throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
      },
    }
    const store = await openDiskStore({ folder, calls })
    await expect(putColumn(store, keyFor())).rejects.toMatchObject({
      name: 'ColumnStoreFailedError',
      message: expect.stringContaining('EIO'),
    })
    expect(await store.list()).toEqual([])
    expect(unfinished(folder)).toEqual([])
    await store.close()
  })

  it('flushes a large column while it is written, and fails if that failed', async () => {
    const folder = temporaryFolder()
    let syncs = 0
    let isFailing = false
    const calls: DiskCalls = {
      write: async (file, chunks) => (await file.writev(chunks as Uint8Array[])).bytesWritten,
      async sync(file) {
        syncs += 1
        // The kernel reports a lost write to one sync only.
        if (isFailing && syncs === 1) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
        await file.datasync()
      },
    }
    const store = await openDiskStore({ folder, calls })
    const bytes = columnBytes(keyFor(), Buffer.alloc(30_000_000, 1))
    await putColumn(store, keyFor(), bytes)
    expect(syncs).toBeGreaterThan(1)
    expect(await findColumnProblem(store, keyFor())).toBeNull()
    syncs = 0
    isFailing = true
    await expect(putColumn(store, keyFor({ epoch: 2 }), bytes)).rejects.toThrow('EIO')
    expect(await store.list()).toHaveLength(1)
    expect(unfinished(folder)).toEqual([])
    await store.close()
  })

  it('writes a column over the file of a dropped one, and cuts off what is left of it', async () => {
    const { folder, store } = await openWithSpare()
    const [spare] = unfinished(folder) as [string]
    const { ino } = statSync(join(folder, spare))
    expect(await store.list()).toEqual([])
    const bytes = columnBytes(keyFor({ epoch: 2 }), Buffer.alloc(4_500_000, 2))
    await putColumn(store, keyFor({ epoch: 2 }), bytes)
    expect(statSync(join(folder, columnName(keyFor({ epoch: 2 })))).ino).toBe(ino)
    expect(unfinished(folder)).toEqual([])
    expect((await readBytes(store, keyFor({ epoch: 2 }))).equals(bytes)).toBe(true)
    await store.close()
  })

  it('never writes over a file that is being read, or that has a second name', async () => {
    const folder = temporaryFolder()
    const store = await openDiskStore({ folder })
    const large = columnBytes(keyFor(), LARGE)
    await putColumn(store, keyFor(), large)
    const raw = await store.openRaw(keyFor())
    await store.drop(keyFor())
    expect(unfinished(folder)).toEqual([])
    await putColumn(store, keyFor({ epoch: 2 }), columnBytes(keyFor({ epoch: 2 }), LARGE))
    const read: Uint8Array[] = []
    for await (const chunk of raw.chunks) read.push(chunk)
    expect(Buffer.concat(read).equals(large)).toBe(true)
    await raw.close()
    const copy = join(temporaryFolder(), 'copy')
    linkSync(join(folder, columnName(keyFor({ epoch: 2 }))), copy)
    await store.drop(keyFor({ epoch: 2 }))
    expect(unfinished(folder)).toEqual([])
    await store.close()
  })

  it('does not write over a spare file that got a second name', async () => {
    const { folder, store } = await openWithSpare()
    const copy = join(temporaryFolder(), 'copy')
    linkSync(join(folder, unfinished(folder)[0] as string), copy)
    const before = readFileSync(copy)
    await putColumn(store, keyFor({ epoch: 2 }), columnBytes(keyFor({ epoch: 2 }), LARGE))
    expect(readFileSync(copy).equals(before)).toBe(true)
    expect(unfinished(folder)).toEqual([])
    await store.close()
  })

  it('keeps spare files for columns that are large enough', async () => {
    const { folder, store } = await openWithSpare()
    await putColumn(store, keyFor({ epoch: 2 }), columnBytes(keyFor({ epoch: 2 })))
    expect(unfinished(folder)).toHaveLength(1)
    await store.close()
  })

  it('keeps a column that is stored again while the former one is dropped', async () => {
    const folder = temporaryFolder()
    const store = await openDiskStore({ folder })
    const bytes = columnBytes(keyFor(), LARGE)
    for (let round = 0; round < 5; round++) {
      // oxlint-disable no-await-in-loop -- one round after the other
      await putColumn(store, keyFor(), bytes)
      const again = await store.create(keyFor(), undefined, bytes.length)
      await again.write([bytes])
      const ended = Promise.all([store.drop(keyFor()), again.finish()])
      let isOver = false
      void ended.then(() => {
        isOver = true
      })
      // Columns may be read at any time meanwhile.
      while (!isOver) await (await store.openRaw(keyFor()).catch(() => null))?.close()
      await ended
      expect((await readBytes(store, keyFor())).equals(bytes)).toBe(true)
      // oxlint-enable no-await-in-loop
    }
    await store.close()
  })

  it('leaves no file behind when it is closed during a drop', async () => {
    const folder = temporaryFolder()
    const store = await openDiskStore({ folder })
    await putColumn(store, keyFor(), columnBytes(keyFor(), LARGE))
    await Promise.all([store.drop(keyFor()), store.close()])
    expect(unfinished(folder)).toEqual([])
    expect(readdirSync(folder)).not.toContain(columnName(keyFor()))
  })

  it('keeps spare files within their limit, and none when it is closed', async () => {
    const folder = temporaryFolder()
    const store = await openDiskStore({ folder, maxSpareBytes: 5_000_000 })
    const keys = [1, 2, 3].map((epoch) => keyFor({ epoch }))
    await Promise.all(keys.map((key) => putColumn(store, key, columnBytes(key, LARGE))))
    await Promise.all(keys.map((key) => store.drop(key)))
    expect(unfinished(folder)).toHaveLength(2)
    await store.close()
    expect(unfinished(folder)).toEqual([])
  })

  it('gives spare files up before it reports a full disk', async () => {
    let spares = (): number => 0
    const calls: DiskCalls = {
      // Full while there is a spare file: the disk accepts half of the bytes.
      write: async (file, chunks) => {
        const bytes = Buffer.concat(chunks)
        return (await file.write(spares() > 1 ? bytes.subarray(0, bytes.length / 2) : bytes)).bytesWritten
      },
      sync: (file) => file.datasync(),
    }
    const { folder, store } = await openWithSpare(2, calls)
    expect(unfinished(folder)).toHaveLength(2)
    spares = () => unfinished(folder).length
    const bytes = columnBytes(keyFor({ epoch: 9 }), LARGE)
    await putColumn(store, keyFor({ epoch: 9 }), bytes)
    expect((await readBytes(store, keyFor({ epoch: 9 }))).equals(bytes)).toBe(true)
    expect(unfinished(folder)).toEqual([])
    await store.close()
  })

  it('gives spare files up for all writers of a full disk', async () => {
    let failures = 0
    const calls: DiskCalls = {
      write: async (file, chunks) => {
        if (failures === 0) return (await file.writev(chunks as Uint8Array[])).bytesWritten
        failures -= 1
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      },
      sync: (file) => file.datasync(),
    }
    const { folder, store } = await openWithSpare(2, calls)
    const keys = [8, 9].map((epoch) => keyFor({ epoch }))
    // Without a known size the writers take no spare file.
    const writers = await Promise.all(keys.map((key) => store.create(key)))
    failures = 2
    await Promise.all(writers.map((writer, at) => writer.write([columnBytes(keys[at] as ColumnKey, LARGE)])))
    await Promise.all(writers.map((writer) => writer.finish()))
    expect(await store.list()).toHaveLength(2)
    expect(unfinished(folder)).toEqual([])
    await store.close()
  })

  it('removes spare files that a crash left behind', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, '.0123456789abcdef01234567.new'), LARGE)
    const store = await openDiskStore({ folder })
    expect(unfinished(folder)).toEqual([])
    await store.close()
  })

  it('ignores files that are not columns, and does not follow links', async () => {
    const folder = temporaryFolder()
    const outside = join(temporaryFolder(), 'secret')
    writeFileSync(outside, 'secret')
    const store = await openDiskStore({ folder })
    writeFileSync(join(folder, 'notes.txt'), 'x')
    mkdirSync(join(folder, columnName(keyFor({ epoch: 3 }))))
    symlinkSync(outside, join(folder, columnName(keyFor())))
    expect(await findColumnProblem(store, keyFor())).toBe('it is a symbolic link')
    expect(await findColumnProblem(store, keyFor({ epoch: 3 }))).toBe('it is not a regular file')
    expect((await store.list()).map(({ key }) => key.id.epoch)).toEqual([1])
    await store.close()
  })

  it('is used by one process at a time', async () => {
    const folder = temporaryFolder()
    const store = await openDiskStore({ folder })
    await expect(openDiskStore({ folder })).rejects.toMatchObject({ name: 'StorageInUseError' })
    await store.close()
    const bytes = columnBytes(keyFor())
    const second = await openDiskStore({ folder })
    await putColumn(second, keyFor(), bytes)
    expect((await readBytes(second, keyFor())).equals(bytes)).toBe(true)
    await second.close()
  })
})
