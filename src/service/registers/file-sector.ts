/** The `sector` mode of file.ts: one file per cell, overwritten in place. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isBlockName } from './block.ts'
import { CellLockedError } from './errors.ts'
import { createAtomically } from './file-flush.ts'
import type { Cell, CellStore, StoreFacts, Version } from './store.ts'

const SECTOR = 512
/** A reader can see a torn write, so it retries. */
const READ_TRIES = 8
const RETRY_MS = 2
const NAME = /^([bk][\w=-]+)\.sector$/

/** `version checksum body`, padded with spaces. */
function encode(version: number, body: string): Buffer {
  const sector = Buffer.alloc(SECTOR, ' ')
  const size = sector.write(`${version} ${digest(version, body)} ${body}`)
  if (size === SECTOR)
    throw new Error(`a block of ${Buffer.byteLength(body)} bytes does not fit into a sector`)
  return sector
}

function digest(version: number, body: string): string {
  return createHash('sha256').update(`${version} ${body}`).digest('hex').slice(0, 8)
}

/** The checksum distinguishes writes with the same number by processes that do not share the lock. */
function versionOf(version: number, body: string): Version {
  return `${version} ${digest(version, body)}`
}

/** Null if the sector is torn or damaged. */
function decode(text: string): { readonly version: number; readonly body: string } | null {
  const [number, sum, ...rest] = text.trimEnd().split(' ')
  const version = Number(number)
  const body = rest.join(' ')
  return digest(version, body) === sum ? { version, body } : null
}

export function openSectorStore(folder: string, facts: StoreFacts): CellStore {
  const locks = new Map<string, Server>()
  /** A write that timed out may still reach the disk, so the next one waits for it. */
  const last = new Map<string, Promise<unknown>>()
  const fileOf = (name: string): string => join(folder, `${name}.sector`)

  async function readCell(name: string): Promise<Cell | null> {
    for (let tries = 0; ; tries++) {
      // oxlint-disable-next-line no-await-in-loop -- again only if it was torn
      const text = await readFile(fileOf(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null
        throw error
      })
      if (text === null) return null
      const decoded = decode(text)
      if (decoded !== null)
        return { name, version: versionOf(decoded.version, decoded.body), body: decoded.body }
      // Permanently damaged: the checksum of the block reports it to the reader.
      if (tries === READ_TRIES) return { name, version: 'damaged', body: `damaged ${text}` }
      // oxlint-disable-next-line no-await-in-loop -- again only if it was torn
      await sleep(RETRY_MS)
    }
  }

  /** Only blocks are locked. Probe cells are written by both sides. */
  async function lock(name: string): Promise<void> {
    if (isBlockName(name) && !locks.has(name)) locks.set(name, await lockName(join(folder, name)))
  }

  async function overwrite(
    name: string,
    body: string,
    expected: Version | null,
    signal: AbortSignal,
  ): Promise<Version | null> {
    signal.throwIfAborted()
    await lock(name)
    const present = await readCell(name)
    if ((present?.version ?? null) !== expected) return null
    signal.throwIfAborted()
    if (expected === null)
      return (await createAtomically(fileOf(name), encode(1, body), async () => true))
        ? versionOf(1, body)
        : null
    const next = Number.parseInt(expected, 10) + 1
    const file = await open(fileOf(name), constants.O_WRONLY | constants.O_DSYNC)
    try {
      await file.write(encode(next, body), 0, SECTOR, 0)
    } finally {
      await file.close()
    }
    return versionOf(next, body)
  }

  return {
    facts,
    async read() {
      const names = (await readdir(folder)).flatMap((file) => NAME.exec(file)?.[1] ?? [])
      const cells = await Promise.all(names.map(readCell))
      return cells.filter((cell) => cell !== null)
    },

    write(name, body, expected, signal) {
      const before = last.get(name) ?? Promise.resolve()
      const pending = before.then(
        () => overwrite(name, body, expected, signal),
        () => overwrite(name, body, expected, signal),
      )
      last.set(name, pending)
      return pending
    },

    async remove(name) {
      await rm(fileOf(name), { force: true })
      // Removes the folder with the last cell.
      await rmdir(folder).catch(() => {})
    },

    release(name) {
      const unlock = async (): Promise<void> => {
        const pending = last.get(name)
        await Promise.allSettled([pending])
        // A write that started meanwhile needs the lock; its own release follows.
        if (last.get(name) !== pending) return
        const server = locks.get(name)
        locks.delete(name)
        server?.close()
      }
      void unlock()
    },

    async close() {
      // The lock must cover pending writes.
      await Promise.allSettled(last.values())
      await Promise.all(
        Array.from(locks.values(), (server) => new Promise((resolve) => server.close(resolve))),
      )
      locks.clear()
    },
  }
}

/** A lock that one process at a time can hold, and that the kernel releases when the process exits. */
function lockName(path: string): Promise<Server> {
  const name = createHash('sha256').update(path).digest('hex').slice(0, 32)
  const address = process.platform === 'linux' ? `\0conclave-sector-${name}` : `${path}.lock`
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? new CellLockedError(`${path} is locked`) : error)
    })
    server.listen(address, () => {
      server.unref()
      resolve(server)
    })
  })
}
