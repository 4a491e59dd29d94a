/**
 * Columns in a folder of the node's own disk, one file each. A column is written to a hidden file, synced, and renamed;
 * then the folder is synced. So a file with the name of a column is complete, whenever the power fails. One process at a
 * time uses a folder.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type FolderLock, lockFolder, makeFolder } from '../../runtime/index.ts'
import { type ColumnKey, columnName, describeColumn, parseColumnName } from './column-key.ts'
import type { ColumnStore, ColumnWriter, RawColumn, StoredColumn } from './column-store.ts'
import {
  ColumnMissingError,
  ColumnStoreFailedError,
  ColumnStoreFullError,
  CorruptColumnError,
} from './errors.ts'

/** The calls that can fail half-way. Tests inject faults here. */
export type DiskCalls = {
  write(file: FileHandle, chunks: readonly Uint8Array[]): Promise<number>
  sync(file: FileHandle): Promise<void>
}

export type DiskStoreOptions = { readonly folder: string; readonly calls?: DiskCalls }

const REAL_CALLS: DiskCalls = {
  write: async (file, chunks) => (await file.writev(chunks as Uint8Array[])).bytesWritten,
  sync: (file) => file.datasync(),
}

/** Hidden files: no job's encoded name begins with a dot. */
const isUnfinished = (name: string): boolean => name.startsWith('.') && name.endsWith('.new')
const READ_BYTES = 256 * 1024
/** Written bytes after which the disk starts to write them, while further ones arrive. */
const FLUSH_BYTES = 6 * 1024 * 1024
const FULL: readonly (string | undefined)[] = ['ENOSPC', 'EDQUOT', 'EFBIG']

export async function openDiskStore({ folder, calls = REAL_CALLS }: DiskStoreOptions): Promise<ColumnStore> {
  const path = resolve(folder)
  makeFolder(path)
  const lock = await lockFolder(path)
  try {
    const entries = await readdir(path)
    await Promise.all(entries.filter(isUnfinished).map((name) => rm(join(path, name), { force: true })))
  } catch (error) {
    lock.close()
    throw new ColumnStoreFailedError('remove unfinished columns', path, error)
  }
  return new DiskStore(path, lock, calls)
}

class DiskStore implements ColumnStore {
  readonly place: string
  readonly #lock: FolderLock
  readonly #calls: DiskCalls
  readonly #writers = new Set<DiskWriter>()
  #isClosed = false

  constructor(place: string, lock: FolderLock, calls: DiskCalls) {
    this.place = place
    this.#lock = lock
    this.#calls = calls
  }

  async create(key: ColumnKey, signal?: AbortSignal): Promise<ColumnWriter> {
    const name = columnName(key)
    signal?.throwIfAborted()
    this.#assertUsable('store a column')
    const beside = join(this.place, `.${randomBytes(12).toString('hex')}.new`)
    let file: FileHandle
    try {
      file = await open(beside, 'wx', 0o600)
    } catch (error) {
      throw wrapFailure(key, this.place, error)
    }
    const writer = new DiskWriter({
      key,
      file,
      beside,
      folder: this.place,
      target: join(this.place, name),
      calls: this.#calls,
      assertUsable: () => this.#assertUsable('store a column'),
      onEnd: () => this.#writers.delete(writer),
      ...(signal === undefined ? {} : { signal }),
    })
    this.#writers.add(writer)
    return writer
  }

  async list(): Promise<readonly StoredColumn[]> {
    this.#assertUsable('list the columns')
    const found = await Promise.all(
      (await readdir(this.place)).map(async (name): Promise<StoredColumn | null> => {
        const key = parseColumnName(name)
        if (key === null) return null
        // A column may be dropped while the folder is listed.
        const stats = await stat(join(this.place, name)).catch(() => null)
        return stats?.isFile() === true ? { key, bytes: stats.size } : null
      }),
    )
    return found.filter((column) => column !== null)
  }

  async openRaw(key: ColumnKey, signal?: AbortSignal): Promise<RawColumn> {
    const path = join(this.place, columnName(key))
    signal?.throwIfAborted()
    this.#assertUsable('read a column')
    let file: FileHandle
    try {
      // A link or a pipe in place of a column must neither lead elsewhere nor block the process.
      file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') throw new ColumnMissingError(describeColumn(key), this.place)
      if (code === 'ELOOP')
        throw new CorruptColumnError(describeColumn(key), this.place, 'it is a symbolic link')
      throw new ColumnStoreFailedError(`read ${describeColumn(key)}`, this.place, error)
    }
    const stats = await file.stat().catch(() => null)
    if (stats?.isFile() !== true) {
      await file.close()
      throw new CorruptColumnError(describeColumn(key), this.place, 'it is not a regular file')
    }
    const read = readChunks(file, signal)
    return { bytes: stats.size, chunks: nameFailures(read, key, this.place), close: () => closeOnce(file) }
  }

