/**
 * Columns in a folder of the node's own disk, one file each. A column is written to a hidden file, synced, and renamed;
 * then the folder is synced. So a file with the name of a column is complete, whenever the power fails. One process at a
 * time uses a folder. The hidden file may be that of a dropped column (spare-files.ts).
 */
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
import { NamedQueue } from './named-queue.ts'
import { hiddenName, isHiddenName, SpareFiles, syncFolder } from './spare-files.ts'

/** The calls that can fail half-way. Tests inject faults here. */
export type DiskCalls = {
  write(file: FileHandle, chunks: readonly Uint8Array[]): Promise<number>
  sync(file: FileHandle): Promise<void>
}

export type DiskStoreOptions = {
  readonly folder: string
  /** Files of dropped columns that are kept for the next columns, in bytes. With 0 they are deleted. Default: 1 GiB. */
  readonly maxSpareBytes?: number
  readonly calls?: DiskCalls
}

export const REAL_CALLS: DiskCalls = {
  write: async (file, chunks) => (await file.writev(chunks as Uint8Array[])).bytesWritten,
  sync: (file) => file.datasync(),
}

const DEFAULT_MAX_SPARE_BYTES = 1024 ** 3
const READ_BYTES = 256 * 1024
/** Written bytes after which the disk starts to write them, while further ones arrive. */
const FLUSH_BYTES = 6 * 1024 * 1024
const FULL: readonly (string | undefined)[] = ['ENOSPC', 'EDQUOT', 'EFBIG']

export async function openDiskStore({
  folder,
  maxSpareBytes = DEFAULT_MAX_SPARE_BYTES,
  calls = REAL_CALLS,
}: DiskStoreOptions): Promise<ColumnStore> {
  const path = resolve(folder)
  makeFolder(path)
  const lock = await lockFolder(path)
  try {
    const entries = await readdir(path)
    await Promise.all(entries.filter(isHiddenName).map((name) => rm(join(path, name), { force: true })))
  } catch (error) {
    lock.close()
    throw new ColumnStoreFailedError('remove unfinished columns', path, error)
  }
  return new DiskStore(path, lock, calls, maxSpareBytes)
}

class DiskStore implements ColumnStore {
  readonly place: string
  readonly #lock: FolderLock
  readonly #calls: DiskCalls
  readonly #writers = new Set<DiskWriter>()
  /** How often each file is open for reading. */
  readonly #readers = new Map<string, number>()
  readonly #spares: SpareFiles
  /** A column gets its name, or loses it, in one go: otherwise a drop could take away the next column of the same name. */
  readonly #renames = new NamedQueue()
  #isClosed = false

  constructor(place: string, lock: FolderLock, calls: DiskCalls, maxSpareBytes: number) {
    this.place = place
    this.#lock = lock
    this.#calls = calls
    this.#spares = new SpareFiles(place, maxSpareBytes)
  }

  async create(key: ColumnKey, signal?: AbortSignal, size = 0): Promise<ColumnWriter> {
    const target = join(this.place, columnName(key))
    signal?.throwIfAborted()
    this.#assertUsable('store a column')
    let hidden: HiddenFile
    try {
      hidden = (await this.#spares.take(size)) ?? (await createHidden(this.place))
    } catch (error) {
      throw wrapFailure(key, this.place, error)
    }
    const writer = new DiskWriter({
      key,
      hidden,
      folder: this.place,
      calls: this.#calls,
      publish: (hiddenPath) =>
        this.#renames.run(target, async () => {
          this.#assertUsable('store a column')
          await rename(hiddenPath, target)
          await syncFolder(this.place)
        }),
      freeSpace: () => this.#spares.clear(),
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
    const stopReading = this.#startReading(path)
    try {
      const { file, bytes } = await this.#openFile(key, path)
      const close = async (): Promise<void> => {
        await closeOnce(file)
        stopReading()
      }
      return { bytes, chunks: nameFailures(readChunks(file, signal), key, this.place), close }
    } catch (error) {
      stopReading()
      throw error
    }
  }

  async #openFile(
    key: ColumnKey,
    path: string,
  ): Promise<{ readonly file: FileHandle; readonly bytes: number }> {
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
    return { file, bytes: stats.size }
  }

  /** Until the returned function is called, a dropped file is not written over. */
  #startReading(path: string): () => void {
    this.#readers.set(path, (this.#readers.get(path) ?? 0) + 1)
    let isReading = true
    return () => {
      if (!isReading) return
      isReading = false
      const left = (this.#readers.get(path) ?? 0) - 1
      if (left > 0) this.#readers.set(path, left)
      else this.#readers.delete(path)
    }
  }

