/** Durable file creation. */
import { randomUUID } from 'node:crypto'
import { link, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * Creates a file atomically and durably. Returns false if the name exists, or if `isWanted`, called just before the
 * file gets its name, returns false.
 */
export async function createAtomically(
  path: string,
  content: string | Buffer,
  isWanted: () => Promise<boolean>,
): Promise<boolean> {
  const folder = dirname(path)
  const temporary = join(folder, `.${randomUUID()}`)
  try {
    const file = await open(temporary, 'wx', 0o660)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    if (!(await isWanted())) return false
    await link(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(temporary, { force: true })
  }
  await flushFolder(folder)
  return true
}

/** Makes changes in a folder durable. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
