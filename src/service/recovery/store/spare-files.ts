/**
 * Files of dropped columns, kept to be written over, as PostgreSQL recycles the segments of its log. Writing and syncing
 * blocks that a file has already takes half the time of new blocks (ext4; `npm run bench -- recovery` prints both). A job
 * drops a checkpoint for each new one. Spare files stay within `maxBytes`, until the disk is full or the store is closed.
 *
 * A spare file is not a column any more: it has the hidden name of an unfinished one, and is removed like it at the next
 * start. The folder is synced before a spare file is used: otherwise a crash of the host could bring its former name back,
 * in front of the bytes of another column.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** For smaller files, the calls cost more than the blocks. */
const LEAST_BYTES = 1024 * 1024
const MOST_FILES = 8

const NOTHING_CLEARED = Promise.resolve(false)

type SpareFile = { readonly path: string; readonly bytes: number }

export type OpenedSpare = SpareFile & { readonly file: FileHandle }

export class SpareFiles {
  readonly #folder: string
  readonly #maxBytes: number
  #files: SpareFile[] = []
  /** Also of files that are being added. */
  #count = 0
  #bytes = 0
  /** Resolves to whether the calls of `clear` that are running find any file. */
  #clearing: Promise<boolean> = NOTHING_CLEARED

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
  }

  /**
   * Takes the file away from its name: keeps it, or removes it. Meanwhile no other file may get this name. A file that is
   * still being read must not be written over: `isUnused` is asked before the name is gone, and after.
   */
  async add(path: string, isUnused: () => boolean): Promise<void> {
    const spare = await this.#reserve(path)
    if (spare === null || !isUnused()) {
      if (spare !== null) this.#forget(spare)
      await rm(path, { force: true })
      return
    }
    try {
      await rename(path, spare.path)
    } catch {
      this.#forget(spare)
      await rm(path, { force: true })
      return
    }
    try {
      await syncFolder(this.#folder)
      if (!isUnused()) throw new Error('the file is being read')
      this.#files.push(spare)
    } catch {
      this.#forget(spare)
      await rm(spare.path, { force: true })
    }
  }

  /**
   * A file for a column of this size: the file that was added last, because its pages are the most likely to be in memory.
   * Null if there is none.
   */
  async take(size: number): Promise<OpenedSpare | null> {
    if (size < LEAST_BYTES) return null
    const spare = this.#files.pop()
    if (spare === undefined) return null
    this.#forget(spare)
    const file = await openSpare(spare.path)
    if (file !== null) return { ...spare, file }
    await rm(spare.path, { force: true }).catch(() => {})
    return this.take(size)
  }

  /** Returns the space to the file system. Resolves to whether there was any, also if another call returns it. */
  async clear(): Promise<boolean> {
    const clearing = Promise.all([this.#clearing, this.#removeAll()]).then((found) => found.includes(true))
    this.#clearing = clearing
    const hasFreed = await clearing
    if (this.#clearing === clearing) this.#clearing = NOTHING_CLEARED
    return hasFreed
  }

  async #removeAll(): Promise<boolean> {
    const files = this.#files
    this.#files = []
    for (const spare of files) this.#forget(spare)
    await Promise.all(files.map(({ path }) => rm(path, { force: true }).catch(() => {})))
    return files.length > 0
  }

  /** Null if the file is not to be kept. */
  async #reserve(path: string): Promise<SpareFile | null> {
    const stats = await lstat(path).catch(() => null)
    // A file with a second name may be a copy that an operator made.
    if (stats?.isFile() !== true || stats.nlink > 1 || stats.size < LEAST_BYTES) return null
    if (this.#count === MOST_FILES || this.#bytes + stats.size > this.#maxBytes) return null
    this.#count += 1
    this.#bytes += stats.size
    return { path: join(this.#folder, hiddenName()), bytes: stats.size }
  }

  #forget({ bytes }: SpareFile): void {
    this.#count -= 1
    this.#bytes -= bytes
  }
}

/** Null if the file cannot be opened, or got a second name meanwhile. */
async function openSpare(path: string): Promise<FileHandle | null> {
  const file = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW).catch(() => null)
  if (file === null || (await file.stat()).nlink === 1) return file
  await file.close()
  return null
}

/** The name of a file that is not a column: no job's encoded name begins with a dot. */
export function hiddenName(): string {
  return `.${randomBytes(12).toString('hex')}.new`
}

export function isHiddenName(name: string): boolean {
  return name.startsWith('.') && name.endsWith('.new')
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
