/** The `rename` mode of file.ts: one file per version. */
import { access, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createAtomically } from './file-flush.ts'
import type { Cell, CellStore, StoreFacts } from './store.ts'

/** Number of versions kept per cell. The oldest are removed first: while one exists, no newer one was removed. */
const KEPT_VERSIONS = 8
const READ_TRIES = 50
const NAME = /^([bk][\w=-]+)\.(\d+)$/

type Versions = ReadonlyMap<string, readonly number[]>

/** The versions of each cell, in ascending order. */
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
   * Reads the newest version of a cell, starting from a listed version; null if the folder must be listed again. If the
   * next version is missing and `from` still exists afterwards, no later version was created and removed meanwhile.
   */
  async function newest(name: string, from: number): Promise<Cell | null> {
    let version = from
    // oxlint-disable-next-line no-await-in-loop -- until there is no next version
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
        // oxlint-disable-next-line no-await-in-loop -- again only if a writer was faster
        const versions = await listVersions(folder)
        // oxlint-disable-next-line no-await-in-loop -- again only if a writer was faster
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
      // Was the name free because this version was created and removed before? Not while it would still be kept.
      if ((all.at(-1) ?? 0) >= next + KEPT_VERSIONS)
        throw new Error(
          `${name} was overtaken during the write: it is unknown whether version ${next} took effect`,
        )
      for (const old of all.filter((version) => version <= next - KEPT_VERSIONS)) {
        // oxlint-disable-next-line no-await-in-loop -- oldest first
        await rm(fileOf(name, old), { force: true })
      }
      return String(next)
    },

    async remove(name) {
      const all = (await listVersions(folder)).get(name) ?? []
      await Promise.all(all.map((version) => rm(fileOf(name, version), { force: true })))
      // Removes the folder with the last cell.
      await rmdir(folder).catch(() => {})
    },

    async close() {},
  }
}
