/** Whether a program can be run, known before it is needed: that may be in the night in which another node has failed. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { UsageError } from '../errors.ts'

export function refuseUnlessProgram(name: string): void {
  const isPath = name.includes('/')
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = (isPath ? [name] : folders.map((folder) => join(folder, name))).map(whyNot)
  if (found.includes(null)) return
  const why = found.find((each) => each !== MISSING) ?? (isPath ? MISSING : `${MISSING} in the PATH`)
  throw new UsageError(`cannot run ${JSON.stringify(name)}: ${why}`, 'command')
}

const MISSING = 'there is no such program'

function whyNot(file: string): string | null {
  try {
    if (!statSync(file).isFile()) return `${file} is no program`
    accessSync(file, constants.X_OK)
    return null
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
      ? `${file} may not be run by this user`
      : MISSING
  }
}
