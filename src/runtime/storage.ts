/**
 * Stable data in a folder of its own: one small file, replaced as a whole.
 *
 * What is saved is on the disk when `save` returns: it is written beside the file, flushed, renamed over it, and the
 * folder is flushed too. A checksum tells a damaged file from a good one. One process at a time may use a folder.
 */
import { createHash } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { canonical, type Plain, whyNotPlain } from '../core/index.ts'

/** The file is there, but it is not what was written. */
export class DamagedStorage extends Error {
  override readonly name = 'DamagedStorage'

  constructor(file: string, problem: string) {
    super(
      `${file} is damaged (${problem}). What this process has promised is lost with it, so it must not take part under ` +
        'this id again: start it with another id and an empty data folder, and replace the old one in the group',
    )
  }
}

/** Another process uses the folder. */
export class StorageInUse extends Error {
  override readonly name = 'StorageInUse'

  constructor(folder: string) {
    super(`${folder} is used by another process: give each process a data folder of its own (--data)`)
  }
}

/** The data could not be made safe; nothing that depends on it may happen. */
export class StorageFailed extends Error {
  override readonly name = 'StorageFailed'

  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`could not write to ${folder}: ${why}`, { cause })
  }
}

export type Storage = {
  load(): Plain
  save(data: Plain): void
  close(): void
}

const FILE = 'stable.json'
const BESIDE = 'stable.json.new'
const VERSION = 1

export async function openStorage(folder: string): Promise<Storage> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = await lockFolder(folder)
  const file = join(folder, FILE)
  return {
    load: () => read(file),
    save(data) {
      try {
        replace(folder, file, text(data))
      } catch (error) {
        throw new StorageFailed(folder, error)
      }
    },
    close() {
      lock.close()
    },
  }
}

/** Nothing survives: for tests and for those who cannot lose a vote because they have none. */
export function memoryStorage(): Storage {
  let kept: Plain = null
  return {
    load: () => kept,
    save(data) {
      kept = data
    },
    close() {},
  }
}

function text(data: Plain): string {
  const body = canonical(data)
  return `{"version":${VERSION},"sha256":"${digest(body)}","data":${body}}\n`
}

function digest(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}

function read(file: string): Plain {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(content)
  } catch {
    throw new DamagedStorage(file, 'it is not JSON')
  }
  const { version, sha256, data } = (parsed ?? {}) as { version?: unknown; sha256?: unknown; data?: unknown }
  if (version !== VERSION) throw new DamagedStorage(file, `its version is ${String(version)}, not ${VERSION}`)
  const fault = whyNotPlain(data)
  if (fault !== null) throw new DamagedStorage(file, fault)
  if (digest(canonical(data as Plain)) !== sha256)
    throw new DamagedStorage(file, 'its checksum does not match')
  return data as Plain
}

function replace(folder: string, file: string, content: string): void {
  const beside = join(folder, BESIDE)
  const descriptor = openSync(beside, 'w', 0o600)
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

/** A name that only one process can have, and that the system takes back when the process is gone, however it went. */
function lockFolder(folder: string): Promise<Server> {
  const name = createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 32)
  // Linux has names for sockets outside of any folder; elsewhere the socket stands in the folder itself.
  const path = process.platform === 'linux' ? `\0conclave-${name}` : join(folder, 'lock')
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new StorageInUse(folder) : error)
    })
    server.listen(path, () => {
      server.unref()
      resolve(server)
    })
  })
}
