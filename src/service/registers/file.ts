/**
 * Registers in a folder: nothing to install. Two ways to write a block.
 *
 * `rename` (the default): each version of a cell is a file of its own, named after cell and version, written beside and
 * then linked to its name. The system refuses a name that is taken, and that is the compare: a late write of a former
 * incarnation finds its version gone by. (A rename would overwrite whatever is there.) The highest version counts; a
 * few older ones stay for readers who are just looking.
 *
 * `sector`: one file a cell, overwritten in place by one write of 512 bytes. A disk cannot compare, so the process
 * locks the cells that it writes, and reads before it writes. The lock lasts as long as the process: nobody else writes
 * until it and its writes are gone.
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
  /** The options of the network file system on which the folder lies, where it does. */
  readonly mountOptions?: readonly string[] | undefined
}

const LEFTOVER_AGE_MS = 24 * 3_600_000

export async function openFile(
  { path, mode, mountOptions }: FileOptions,
  group: string,
  look: (folder: string) => Promise<Mount> = findMount,
): Promise<CellStore> {
  const folder = await writableFolder(path, group)
  const judged = checkMount(await look(folder), mountOptions ?? null)
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

/** The group's folder, made if need be, and tried. */
async function writableFolder(path: string, group: string): Promise<string> {
  const folder = join(path, safeName(group))
  const trial = join(folder, `.trial-${process.pid}-${Math.random().toString(36).slice(2)}`)
  try {
    await makeFolder(folder)
    await writeFile(trial, 'x'.repeat(512), { flush: true })
  } catch (error) {
    throw new StoreAccessDeniedError(`cannot write to ${folder}: ${adviceFor(error)}`, { cause: error })
  } finally {
    await rm(trial, { force: true }).catch(() => {})
  }
  return realpath(folder)
}

/** With those above it. Not by Node's own `recursive`, which never ends where nothing can be made, as in /proc. */
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
    ENOSPC: 'the disk is full; make room',
    EDQUOT: 'the quota is used up; make room',
    EROFS: 'the file system is read-only; mount it for writing or choose another folder',
    EACCES: 'this user may not; change the owner or the mode of the folder',
    EPERM: 'this user may not; change the owner or the mode of the folder',
    ENOTDIR: 'a part of the path is a file',
    EEXIST: 'a part of the path is a file',
  }
  return advice[(error as NodeJS.ErrnoException).code ?? ''] ?? describeError(error)
}

/** What crashes left half done. Nobody is at it any more after so long. */
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
