/**
 * Stable data in a folder of its own: one small file, replaced as a whole.
 *
 * What is saved is on the disk when `save` returns: it is written beside the file, flushed, renamed over it, and the
 * folder is flushed too. A checksum tells a damaged file from a good one. One process at a time may use a folder
 * (lock.ts), and one that finds that it has lost it writes no more.
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

/** The file is there, but it is not what was written. */
export class DamagedStorageError extends Error {
  override readonly name = 'DamagedStorageError'
  readonly code = 'ERR_CONCLAVE_DAMAGED_STORAGE'

  constructor(file: string, problem: string) {
    super(
      `${file} is damaged (${problem}). What this process has promised is lost with it, so it must not take part under ` +
        'this id again: start it with another id and an empty data directory, and replace the old one in the group',
    )
  }
}

/** The data could not be made safe; nothing that depends on it may happen. */
export class StorageFailedError extends Error {
  override readonly name = 'StorageFailedError'
  readonly code = 'ERR_CONCLAVE_STORAGE_FAILED'

  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`could not write to ${folder}: ${why}`, { cause })
  }
}

/** The data directory cannot be made, or this process may not write to it. */
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
  return `cannot be a folder (${why}): name one that this process may make or write to`
}

function whyUnwritable(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EROFS') return 'is not writable: its file system is read-only; name another folder'
  const user = process.getuid?.()
  const who = user === undefined ? '' : ` by user ${user}`
  return `is not writable${who} (${message}): change its owner or its mode, or name another folder`
}

/** What the system says where the rights are missing. */
const DENIED: readonly (string | undefined)[] = ['EACCES', 'EPERM', 'EROFS']

export type Storage = {
  load(): Plain
  save(data: Plain): void
  close(): void
}

const FILE = 'stable.json'
const VERSION = 1

/** Makes the folder and those above it. (Node's own way of doing so never ends where the kernel lets nobody.) */
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

/** Takes the folder for this process, which must be able to write to it. */
async function takeFolder(folder: string): Promise<FolderLock> {
  makeFolder(folder)
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return await lockFolder(folder)
  } catch (error) {
    // Some file systems refuse what they said they would allow.
    const cause = error instanceof StorageLockError ? error.cause : error
    if (DENIED.includes((cause as NodeJS.ErrnoException).code))
      throw new UnusableFolderError(folder, cause, 'unwritable')
    throw error
  }
}

export async function openStorage(given: string): Promise<Storage> {
  const folder = resolve(given)
  const lock = await takeFolder(folder)
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

/** Nothing survives: for tests and for those who cannot lose a vote because they have none. */
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

/** For a process without a folder: its incarnations grow with the time of day, so that what was sent to one before it is not for it. */
export function passingStorage(): Storage {
  return memoryStorage({ layer: Date.now(), upper: null })
}

/** Something worth remembering beside the stable data; null if there is nothing, or nothing readable. */
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

/** Null when there is no such file. Who can write to the folder must not lead this process elsewhere, or make it wait. */
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
  // What is there was left by a crash, or put there to lead this process elsewhere: it is never written through.
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