  async drop(key: ColumnKey): Promise<void> {
    const path = join(this.place, columnName(key))
    this.#assertUsable('drop a column')
    try {
      await rm(path, { force: true })
    } catch (error) {
      throw new ColumnStoreFailedError(`drop ${describeColumn(key)}`, this.place, error)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#writers].map((writer) => writer.abort()))
    this.#lock.close()
  }

  #assertUsable(action: string): void {
    const why = this.#isClosed ? 'the store has been closed' : this.#lock.whyLost()
    if (why !== null) throw new ColumnStoreFailedError(action, this.place, why)
  }
}

type WriterParts = {
  readonly key: ColumnKey
  readonly file: FileHandle
  /** The unfinished file, and the name that it gets. */
  readonly beside: string
  readonly target: string
  readonly folder: string
  readonly calls: DiskCalls
  readonly signal?: AbortSignal
  assertUsable(): void
  onEnd(): void
}

class DiskWriter implements ColumnWriter {
  readonly #parts: WriterParts
  #bytes = 0
  #flushedBytes = 0
  #isFlushing = false
  #flushing: Promise<void> = Promise.resolve()
  #flushError: unknown = null
  #ended: Promise<void> | null = null
  /** The call in progress: the file is closed only after it. */
  #busy: Promise<unknown> = Promise.resolve()

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  write(chunks: readonly Uint8Array[]): Promise<void> {
    return this.#attempt(async ({ file, calls }) => {
      const size = chunks.reduce((sum, { length }) => sum + length, 0)
      const written = await calls.write(file, chunks)
      this.#bytes += written
      this.#flushEarly()
      // A disk that fills up in the middle of a call accepts a part of it.
      if (written < size)
        throw Object.assign(new Error(`only ${written} of ${size} bytes were written`), { code: 'ENOSPC' })
    })
  }

  async finish(): Promise<number> {
    await this.#attempt(async ({ file, calls, beside, target, folder, assertUsable }) => {
      await this.#flushing
      // The kernel may report a failed write to one sync only.
      if (this.#flushError !== null) throw this.#flushError
      await calls.sync(file)
      assertUsable()
      await rename(beside, target)
      await syncFolder(folder)
    })
    await this.#end(false)
    return this.#bytes
  }

  async abort(): Promise<void> {
    await this.#end(true)
  }

  /** Lets the disk work while further bytes arrive. An error is thrown by `finish`. */
  #flushEarly(): void {
    const { file, calls } = this.#parts
    if (this.#isFlushing || this.#bytes - this.#flushedBytes < FLUSH_BYTES) return
    this.#isFlushing = true
    this.#flushedBytes = this.#bytes
    this.#flushing = calls
      .sync(file)
      .catch((error: unknown) => {
        this.#flushError ??= error
      })
      .finally(() => {
        this.#isFlushing = false
      })
  }

  async #attempt(work: (parts: WriterParts) => Promise<void>): Promise<void> {
    const { key, folder, signal } = this.#parts
    const working = (async (): Promise<void> => {
      signal?.throwIfAborted()
      if (this.#ended !== null)
        throw new ColumnStoreFailedError(`write ${describeColumn(key)}`, folder, 'the write was given up')
      await work(this.#parts)
    })()
    this.#busy = working.catch(() => {})
    try {
      await working
    } catch (error) {
      await this.#end(true)
      throw signal?.aborted === true ? signal.reason : wrapFailure(key, folder, error)
    }
  }

  #end(isGivenUp: boolean): Promise<void> {
    this.#ended ??= (async (): Promise<void> => {
      const { file, beside, onEnd } = this.#parts
      await this.#busy
      await this.#flushing
      await closeOnce(file)
      if (isGivenUp) await rm(beside, { force: true }).catch(() => {})
      onEnd()
    })()
    return this.#ended
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* readChunks(file: FileHandle, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  while (true) {
    signal?.throwIfAborted()
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    // oxlint-disable-next-line no-await-in-loop -- the consumer sets the pace
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** A block that the disk cannot read is damage, as a flipped bit is. */
async function* nameFailures(
  chunks: AsyncIterable<Uint8Array>,
  key: ColumnKey,
  place: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error
    throw new CorruptColumnError(describeColumn(key), place, 'the disk cannot read it (EIO)')
  }
}

/** A closed handle has the descriptor -1. */
async function closeOnce(file: FileHandle): Promise<void> {
  if (file.fd !== -1) await file.close().catch(() => {})
}

function wrapFailure(key: ColumnKey, place: string, error: unknown): Error {
  if (error instanceof ColumnStoreFailedError) return error
  return FULL.includes((error as NodeJS.ErrnoException).code)
    ? new ColumnStoreFullError(describeColumn(key), place, error)
    : new ColumnStoreFailedError(`write ${describeColumn(key)}`, place, error)
}
