/**
 * Registers in a folder, without a server. There are two modes.
 *
 * `rename` (the default): each version of a cell is a separate file, named after cell and version. It is written under a
 * temporary name and then linked to its own. link(2) fails if the name exists, which makes it a compare-and-swap: a
 * delayed write of an earlier incarnation finds its version taken. (rename(2) would overwrite.) The highest version
 * counts; some older ones are kept for concurrent readers.
 *
 * `sector`: one file per cell, overwritten in place by one write of 512 bytes. A disk has no compare-and-swap, so the
 * process locks the cells that it writes, and reads before it writes. The lock lasts as long as the process and its writes.
 */
import { mkdir, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ASSUMPTIONS, SECTOR_LOCK } from './assumptions.ts'
import { describeError, StoreAccessDeniedError, UnsuitableStoreError } from './errors.ts'
import { openRenameStore } from './file-rename.ts'
import { openSectorStore } from './file-sector.ts'
import { checkMount, findMount, type Mount } from './file-systems.ts'
import { type CellStore, safeName } from './store.ts'

export type FileOptions = {
  readonly path: string
  readonly mode: 'rename' | 'sector'
  /** Mount options, if the folder is on a network file system. */
  readonly mountOptions?: readonly string[] | undefined
}

const LEFTOVER_AGE_MS = 24 * 3_600_000

export async function openFile(
  { path, mode, mountOptions }: FileOptions,
  group: string,
  getMount: (folder: string) => Promise<Mount> = findMount,
): Promise<CellStore> {
  const folder = await writableFolder(path, group)
  const judged = checkMount(await getMount(folder), mountOptions ?? null)
  if (!judged.fit) throw new UnsuitableStoreError(`${folder} cannot hold registers: ${judged.why}`)
  await removeLeftovers(folder)
  const place = `${folder} (${mode})`
  const facts = {
    kind: 'file' as const,
    place,
    sound: [...judged.sound, 'every write is flushed to the disk before it counts'],
    weak: [],
    assumed: [...judged.assumed, ...ASSUMPTIONS.file, ...(mode === 'sector' ? [SECTOR_LOCK] : [])],
  }
  return mode === 'rename' ? openRenameStore(folder, facts) : openSectorStore(folder, facts)
}

/** Creates the group's folder if necessary, and checks that it is writable. */
async function writableFolder(path: string, group: string): Promise<string> {
  const folder = join(path, safeName(group))
  const probe = join(folder, `.probe-${process.pid}-${Math.random().toString(36).slice(2)}`)
  try {
    await makeFolder(folder)
    await writeFile(probe, 'x'.repeat(512), { flush: true })
  } catch (error) {
    throw new StoreAccessDeniedError(`cannot write to ${folder}: ${adviceFor(error)}`, { cause: error })
  } finally {
    await rm(probe, { force: true }).catch(() => {})
  }
  return realpath(folder)
}

/** Creates a folder and its parents. Node's `recursive` option loops forever in places like /proc. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o770 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    await makeFolder(dirname(folder))
    await mkdir(folder, { mode: 0o770 }).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again
    })
  }
}

function adviceFor(error: unknown): string {
  const advice: { readonly [code: string]: string } = {
    ENOSPC: 'the disk is full; free some space',
    EDQUOT: 'the quota is exhausted; free some space',
    EROFS: 'the file system is read-only; mount it for writing or choose another folder',
    EACCES: 'permission denied; change the owner or the mode of the folder',
    EPERM: 'permission denied; change the owner or the mode of the folder',
    ENOTDIR: 'a part of the path is a file',
    EEXIST: 'a part of the path is a file',
  }
  return advice[(error as NodeJS.ErrnoException).code ?? ''] ?? describeError(error)
}

/** Removes temporary files of crashed processes after a day. */
async function removeLeftovers(folder: string): Promise<void> {
  const hidden = (await readdir(folder)).filter((name) => name.startsWith('.'))
  await Promise.all(
    hidden.map(async (name) => {
      const file = join(folder, name)
      const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
      if (Date.now() - mtimeMs > LEFTOVER_AGE_MS) await rm(file, { force: true })
    }),
  )
}
