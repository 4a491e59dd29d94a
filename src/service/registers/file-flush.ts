/** Writing so that it lasts. */
import { randomUUID } from 'node:crypto'
import { link, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * A new file with that content, whole or not at all, unless there is one of that name: then false. `mayStill` is asked
 * when all is ready but the name.
 */
export async function createAtomically(
  path: string,
  content: string | Buffer,
  mayStill: () => Promise<boolean>,
): Promise<boolean> {
  const folder = dirname(path)
  const beside = join(folder, `.${randomUUID()}`)
  try {
    const file = await open(beside, 'wx', 0o660)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    if (!(await mayStill())) return false
    await link(beside, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(beside, { force: true })
  }
  await flushFolder(folder)
  return true
}

/** Makes what was done in a folder last. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
