/** The `sector` mode of file.ts: one file a cell, overwritten in place. */
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
/** A reader may see half of a write; a little later it sees the whole. */
const READ_TRIES = 8
const READ_AGAIN_MS = 2
const NAME = /^([bk][\w=-]+)\.sector$/

/** `version checksum body`, filled up with spaces. */
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

/** The checksum tells it from another write under the same number, by a process that the lock does not reach. */
function versionOf(version: number, body: string): Version {
  return `${version} ${digest(version, body)}`
}

/** Null where it is torn or damaged. */
function decode(text: string): { readonly version: number; readonly body: string } | null {
  const [number, sum, ...rest] = text.trimEnd().split(' ')
  const version = Number(number)
  const body = rest.join(' ')
  return digest(version, body) === sum ? { version, body } : null
}

export function openSectorStore(folder: string, facts: StoreFacts): CellStore {
  const locks = new Map<string, Server>()
  /** A write that was given up may still be on its way to the disk: the next one waits for it. */
  const last = new Map<string, Promise<unknown>>()
  const fileOf = (name: string): string => join(folder, `${name}.sector`)

  async function readCell(name: string): Promise<Cell | null> {
    for (let tries = 0; ; tries++) {
      // oxlint-disable-next-line no-await-in-loop -- again only when it was torn
      const text = await readFile(fileOf(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null
        throw error
      })
      if (text === null) return null
      const decoded = decode(text)
      if (decoded !== null)
        return { name, version: versionOf(decoded.version, decoded.body), body: decoded.body }
      // Damaged for good: whoever reads the block is told by its own checksum.
      if (tries === READ_TRIES) return { name, version: 'damaged', body: `damaged ${text}` }
      // oxlint-disable-next-line no-await-in-loop -- again only when it was torn
      await sleep(READ_AGAIN_MS)
    }
  }

  /** Only blocks need it: where one process asks for an answer of another, both write. */
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
      const mine = before.then(
        () => overwrite(name, body, expected, signal),
        () => overwrite(name, body, expected, signal),
      )
      last.set(name, mine)
      return mine
    },

    async remove(name) {
      await rm(fileOf(name), { force: true })
      // The last takes the folder with it.
      await rmdir(folder).catch(() => {})
    },

    release(name) {
      const unlock = async (): Promise<void> => {
        const mine = last.get(name)
        await Promise.allSettled([mine])
        // A write that began meanwhile needs the lock, and is followed by a release of its own.
        if (last.get(name) !== mine) return
        const server = locks.get(name)
        locks.delete(name)
        server?.close()
      }
      void unlock()
    },

    async close() {
      // The lock covers what is still on its way.
      await Promise.allSettled(last.values())
      await Promise.all(
        Array.from(locks.values(), (server) => new Promise((resolve) => server.close(resolve))),
      )
      locks.clear()
    },
  }
}

/** A name that one process at a time can have, and that the system takes back when the process is gone. */
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
