/** Makes a folder that exists while a command runs. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from './errors.ts'

export function makeTemporaryFolder(prefix: string): string {
  const parent = tmpdir()
  try {
    return mkdtempSync(join(parent, prefix))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      `cannot create a folder in ${parent} (${code}); set TMPDIR to a folder that this user can write to`,
    )
  }
}
