/**
 * A lock on a folder: one process at a time.
 *
 * A process that wants the lock creates a Unix socket with a random name in the folder. Then it queries all other
 * sockets in the folder. A Unix socket is reachable from everywhere on the host, across network and process namespaces.
 * The kernel closes it when its process ends for any reason. Then it refuses connections, and its file can be removed
 * safely, because its name is never used again.
 *
 * A process that answers that it holds the lock holds it. Two processes that want the lock at the same time may see
 * each other: the process with the larger name gives up, and the other waits for that. Both create their sockets before
 * they look, so they cannot miss each other (Lamport's bakery algorithm).
 */
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, rmSync, type Stats, statSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Another process uses the folder. */
export class StorageInUseError extends Error {
  override readonly name = 'StorageInUseError'
  readonly code = 'ERR_CONCLAVE_STORAGE_IN_USE'

  constructor(folder: string) {
    super(`${folder} is used by another process: give each process a data directory of its own (--data)`)
  }
}

/** The folder cannot be locked. */
export class StorageLockError extends Error {
  override readonly name = 'StorageLockError'
  readonly code = 'ERR_CONCLAVE_STORAGE_LOCK'

  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `${folder} cannot be locked: its file system does not support Unix sockets (${why}); ` +
        'put the data directory on a local file system (--data)',
      { cause },
    )
  }
}

export type FolderLock = {
  /** Null while the lock is held; otherwise why it was lost. */
  whyLost(): string | null
  close(): void
}

/** `unsure`: the socket closed during the query, or is about to. */
type Answer = 'held' | 'wanted' | 'gone' | 'unsure'

const PREFIX = 'lock.'
const ASK_AGAIN_MS = 5
/** A process that does not answer within this time counts as the holder: it may be stopped by a signal. */
const PATIENCE_MS = 1000

export async function lockFolder(folder: string): Promise<FolderLock> {
  const name = PREFIX + randomBytes(8).toString('hex')
  // The path of a socket must be short: on Linux, the folder can be named by its descriptor.
  const descriptor = process.platform === 'linux' ? openSync(folder, 'r') : null
  const pathOf = (entry: string): string =>
    descriptor === null ? join(folder, entry) : `/proc/self/fd/${descriptor}/${entry}`
  const identity = identityOf(statSync(folder))
  let state: Answer = 'wanted'
  const server = await listening(pathOf(name), (socket) => socket.end(state)).catch((error: unknown) => {
    if (descriptor !== null) closeSync(descriptor)
    throw new StorageLockError(folder, error)
  })
  const close = (): void => {
    server.close()
    rmSync(join(folder, name), { force: true })
    if (descriptor !== null) closeSync(descriptor)
  }
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until the others have made up their minds
      const rivals = await rivalsIn(folder, name, pathOf)
      const isTaken = rivals.some(
        ({ answer, entry }) => answer === 'held' || (answer === 'wanted' && entry < name),
      )
      if (isTaken) throw new StorageInUseError(folder)
      if (rivals.length === 0) {
        // Another process queried this socket just before it could answer, and removed it as dead. Start again with a
        // new name.
        if (existsSync(join(folder, name))) break
        close()
        return lockFolder(folder)
      }
      // oxlint-disable-next-line no-await-in-loop -- until the others have made up their minds
      await sleep(ASK_AGAIN_MS)
    }
  } catch (error) {
    close()
    throw error
  }
  state = 'held'
  return {
    whyLost: () => (existsSync(join(folder, name)) ? null : whyLost(folder, identity)),
    close,
  }
}

/** A folder whose holder answers is never taken, even if its socket file was removed. */
function whyLost(folder: string, identity: string): string {
  const now = statSync(folder, { throwIfNoEntry: false })
  if (now === undefined) return 'the folder was removed while this process used it'
  if (identityOf(now) !== identity) return 'the folder was replaced by another one'
  return 'its lock file was removed, so another process may have locked the folder'
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev} ${ino}`
}

/** All other processes that want or hold the lock. Removes the sockets of dead processes. */
async function rivalsIn(
  folder: string,
  own: string,
  pathOf: (entry: string) => string,
): Promise<readonly { readonly entry: string; readonly answer: Answer }[]> {
  // Only a socket is a lock. Links and other files of such a name are not removed.
  const entries = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isSocket() && entry.name.startsWith(PREFIX) && entry.name !== own)
    .map(({ name }) => name)
  const asked = await Promise.all(
    entries.map(async (entry) => {
      const answer = await ask(pathOf(entry))
      if (answer === 'gone') rmSync(join(folder, entry), { force: true })
      return { entry, answer }
    }),
  )
  return asked.filter(({ answer }) => answer !== 'gone')
}

function ask(path: string): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect(path)
    let text = ''
    const done = (answer: Answer): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(PATIENCE_MS, () => done('held'))
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
    })
    socket.on('end', () => done(text === 'held' || text === 'wanted' ? text : 'unsure'))
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' || code === 'ENOENT') done('gone')
      else done(code === 'ECONNRESET' || code === 'EPIPE' ? 'unsure' : 'held')
    })
  })
}

function listening(path: string, serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      server.on('error', () => {})
      server.unref()
      resolve(server)
    })
  })
}
