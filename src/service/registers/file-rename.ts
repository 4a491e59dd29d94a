/** The `rename` mode of file.ts: a file a version. */
import { access, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createAtomically } from './file-flush.ts'
import type { Cell, CellStore, StoreFacts } from './store.ts'

/** Older versions of a cell that are kept. They go oldest first: while one is there, no younger one has gone. */
const KEPT_VERSIONS = 8
const READ_TRIES = 50
const NAME = /^([bk][\w=-]+)\.(\d+)$/

type Versions = ReadonlyMap<string, readonly number[]>

/** The versions of each cell, ascending. */
async function listVersions(folder: string): Promise<Versions> {
  const found = new Map<string, number[]>()
  for (const file of await readdir(folder)) {
    const [, name, version] = NAME.exec(file) ?? []
    if (name !== undefined) found.set(name, [...(found.get(name) ?? []), Number(version)])
  }
  for (const versions of found.values()) versions.sort((a, b) => a - b)
  return found
}

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code

export function openRenameStore(folder: string, facts: StoreFacts): CellStore {
  const fileOf = (name: string, version: number): string => join(folder, `${name}.${version}`)

  async function exists(name: string, version: number): Promise<boolean> {
    return access(fileOf(name, version)).then(
      () => true,
      () => false,
    )
  }

  /**
   * The newest version of a cell of which `from` was seen, or null where it must be listed again. The next version is
   * not there, and afterwards `from` still is: since the older go first, no later one has been and gone.
   */
  async function newest(name: string, from: number): Promise<Cell | null> {
    let version = from
    // oxlint-disable-next-line no-await-in-loop -- until there is no next one
    while (await exists(name, version + 1)) version += 1
    try {
      const body = await readFile(fileOf(name, version), 'utf8')
      return (await exists(name, from)) ? { name, version: String(version), body } : null
    } catch (error) {
      if (isCode(error, 'ENOENT')) return null
      throw error
    }
  }

  return {
    facts,
    async read(signal) {
      for (let tries = 0; tries < READ_TRIES; tries++) {
        signal.throwIfAborted()
        // oxlint-disable-next-line no-await-in-loop -- again only when a writer was faster
        const versions = await listVersions(folder)
        // oxlint-disable-next-line no-await-in-loop -- again only when a writer was faster
        const cells = await Promise.all(Array.from(versions, ([name, all]) => newest(name, all.at(-1) ?? 0)))
        const complete = cells.filter((cell) => cell !== null)
        if (complete.length === cells.length) return complete
      }
      throw new Error(`${folder} changes faster than it can be read`)
    },

    async write(name, body, expected, signal) {
      const before = expected === null ? 0 : Number(expected)
      const next = before + 1
      const isMade = await createAtomically(fileOf(name, next), body, async () => {
        const highest = (await listVersions(folder)).get(name)?.at(-1) ?? 0
        signal.throwIfAborted()
        return highest === before
      })
      if (!isMade) return null
      const all = (await listVersions(folder)).get(name) ?? []
      // Was the name free because the version had come and gone? Not while so few have followed: it would still be kept.
      if ((all.at(-1) ?? 0) >= next + KEPT_VERSIONS)
        throw new Error(
          `${name} was overtaken while it was written: whether version ${next} counted is not known`,
        )
      for (const old of all.filter((version) => version <= next - KEPT_VERSIONS)) {
        // oxlint-disable-next-line no-await-in-loop -- the oldest first
        await rm(fileOf(name, old), { force: true })
      }
      return String(next)
    },

    async remove(name) {
      const all = (await listVersions(folder)).get(name) ?? []
      await Promise.all(all.map((version) => rm(fileOf(name, version), { force: true })))
      // The last takes the folder with it.
      await rmdir(folder).catch(() => {})
    },

    async close() {},
  }
}
