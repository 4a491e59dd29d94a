/**
 * Stable data in a folder: one small file, replaced atomically.
 *
 * Data is on disk when `save` returns: it is written to a temporary file, flushed, renamed over the file, and the
 * folder is flushed too. A checksum detects a damaged file. Only one process at a time may use a folder (lock.ts). A
 * process that has lost its lock stops writing.
 */
import { createHash } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { canonical, type Plain, whyNotPlain } from '../../core/index.ts'
import { type FolderLock, lockFolder, StorageLockError } from './lock.ts'

/** The file exists, but its content is not what was written. */
export class DamagedStorageError extends Error {
  override readonly name = 'DamagedStorageError'
  readonly code = 'ERR_CONCLAVE_DAMAGED_STORAGE'

  constructor(file: string, problem: string) {
    super(
      `${file} is damaged (${problem}). The promises of this process are lost, so it must not use ` +
        'this id again: start it with another id and an empty data directory, and replace the old one in the group',
    )
  }
}

/** The data could not be stored. Effects that depend on it must not happen. */
export class StorageFailedError extends Error {
  override readonly name = 'StorageFailedError'
  readonly code = 'ERR_CONCLAVE_STORAGE_FAILED'

  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`could not write to ${folder}: ${why}`, { cause })
  }
}

/** The data directory cannot be created, or this process may not write to it. */
export class UnusableFolderError extends Error {
  override readonly name = 'UnusableFolderError'
  readonly code = 'ERR_CONCLAVE_UNUSABLE_FOLDER'
  readonly field = 'data'

  constructor(folder: string, cause: unknown, is: 'missing' | 'unwritable' = 'missing') {
    super(`data: ${folder} ${is === 'missing' ? whyMissing(cause) : whyUnwritable(cause)}`, { cause })
  }
}

function whyMissing(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file is in its place' : message
  return `cannot be created (${why}): use a folder that this process may create or write to`
}

function whyUnwritable(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EROFS') return 'is not writable: its file system is read-only; use another folder'
  const user = process.getuid?.()
  const who = user === undefined ? '' : ` by user ${user}`
  return `is not writable${who} (${message}): change its owner or its mode, or use another folder`
}

/** Error codes of missing permissions. */
const DENIED: readonly (string | undefined)[] = ['EACCES', 'EPERM', 'EROFS']

export type Storage = {
  load(): Plain
  save(data: Plain): void
  close(): void
}

const FILE = 'stable.json'
const VERSION = 1

/** Creates the folder and its parents. (Node's recursive mkdir never returns where the kernel denies access.) */
export function makeFolder(folder: string): void {
  const path = resolve(folder)
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
    if (dirname(path) !== path) makeFolder(dirname(path))
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error instanceof UnusableFolderError) throw error
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && statSync(path).isDirectory()) return
    throw new UnusableFolderError(path, error)
  }
}

/** Locks the folder for this process, which must be able to write to it. */
async function openFolder(folder: string): Promise<FolderLock> {
  makeFolder(folder)
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return await lockFolder(folder)
  } catch (error) {
    // Some file systems deny an access that the check before allowed.
    const cause = error instanceof StorageLockError ? error.cause : error
    if (DENIED.includes((cause as NodeJS.ErrnoException).code))
      throw new UnusableFolderError(folder, cause, 'unwritable')
    throw error
  }
}

export async function openStorage(given: string): Promise<Storage> {
  const folder = resolve(given)
  const lock = await openFolder(folder)
  const file = join(folder, FILE)
  return {
    load: () => read(file),
    save(data) {
      try {
        assertHeld(lock)
        replace(folder, file, text(data))
      } catch (error) {
        throw new StorageFailedError(folder, error)
      }
    },
    close() {
      lock.close()
    },
  }
}

function assertHeld(lock: FolderLock): void {
  const why = lock.whyLost()
  if (why !== null) throw new Error(why)
}

/** Nothing survives a crash: for tests, and for nodes without a vote to lose. */
export function memoryStorage(first: Plain = null): Storage {
  let kept = first
  return {
    load: () => kept,
    save(data) {
      kept = data
    },
    close() {},
  }
}

/**
 * For a process without a folder. Its incarnations follow the wall clock, so that datagrams for an earlier incarnation
 * are not for this one.
 */
export function volatileStorage(): Storage {
  return memoryStorage({ layer: Date.now(), upper: null })
}

/** A small file beside the stable data; null if it is missing or unreadable. */
export function readNote(folder: string, name: string): Plain {
  try {
    return read(join(folder, name))
  } catch {
    return null
  }
}

export function writeNote(folder: string, name: string, data: Plain): void {
  replace(folder, join(folder, name), text(data))
}

function text(data: Plain): string {
  const body = canonical(data)
  return `{"version":${VERSION},"sha256":"${digest(body)}","data":${body}}\n`
}

function digest(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}

/**
 * Null when there is no such file. Other users with write access to the folder must not redirect this process, or block
 * it.
 */
function contentOf(file: string): string | null {
  let descriptor: number
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    if (code === 'ELOOP') throw new DamagedStorageError(file, 'it is a symbolic link')
    if (code === 'ENXIO') throw new DamagedStorageError(file, 'it is not a regular file')
    throw error
  }
  try {
    if (!fstatSync(descriptor).isFile()) throw new DamagedStorageError(file, 'it is not a regular file')
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

function read(file: string): Plain {
  const content = contentOf(file)
  if (content === null) return null
  let parsed: unknown
  try {
    parsed = JSON.parse(content)
  } catch {
    throw new DamagedStorageError(file, 'it is not JSON')
  }
  const { version, sha256, data } = (parsed ?? {}) as { version?: unknown; sha256?: unknown; data?: unknown }
  if (version !== VERSION)
    throw new DamagedStorageError(file, `its version is ${String(version)}, not ${VERSION}`)
  const fault = whyNotPlain(data)
  if (fault !== null) throw new DamagedStorageError(file, fault)
  if (digest(canonical(data as Plain)) !== sha256)
    throw new DamagedStorageError(file, 'its checksum does not match')
  return data as Plain
}

function replace(folder: string, file: string, content: string): void {
  const beside = `${file}.new`
  // The temporary file may be left from a crash, or planted to redirect this process: remove it, never write through
  // it.
  rmSync(beside, { force: true, recursive: true })
  const descriptor = openSync(beside, 'wx', 0o600)
  try {
    writeFileSync(descriptor, content)
    fsyncSync(descriptor)
  } catch (error) {
    closeSync(descriptor)
    rmSync(beside, { force: true })
    throw error
  }
  closeSync(descriptor)
  renameSync(beside, file)
  const directory = openSync(folder, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