  async drop(key: ColumnKey): Promise<void> {
    const path = join(this.place, columnName(key))
    this.#assertUsable('drop a column')
    try {
      await this.#renames.run(path, () => this.#spares.add(path, () => !this.#readers.has(path)))
    } catch (error) {
      throw new ColumnStoreFailedError(`drop ${describeColumn(key)}`, this.place, error)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#writers].map((writer) => writer.abort()))
    await this.#renames.drain()
    await this.#spares.clear()
    this.#lock.close()
  }

  #assertUsable(action: string): void {
    const why = this.#isClosed ? 'the store has been closed' : this.#lock.whyLost()
    if (why !== null) throw new ColumnStoreFailedError(action, this.place, why)
  }
}

/** A file that is not a column yet. */
type HiddenFile = {
  readonly path: string
  readonly file: FileHandle
  /** Its length before anything is written. */
  readonly bytes: number
}

async function createHidden(folder: string): Promise<HiddenFile> {
  const path = join(folder, hiddenName())
  return { path, file: await open(path, 'wx', 0o600), bytes: 0 }
}

type WriterParts = {
  readonly key: ColumnKey
  readonly hidden: HiddenFile
  readonly folder: string
  readonly calls: DiskCalls
  readonly signal?: AbortSignal
  /** Gives the file the name of the column, durably. */
  publish(hiddenPath: string): Promise<void>
  /** Resolves to whether there is more space than before. */
  freeSpace(): Promise<boolean>
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
    return this.#attempt(async ({ freeSpace }) => {
      let { rest, error } = await this.#writeSome(chunks)
      // Spare files must not be the reason for a full disk.
      if (error !== null && isFull(error) && (await freeSpace()))
        ({ rest, error } = await this.#writeSome(rest))
      if (error !== null) throw error
    })
  }

  async finish(): Promise<number> {
    await this.#attempt(async ({ hidden, calls, publish }) => {
      await this.#flushing
      // The kernel may report a failed write to one sync only.
      if (this.#flushError !== null) throw this.#flushError
      if (hidden.bytes > this.#bytes) await hidden.file.truncate(this.#bytes)
      await calls.sync(hidden.file)
      await publish(hidden.path)
    })
    await this.#end(false)
    return this.#bytes
  }

  async abort(): Promise<void> {
    await this.#end(true)
  }

  /** Resolves to what was not written, and why. */
  async #writeSome(
    chunks: readonly Uint8Array[],
  ): Promise<{ readonly rest: readonly Uint8Array[]; readonly error: unknown }> {
    const { hidden, calls } = this.#parts
    const size = chunks.reduce((sum, { length }) => sum + length, 0)
    try {
      const written = await calls.write(hidden.file, chunks)
      this.#bytes += written
      this.#flushEarly()
      if (written === size) return { rest: [], error: null }
      // A disk that fills up in the middle of a call accepts a part of it.
      const problem = `only ${written} of ${size} bytes were written`
      return {
        rest: skipBytes(chunks, written),
        error: Object.assign(new Error(problem), { code: 'ENOSPC' }),
      }
    } catch (error) {
      return { rest: chunks, error }
    }
  }

  /** Lets the disk work while further bytes arrive. An error is thrown by `finish`. */
  #flushEarly(): void {
    const { hidden, calls } = this.#parts
    if (this.#isFlushing || this.#bytes - this.#flushedBytes < FLUSH_BYTES) return
    this.#isFlushing = true
    this.#flushedBytes = this.#bytes
    this.#flushing = calls
      .sync(hidden.file)
      .catch((error: unknown) => {
        this.#flushError ??= error
      })
      .finally(() => {
        this.#isFlushing = false
      })
  }

  async #attempt(work: (parts: WriterParts) => Promise<void>): Promise<void> {
    const { key, folder, signal, freeSpace } = this.#parts
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
      // The next try finds more space.
      if (isFull(error)) await freeSpace()
      throw signal?.aborted === true ? signal.reason : wrapFailure(key, folder, error)
    }
  }

  #end(isGivenUp: boolean): Promise<void> {
    this.#ended ??= (async (): Promise<void> => {
      const { hidden, onEnd } = this.#parts
      await this.#busy
      await this.#flushing
      await closeOnce(hidden.file)
      if (isGivenUp) await rm(hidden.path, { force: true }).catch(() => {})
      onEnd()
    })()
    return this.#ended
  }
}

function skipBytes(chunks: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let skipped = count
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(skipped)
    skipped -= chunk.length - rest.length
    return rest.length > 0 ? [rest] : []
  })
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
  return isFull(error)
    ? new ColumnStoreFullError(describeColumn(key), place, error)
    : new ColumnStoreFailedError(`write ${describeColumn(key)}`, place, error)
}

function isFull(error: unknown): boolean {
  return FULL.includes((error as NodeJS.ErrnoException).code)
}
